"""What a token says, and which tokens say it, in every kind of vocabulary."""

import pytest

from bertviz_lab.tokenization import Tokenizer, ids_named, token_name, token_text
from tests.family_checkpoints import family_tokenizer

TEXT = "the café près de la forêt, walking and talking: naïve 🦙"


@pytest.fixture(scope="module", params=["wordpiece", "bpe", "xlm-roberta", "deberta-v2", "roberta"])
def tokenizer(request, tmp_path_factory) -> Tokenizer:
    if request.param in ("wordpiece", "bpe"):
        return Tokenizer.train([TEXT] * 200, vocab_size=400, algorithm=request.param, lowercase=False)
    return family_tokenizer(request.param, tmp_path_factory.mktemp(request.param))


@pytest.mark.parametrize("algorithm", ["wordpiece", "bpe"])
def test_a_token_says_the_word_of_the_text(algorithm):
    tokenizer = Tokenizer.train([TEXT] * 200, vocab_size=400, algorithm=algorithm, lowercase=False)
    said = [token_text(tokenizer, token_id) for token_id in tokenizer.ids(["the café forêt, 🦙"])[0]]
    assert said == ["the", "café", "forêt", ",", "🦙"]


def test_tokens_are_read_without_the_marks_of_their_vocabulary(tokenizer):
    for token_id in range(tokenizer.vocab_size):
        said = token_text(tokenizer, token_id)
        assert said == said.strip()
        assert not said.startswith(("Ġ", "▁"))
        assert not (tokenizer.algorithm == "wordpiece" and said.startswith("##"))
    assert token_text(tokenizer, tokenizer.mask_id) == tokenizer.special.mask
    assert token_text(tokenizer, tokenizer.vocab_size) == ""


def test_every_token_is_among_those_with_its_name(tokenizer):
    for token_id in range(tokenizer.vocab_size):
        assert token_id in ids_named(tokenizer, token_name(tokenizer, token_id))
    assert ids_named(tokenizer, "zebra") == ()


def test_what_is_no_word_is_named_as_it_is_spelt():
    bpe = Tokenizer.train([TEXT] * 200, vocab_size=400, algorithm="bpe", lowercase=False)
    assert [token_name(bpe, bpe.id(token)) for token in ("Ġ", "Ã", "Ā")] == ["Ġ", "Ã", "Ā"]
    assert token_name(bpe, bpe.vocab_size) == f"[id {bpe.vocab_size}]"
    pieces = Tokenizer.train(["walking talking running"] * 200, vocab_size=30)
    continuations = [token for token in pieces.tokens if token.startswith("##")]
    assert [token_name(pieces, pieces.id(token)) for token in continuations] == continuations


def test_a_word_after_a_space_comes_before_the_same_without_one():
    bpe = Tokenizer.train([f"{TEXT}. The\nThe the"] * 200, vocab_size=400, algorithm="bpe", lowercase=False)
    assert [bpe.token(token_id) for token_id in ids_named(bpe, "The")] == ["ĠThe", "The"]
