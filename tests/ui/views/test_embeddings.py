"""Embeddings: similarity of sentences, nearest neighbours of a word, and one word in two contexts."""

from typing import Any

import numpy as np
import pytest

from bertviz_lab import InputError, Tokenizer, interpret
from bertviz_lab.interpret.embeddings import embedding_plane
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views.embeddings.view import QUESTIONS
from tests.charts import shown
from tests.little import little_checkpoint

A, B = "the red cat sat", "she gave him the book"


def ask(session: AppState, name: str, text_a: str = A, text_b: str = "", **more: Any) -> Any:
    answer = QUESTIONS[name].ask(session, {"model": "", "text_a": text_a, "text_b": text_b} | more)
    return shown(answer) if isinstance(answer, str) and name not in ("sentences", "token_at") else answer


def test_named_sentences_are_compared_pair_by_pair(session: AppState) -> None:
    lines = f"{A}\n\n{B}\n{A}"
    table = ask(session, "similarity", lines=lines, pooling="mean")
    assert table["values"][0][2] == pytest.approx(1, abs=1e-5)
    by_cls = ask(session, "similarity", lines=lines, pooling="cls")
    assert by_cls["values"] != table["values"]


def test_sentences_are_shown_in_the_plane_of_their_principal_components(session: AppState) -> None:
    lines = [A, B, "an old man", "the dog ran to the house"]
    vectors = interpret.similarity(session.models.open(), lines).vectors
    plane = embedding_plane(vectors)
    drawn = ask(session, "sentence_map", lines="\n".join(lines), pooling="mean")
    points = np.array([place for _, *place in drawn["table"]["rows"]])
    np.testing.assert_allclose(points, plane.project(vectors), atol=1e-4)
    assert f"explain {plane.explained:.0%} of the variance" in drawn["note"]


def test_without_sentences_the_texts_of_the_input_and_examples_are_compared(session: AppState) -> None:
    default = ask(session, "sentences", A, f"{B}\n again").splitlines()
    assert default[:2] == [A, f"{B} again"]
    assert len(default) > 2
    rows = ask(session, "similarity", A, f"{B}\n again", lines="", pooling="auto")["rows"]
    assert rows == [f"{place}. {text}" for place, text in enumerate(default, 1)]


@pytest.mark.parametrize(
    ("lines", "words"), [(" \n ", "Type some sentences"), ("a\n" * 21, "too many"), ("x" * 60_000, "50,000 characters")]
)
def test_no_sentence_and_too_many_are_told_in_one_sentence(session: AppState, lines: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        ask(session, "similarity", lines=lines, pooling="mean")


def test_neighbours_are_the_nearest_tokens(session: AppState) -> None:
    truth = interpret.nearest_tokens(session.models.open(), "red")
    bars = ask(session, "neighbours", word=" red ")
    assert bars["title"] == "Nearest neighbors of red"
    assert bars["groups"] == [neighbour.token for neighbour in truth]
    # Without a word it is the longest token of the input.
    assert ask(session, "neighbours", "the [MASK] house", "a cat", word="")["title"] == "Nearest neighbors of house"
    with pytest.raises(InputError, match="Name a word"):
        ask(session, "neighbours", "[MASK]", word="")


def test_a_selected_token_names_itself(session: AppState) -> None:
    tokens = session.models.open().tokenizer.encode("bank red", "the cats").tokens
    names = [ask(session, "token_at", "bank red", "the cats", position=at) for at in range(len(tokens))]
    assert names == list(tokens)
    # Whatever can be selected has neighbours, pieces of words too.
    assert all(ask(session, "neighbours", word=name)["groups"] for name in names)
    with pytest.raises(InputError, match="no longer there"):
        ask(session, "token_at", "red", position=99)


def test_a_token_of_bpe_names_the_word_that_it_says(session: AppState, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = Tokenizer.train(["the café près de la forêt"] * 200, vocab_size=400, algorithm="bpe", lowercase=False)
    checkpoint = little_checkpoint(tokenizer=tokenizer)
    monkeypatch.setattr(session.models, "open", lambda name: checkpoint)
    text = "the café Qé"
    positions = range(1, len(tokenizer.encode(text)) - 1)
    names = [ask(session, "token_at", text, position=at) for at in positions]
    assert names[1] == "café"
    for name in names:
        assert ask(session, "neighbours", word=name)["groups"]
    assert ask(session, "neighbours", text, word="")["title"] == "Nearest neighbors of café"


def test_a_word_is_followed_through_both_texts_of_the_input(session: AppState) -> None:
    other = "a small red dog ran"
    answer = ask(session, "contexts", A, other, word="red")
    assert shown(answer["similarity"])["places"][0] == "embeddings"
    assert len(shown(answer["path"])["table"]["rows"]) == 6
    # Without a word it is the longest that both have.
    assert ask(session, "contexts", "the small red cat", "The small dog", word="")["word"] == "small"
    assert ask(session, "contexts", "the [MASK] cat", "a [MASK] ran to the mat", word="")["word"] == "the"


def test_while_text_b_is_empty_an_example_is_shown(session: AppState) -> None:
    answer = ask(session, "contexts", A, "  ", word="")
    assert (answer["text_a"], answer["text_b"], answer["word"]) == session.examples("").contrast


@pytest.mark.parametrize(
    ("texts", "word", "words"),
    [((A, B), "zebra", "not in the sentence"), (("red", "blue"), "", "no word in common"), (("!", "?"), "", "no word")],
)
def test_a_word_that_is_not_in_both_texts_is_told(
    session: AppState, texts: tuple[str, str], word: str, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        ask(session, "contexts", *texts, word=word)
