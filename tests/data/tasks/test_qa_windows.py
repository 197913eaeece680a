import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer

from bertviz_lab import InputError, Tokenizer
from bertviz_lab.data.examples import Answer, Question
from bertviz_lab.data.tasks import question_answering as qa_windows
from bertviz_lab.data.tasks.question_answering import make_windows, shares_of_tokens, window_ranges
from tests.data.support import max_context_of, offsets_of
from tests.little import little_text
from tests.test_floors import PACKAGE

WIKI = PACKAGE.parent / "checkpoints" / "wiki-tiny"
LETTERS = " ".join("abcdefghijklmnopqrstuvwxyz")  # a token each


@pytest.fixture(scope="module")
def wiki() -> Tokenizer:
    return Tokenizer.load(WIKI)


@pytest.fixture(scope="module")
def reference():
    return AutoTokenizer.from_pretrained(WIKI)


@pytest.fixture(scope="module", params=["wordpiece", "bpe"])
def either(request) -> Tokenizer:
    return Tokenizer.train(little_text().splitlines(), vocab_size=400, algorithm=request.param, lowercase=False)


def question_on(passage: str, answer: str | None = None, question: str = "what", at: int | None = None) -> Question:
    start = at if at is not None else passage.index(answer) if answer is not None else 0
    return Question("q", question, passage, () if answer is None else (Answer(answer, start),), row=1)


def tokens(tokenizer: Tokenizer, window) -> str:
    return " ".join(tokenizer.token(i) for i in window.ids)


def test_shares_of_another_model_stay_at_the_same_characters(wiki, either) -> None:
    """In windows of any length; what a window does not show is no answer in it."""
    passage = " ".join(f"{sentence}" for sentence in little_text().splitlines()[:6])
    question = [question_on(passage, "river")]
    (theirs,) = make_windows(question, either, max_length=512)
    certain = np.zeros((2, len(theirs.ids)))
    certain[(0, 1), (theirs.start, theirs.end)] = 1
    for length in (512, 20):
        windows = make_windows(question, wiki, max_length=length, stride=4)
        assert any(window.start for window in windows)
        for window, shares in zip(windows, shares_of_tokens(windows, [theirs], [certain]), strict=True):
            assert shares.argmax(1).tolist() == [window.start, window.end]
            assert shares.max(1).tolist() == [1, 1]
    rng = np.random.default_rng(0)
    several = make_windows(question, wiki, max_length=20, stride=4)
    random = [rng.random((2, len(window.ids))) for window in several]
    random = [shares / shares.sum(1, keepdims=True) for shares in random]
    for window, before, after in zip(several, random, shares_of_tokens(several, several, random), strict=True):
        passage_part = slice(window.passage_start, window.passage_end)
        np.testing.assert_allclose(after[:, passage_part], before[:, passage_part], rtol=1e-6)
        np.testing.assert_allclose(after.sum(1), 1, rtol=1e-6)


def test_a_passage_that_fits_is_one_window(wiki) -> None:
    (window,) = make_windows([question_on("the river is", "river")], wiki)
    assert tokens(wiki, window).startswith("[CLS] what [SEP] the river is")
    assert window.ids[-1] == wiki.sep_id
    assert window.passage_start == 3
    assert offsets_of(window)[:5] == (None, None, None, (0, 3), (4, 9))
    assert offsets_of(window)[-1] is None
    assert max_context_of(window) == tuple(offset is not None for offset in offsets_of(window))
    assert (window.start, window.end) == (4, 4)


def test_consecutive_windows_share_the_stride(wiki) -> None:
    # [CLS] what [SEP] leaves eight of twelve places for letters; three are shared, so a window begins every five.
    windows = make_windows([question_on(LETTERS)], wiki, max_length=12, stride=3)
    shown = [tokens(wiki, window).split()[3:-1] for window in windows]
    assert ["".join(letters) for letters in shown] == ["abcdefgh", "fghijklm", "klmnopqr", "pqrstuvw", "uvwxyz"]


