"""Words that are looked up have the ids that the tokenizer gives them in their sentence."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken

from bertviz_lab.data.pretraining import tokenized_corpus as cached_tokenizer
from bertviz_lab.data.pretraining.tokenized_corpus import CachedTokenizer
from bertviz_lab.tokenization import Tokenizer

TEXT = [
    "The cat's mat isn't flat: it costs $4.50 (or 3,000 yen), they'll say.",
    "Ἀθῆναι, café, naïve, Straße, ΟΔΥΣΣΕΥΣ, İstanbul, 東京 and [MASK] on the_mat.",
    "DON'T go to the café: IT'S closed, and they'Ll say so.",
] * 3


@pytest.fixture(scope="module", params=["wordpiece", "wordpiece cased", "bpe", "bpe lowercased"])
def tokenizer(request) -> Tokenizer:
    algorithm, _, case = request.param.partition(" ")
    lowercase = case == "lowercased" or (algorithm == "wordpiece" and case != "cased")
    return Tokenizer.train(TEXT, vocab_size=400, algorithm=algorithm, lowercase=lowercase)


def looked_up(tokenizer: Tokenizer, sentences: list[str], table: CachedTokenizer | None = None) -> list[list[int]]:
    ids, sizes = (table or CachedTokenizer(tokenizer)).ids(sentences)
    return [part.tolist() for part in np.split(ids, np.cumsum(sizes)[:-1])] if sentences else []


ascii_text = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=40)
western = st.text(st.sampled_from(" aAéÉßİΣςσ'’.,-–Ⅳ[MASK]\u0301東\u00ad1½"), max_size=40)
contracted = st.lists(st.sampled_from(["don", "DON", "'", "'t", "'T", "'Re", "'LL", "é", "ſ", " "])).map("".join)


@given(st.lists(st.one_of(ascii_text, western, contracted, st.text(max_size=30)), max_size=8))
def test_the_ids_are_those_of_the_tokenizer(tokenizer, sentences):
    sentences = ["".join(sentence.splitlines()) for sentence in sentences]
    assert looked_up(tokenizer, sentences) == tokenizer.ids(sentences)


def test_ordinary_text_is_looked_up_and_not_split_again(tokenizer, monkeypatch):
    table = CachedTokenizer(tokenizer)
    looked_up(tokenizer, TEXT, table)
    asked: list[str] = []
    monkeypatch.setattr(Tokenizer, "ids", lambda self, texts: asked.extend(texts) or [])
    again = looked_up(tokenizer, TEXT, table)
    assert asked == []
    monkeypatch.undo()
    assert again == tokenizer.ids(TEXT)


def test_what_is_remembered_is_bounded(tokenizer, monkeypatch):
    monkeypatch.setattr(cached_tokenizer, "_REMEMBERED", 50)
    table = CachedTokenizer(tokenizer)
    sentences = [f"word{i} and another{i}" for i in range(40)]
    for i in range(0, 40, 2):
        assert looked_up(tokenizer, sentences[i : i + 2], table) == tokenizer.ids(sentences[i : i + 2])
        assert sum(map(len, table._known.numbers)) < 150


def test_a_tokenizer_with_words_of_its_own_is_asked_itself():
    backend = Tokenizer.train(TEXT, vocab_size=400).backend
    backend.add_tokens([AddedToken("the mat", normalized=False)])
    tokenizer = Tokenizer(backend)
    assert looked_up(tokenizer, ["on the mat it sat"]) == tokenizer.ids(["on the mat it sat"])
    assert tokenizer.id("the mat") in tokenizer.ids(["on the mat it sat"])[0]


def test_stages_that_are_not_known_are_left_to_the_tokenizer():
    state = json.loads(Tokenizer.train(TEXT, vocab_size=400, algorithm="bpe", lowercase=False).backend.to_str())
    state["pre_tokenizer"]["add_prefix_space"] = True
    tokenizer = Tokenizer(type(Tokenizer.train(TEXT, vocab_size=400).backend).from_str(json.dumps(state)))
    sentences = ["cat's mat", "it isn't flat"]
    assert looked_up(tokenizer, sentences) == tokenizer.ids(sentences)
