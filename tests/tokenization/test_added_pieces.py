"""Words of a domain become pieces of a trained vocabulary: which ones, and how the text is split then."""

import pytest
import transformers

from bertviz_lab.errors import InputError
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.tokenization.added_pieces import NewPiece, most_useful_pieces, pieces_of_words, with_pieces
from tests.tokenization.families import their_tokenizer

GENERAL = ["the old man walks to the river and sings a song", "the bird sings in the tree", "a man has a fever"] * 20
MEDICAL = ["hypertension and hypertensive crises", "hypertension treated by cardiologists in cardiology"] * 10


@pytest.fixture(scope="module", params=["wordpiece", "bpe"])
def tokenizer(request) -> Tokenizer:
    return Tokenizer.train([*GENERAL, "hypertnsiocdalgyzbv,"], vocab_size=340, algorithm=request.param)


def token_count(tokenizer: Tokenizer, texts: list[str]) -> int:
    return sum(map(len, tokenizer.ids(texts)))


def test_pieces_save_as_many_tokens_as_they_say_and_the_first_ones_save_most(tokenizer):
    before = token_count(tokenizer, MEDICAL)
    pieces = most_useful_pieces(tokenizer, MEDICAL, 12)
    assert 0 < len(pieces) <= 12
    larger = with_pieces(tokenizer, pieces)
    assert larger.vocab_size == tokenizer.vocab_size + len(pieces)
    assert larger.tokens[: tokenizer.vocab_size] == tokenizer.tokens
    assert larger.tokens[tokenizer.vocab_size :] == tuple(piece.piece for piece in pieces)
    saved = before - token_count(larger, MEDICAL)
    # WordPiece counts only what its longest-match-first split uses; BPE's first words of a text have no space.
    assert saved == pytest.approx(sum(piece.saved for piece in pieces), rel=0.25)
    assert saved > before / 3
    assert [len(most_useful_pieces(tokenizer, MEDICAL, most)) for most in (6, 7)] == [6, 7], "where so many are of use"
    few = with_pieces(tokenizer, most_useful_pieces(tokenizer, MEDICAL, 3))
    assert before > token_count(few, MEDICAL) > token_count(larger, MEDICAL)


def test_other_text_is_split_as_before(tokenizer):
    pieces = most_useful_pieces(tokenizer, MEDICAL, 12)
    assert with_pieces(tokenizer, pieces).ids(GENERAL) == tokenizer.ids(GENERAL)


def test_named_words_are_one_token_each_and_phrases_are_several(tokenizer):
    pieces = pieces_of_words(tokenizer, ["Hypertension", "cardiology therapy", "the", ""], MEDICAL)
    larger = with_pieces(tokenizer, pieces)
    text = "a hypertension therapy"
    assert [len(words) for words in larger.encode(text).words] == [1, 1, 1]
    assert "the" not in {piece.piece for piece in pieces}
    if tokenizer.algorithm == "wordpiece":
        named = {piece.piece: piece.count for piece in pieces}
        assert named == {"hypertension": 20, "cardiology": 10, "therapy": 0}


def test_transformers_reads_the_new_pieces_as_we_do(tokenizer, tmp_path):
    larger = with_pieces(tokenizer, most_useful_pieces(tokenizer, MEDICAL, 12))
    larger.save(tmp_path)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    for text in (*GENERAL[:3], *MEDICAL[:2], "hypertensive [MASK] birds"):
        assert theirs(text)["input_ids"] == list(larger.encode(text).ids)
    again = Tokenizer.load(tmp_path)
    assert again.fingerprint == larger.fingerprint


def test_a_new_piece_of_a_new_piece_has_parts_of_the_old_vocabulary():
    tokenizer = Tokenizer.train(GENERAL, vocab_size=340, algorithm="bpe")
    for piece in most_useful_pieces(tokenizer, MEDICAL, 12):
        assert all(tokenizer.id(part) is not None for part in piece.parts)
        assert "".join(piece.parts) == piece.piece


def test_what_adds_nothing_is_refused(tokenizer, tmp_path):
    with pytest.raises(InputError, match="one token of the vocabulary already"):
        pieces_of_words(tokenizer, ["the", "a"], GENERAL)
    with pytest.raises(InputError, match="frequent enough"):
        most_useful_pieces(tokenizer, ["hypertension"], 5)
    their_tokenizer("xlm-roberta").save_pretrained(tmp_path)
    with pytest.raises(InputError, match="is Unigram"):
        most_useful_pieces(Tokenizer.load(tmp_path), MEDICAL, 5)


def test_pieces_are_kept_as_they_are_read(tmp_path):
    assert NewPiece("fever", ("fe", "##ver"), 7).saved == 7
    assert NewPiece.read(tmp_path / "nothing.json") == []