@given(st.integers(0, 60), st.integers(8, 30), st.integers(0, 25))
def test_every_token_belongs_to_the_window_with_most_context_by_googles_rule(wiki, count, length, stride) -> None:
    windows = make_windows([question_on(" ".join("a" * count))], wiki, max_length=length, stride=stride)
    shown = [(w.first_token, w.first_token + w.passage_end - w.passage_start) for w in windows]
    for token in range(count):
        scores = [min(token - a, b - 1 - token) + 0.01 * (b - a) if a <= token < b else -1.0 for a, b in shown]
        owners = [
            i
            for i, w in enumerate(windows)
            if shown[i][0] <= token < shown[i][1] and max_context_of(w)[token - w.first_token + 3]
        ]
        assert owners == [scores.index(max(scores))]
    assert all(len(window.ids) <= length for window in windows)
    assert (shown[0][0], shown[-1][1]) == (0, count)


def test_memory_for_the_windows_of_a_passage_grows_linearly_with_its_length() -> None:
    def peak(count: int) -> int:
        tracemalloc.start()
        try:
            window_ranges(count, 300, 128)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(1_000)  # numpy's own first allocations
    assert peak(80_000) < 2.5 * peak(40_000)


def test_more_windows_than_fit_the_memory_are_refused(wiki, monkeypatch) -> None:
    monkeypatch.setattr(qa_windows, "MAX_WINDOWS", 9)
    assert len(make_windows([question_on(LETTERS)], wiki, max_length=12, stride=3)) == 5
    with pytest.raises(InputError, match="2 questions need more than 9 windows of 12 tokens"):
        make_windows([question_on(LETTERS)] * 2, wiki, max_length=12, stride=3)


@pytest.mark.parametrize(
    ("answer", "targets"),
    [
        ("f g", [(8, 9), (3, 4), (0, 0), (0, 0), (0, 0)]),
        ("h i", [(0, 0), (5, 6), (0, 0), (0, 0), (0, 0)]),  # the first window truncates it
        ("a", [(3, 3), (0, 0), (0, 0), (0, 0), (0, 0)]),
        ("a b c d e f g h", [(3, 10), (0, 0), (0, 0), (0, 0), (0, 0)]),
        (None, [(0, 0)] * 5),
    ],
)
def test_an_answer_is_the_target_of_every_window_that_contains_all_of_it(wiki, answer, targets) -> None:
    windows = make_windows([question_on(LETTERS, answer)], wiki, max_length=12, stride=3, training=True)
    assert [(w.start, w.end) for w in windows] == targets


def test_a_question_whose_answer_no_window_contains_is_not_trained_on(wiki) -> None:
    questions = [question_on(LETTERS, "a b c d e f g h i"), question_on(LETTERS, "a")]
    kept = make_windows(questions, wiki, max_length=12, stride=3, training=True)
    assert {w.question for w in kept} == {1}
    scored = make_windows(questions, wiki, max_length=12, stride=3, training=False)
    assert {w.question for w in scored} == {0, 1}
    assert not any(w.start for w in scored if w.question == 0)


def test_the_target_is_the_first_answer_by_whole_tokens(wiki) -> None:
    (window,) = make_windows([question_on("in 1990s", "990")], wiki)
    assert window.start > 0
    first, last = window.span(window.start, window.end)
    assert "990" in "in 1990s"[first:last]
    question = Question("q", "who", "ann and bob", (Answer("bob", 8), Answer("ann", 0)), row=1)
    (window,) = make_windows([question], wiki)
    assert window.span(window.start, window.end) == (8, 11)


def test_the_target_excludes_punctuation_beside_the_answer(either) -> None:
    passage = '("the river")'
    (window,) = make_windows([question_on(passage, "river")], either)
    assert window.span(window.start, window.end) == (6, 11)


@pytest.mark.parametrize("nothing", [" ", "\u200b", ""])
def test_an_answer_without_a_token_is_no_answer(wiki, nothing) -> None:
    (window,) = make_windows([question_on(f"the {nothing} river", nothing, at=4)], wiki)
    assert (window.start, window.end) == (0, 0)


AWKWARD = (
    "Café naïve résumé in Zürich",
    "smile 😀 family 👨‍👩‍👧 flag 🇩🇪 end",
    "שלום עולם and مرحبا بالعالم",
    "東京は日本の首都です",
    "e\u0301 combining a\u0308 marks",
    "tabs\tand\nlines\r\n\u00a0spaces",
    "[MASK] and [SEP] as text",
    "a lone \ud800 surrogate",
)


@pytest.mark.parametrize("passage", AWKWARD)
def test_offsets_are_those_of_the_tokenizer(either, passage) -> None:
    (window,) = make_windows([question_on(passage, passage, question="")], either)
    own = either.encode("", passage)
    spans = [own.offsets[i] for i, special in enumerate(own.special_tokens_mask) if not special]
    if "[MASK]" not in passage:  # which `encode` takes for the mask
        assert [offset for offset in offsets_of(window) if offset] == spans
    assert [passage[a:b].strip() != "" for a, b in window.spans]
    for word in passage.split():
        place = passage.index(word)
        (window_of_word,) = make_windows([question_on(passage, word)], either)
        if window_of_word.start:
            a, b = window_of_word.span(window_of_word.start, window_of_word.end)
            assert a <= place < b


@pytest.mark.parametrize("passage", AWKWARD)
def test_special_tokens_in_a_passage_are_text(either, passage) -> None:
    (window,) = make_windows([question_on(passage, question="why [SEP] not")], either)
    inside = [*window.ids[1 : window.passage_start - 1], *window.ids[window.passage_start : -1]]
    assert not set(map(int, inside)) & (either.special_ids - {either.unk_id})


def test_an_empty_passage_has_one_window_without_a_word(wiki) -> None:
    (window,) = make_windows([question_on("")], wiki)
    assert tokens(wiki, window) == "[CLS] what [SEP] [SEP]"
    assert not any(max_context_of(window))
    assert offsets_of(window) == (None,) * 4


def test_a_question_is_cut_to_its_limit_and_to_half_of_a_window(wiki) -> None:
    (window,) = make_windows([question_on("the river", question=LETTERS)], wiki, max_question_length=4)
    assert tokens(wiki, window).startswith("[CLS] a b c d [SEP] the river")
    windows = make_windows([question_on(LETTERS, question=LETTERS)], wiki, max_length=23, stride=128)
    assert windows[0].passage_start == 12
    assert [w.first_token for w in windows] == [0, 5, 10, 15, 20]


def test_a_max_length_without_room_is_refused(wiki) -> None:
    with pytest.raises(InputError, match="choose at least 8"):
        make_windows([question_on("the river")], wiki, max_length=7)


@pytest.mark.parametrize(("length", "stride"), [(384, 128), (48, 16), (40, 0), (64, 20)])
def test_windows_equal_those_of_transformers(wiki, reference, length, stride) -> None:
    rng = np.random.default_rng(length)
    words = [*little_text().split(), "Zürich", "naïve", "don't", "3.14", "東京", "😀", "unbelievably"]

    def text(longest: int) -> str:
        return " ".join(rng.choice(words, rng.integers(1, longest)))

    questions = [question_on(text(300), question=text(6)) for _ in range(30)]
    theirs = reference(
        [q.question for q in questions], [q.passage for q in questions], truncation="only_second", max_length=length,
        stride=stride, return_overflowing_tokens=True, return_offsets_mapping=True,
    )  # fmt: skip
    windows = make_windows(questions, wiki, max_length=length, stride=stride, max_question_length=64)
    assert [w.question for w in windows] == theirs["overflow_to_sample_mapping"]
    for i, window in enumerate(windows):
        assert window.ids.tolist() == theirs["input_ids"][i]
        assert window.passage_start == theirs["token_type_ids"][i].index(1)
        offsets = zip(theirs["offset_mapping"][i], theirs.sequence_ids(i), strict=True)
        assert offsets_of(window) == tuple(offset if segment == 1 else None for offset, segment in offsets)
