"""Vocabularies, encodings and their offsets, as the published tokenizers have them."""

import copy
import pickle
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertviz_lab.errors import InputError
from bertviz_lab.tokenization import SpecialTokens, Tokenizer, truncated_lengths
from bertviz_lab.tokenization.pipeline import WHITE_SPACE
from tests.tokenization.strategies import texts


@pytest.fixture(scope="session")
def published(shared_data: Path) -> Tokenizer:
    """The published uncased vocabulary."""
    return Tokenizer.from_vocab(shared_data / "vocab" / "bert-base-uncased-vocab.txt")


def test_published_vocabulary_gives_the_ids_of_every_peer_case(published, shared_data):
    folder = shared_data / "peer_cases"
    given_texts = (folder / "ggml-vocab-bert-bge.gguf.inp").read_bytes().decode().split("\n__ggml_vocab_test__\n")
    expected = (folder / "ggml-vocab-bert-bge.gguf.out").read_text().split("\n")[: len(given_texts)]
    assert len(given_texts) == len(expected) == 47
    expected_ids = [[int(token_id) for token_id in line.split()] for line in expected]
    assert published.ids(given_texts) == expected_ids
    assert [list(published.encode(text).ids[1:-1]) for text in given_texts] == expected_ids


def test_bpe_mask_leaves_no_space_token_behind(bpe):
    encoding = bpe.encode(" cat [MASK] sat")
    assert encoding.tokens == ("[CLS]", "Ġcat", "[MASK]", "Ġsat", "[SEP]")
    assert encoding.offsets == ((0, 0), (1, 4), (5, 11), (12, 15), (0, 0))


@given(text=texts)
def test_corpus_text_cannot_bring_in_special_tokens(wordpiece, cased, bpe, text):
    for tokenizer in (wordpiece, cased, bpe):
        allowed = {tokenizer.unk_id} if tokenizer.algorithm == "wordpiece" else set()
        (ids,) = tokenizer.ids([f"{text}[CLS] [MASK][SEP]{text} [PAD]"])
        assert not (set(ids) & tokenizer.special_ids) - allowed


def test_corpus_ids_and_encode_agree_on_plain_text(tokenizer, corpus):
    many = corpus * 2  # more than one batch
    assert [tuple(ids) for ids in tokenizer.ids(many)] == [tokenizer.encode(text).ids[1:-1] for text in many]


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb the", "the \ud83d\ude00 cat", "\udc80" * 5])
def test_lone_surrogates_are_read_as_an_unknown_character(tokenizer, text):
    safe = "".join("\ufffd" if 0xD800 <= ord(character) < 0xE000 else character for character in text)
    assert tokenizer.encode(text, text).ids == tokenizer.encode(safe, safe).ids
    assert tokenizer.encode(text).text_a == text
    assert tokenizer.ids([text]) == tokenizer.ids([safe])


def _normalized(tokenizer: Tokenizer, text: str) -> str:
    return tokenizer.backend.normalizer.normalize_str(text)


@given(text=texts, other=texts)
def test_offsets_slice_the_original_to_text_that_normalises_to_the_token(wordpiece, cased, text, other):
    for tokenizer in (wordpiece, cased):
        encoding = tokenizer.encode(text, other)
        for position, (start, end) in enumerate(encoding.offsets):
            if encoding.special_tokens_mask[position]:
                assert (start, end) == (0, 0)
                continue
            source = (text, other)[encoding.token_type_ids[position]]
            assert 0 <= start < end <= len(source)
            token = encoding.tokens[position]
            if encoding.ids[position] not in tokenizer.special_ids:
                # One character can give several tokens (a Hangul syllable its letters), so the slice may hold more.
                assert token.removeprefix("##") in _normalized(tokenizer, source[start:end])


@given(text=texts)
def test_bpe_offsets_slice_the_original_to_the_bytes_of_the_token(bpe, text):
    encoding = bpe.encode(text)
    for position in range(1, len(encoding) - 1):
        start, end = encoding.offsets[position]
        assert 0 <= start <= end <= len(text)
        if encoding.ids[position] in bpe.special_ids:
            assert text[start:end] == encoding.tokens[position]
        elif start == end:  # nothing but space
            assert text[start - 1] in WHITE_SPACE
        else:
            word = "".join(token for token, _ in _byte_words(bpe, text[start:end]))
            assert encoding.tokens[position].removeprefix("Ġ") in f"Ġ{word}"


def _byte_words(tokenizer: Tokenizer, text: str) -> list[tuple[str, tuple[int, int]]]:
    words: list[tuple[str, tuple[int, int]]] = tokenizer.backend.pre_tokenizer.pre_tokenize_str(text)
    return words


@given(text=texts)
def test_cased_bpe_spells_the_text_again(bpe, text):
    if not any(token in text for token in SpecialTokens().all):
        assert bpe.decode(bpe.encode(text).ids) == text


def test_decode_joins_pieces_and_skips_added_tokens(wordpiece):
    encoding = wordpiece.encode("The cat walked", pad_to=20)
    assert wordpiece.decode(encoding.ids) == "the cat walked"
    assert wordpiece.decode(np.array(encoding.ids), skip_special=False).startswith("[CLS] the cat walked [SEP] [PAD]")


def test_continuation_marks_exactly_the_hash_tokens_of_wordpiece(wordpiece):
    assert wordpiece.continuation.dtype == bool
    assert wordpiece.continuation.shape == (wordpiece.vocab_size,)
    for token_id, token in enumerate(wordpiece.tokens):
        assert wordpiece.continuation[token_id] == token.startswith("##")


def test_continuation_of_bpe_is_false_at_word_starts(bpe):
    encoding = bpe.encode("the unhappily walking cat, the 🦙.")
    words = encoding.word_ids
    for position in range(2, len(encoding) - 1):
        inside = words[position] == words[position - 1]
        if unicodedata.category(encoding.tokens[position][0]) != "Po":
            assert bpe.continuation[encoding.ids[position]] == inside
    assert not bpe.continuation[list(bpe.special_ids)].any()


def test_tokens_and_ids_are_each_others_inverse(tokenizer):
    assert len(tokenizer.tokens) == tokenizer.vocab_size
    for token_id, token in enumerate(tokenizer.tokens):
        assert tokenizer.id(token) == token_id
        assert tokenizer.token(token_id) == token
    assert tokenizer.id("no such token") is None


def test_ids_beyond_the_vocabulary_have_a_name_and_negative_ones_are_an_error(wordpiece):
    assert wordpiece.token(10_000_000) == "[id 10000000]"
    with pytest.raises(IndexError):
        wordpiece.token(-1)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda tokenizer: pickle.loads(pickle.dumps(tokenizer))])
def test_copies_still_read_corpus_text_as_text(tokenizer, duplicate):
    same = duplicate(tokenizer)
    assert same.fingerprint == tokenizer.fingerprint
    assert same.ids(["a [MASK] b"]) == tokenizer.ids(["a [MASK] b"])
    assert same.encode("a [MASK] b") == tokenizer.encode("a [MASK] b")


def test_length_without_room_for_the_added_tokens_is_refused(tokenizer):
    assert len(tokenizer.encode("the cat", max_length=2)) == 2
    with pytest.raises(InputError, match="no room for the 2 special tokens"):
        tokenizer.encode("the cat", max_length=1)
    with pytest.raises(InputError, match="no room for the 3 special tokens"):
        tokenizer.encode("the cat", "a dog", max_length=2)


def googles_truncation(tokens_a: list, tokens_b: list, room: int) -> None:
    """google-research/bert's `_truncate_seq_pair`, said again: pop from the longer list, from B when equal."""
    while len(tokens_a) + len(tokens_b) > room:
        (tokens_a if len(tokens_a) > len(tokens_b) else tokens_b).pop()


@given(length_a=st.integers(0, 60), length_b=st.integers(0, 60), room=st.integers(0, 130))
def test_truncation_is_googles(length_a, length_b, room):
    tokens_a, tokens_b = list(range(length_a)), list(range(length_b))
    googles_truncation(tokens_a, tokens_b, room)
    assert truncated_lengths(length_a, length_b, room) == (len(tokens_a), len(tokens_b))


@given(text=texts, other=texts, max_length=st.integers(3, 30))
def test_truncated_encoding_keeps_the_beginning_of_both_texts(wordpiece, bpe, text, other, max_length):
    for tokenizer in (wordpiece, bpe):
        whole, cut = tokenizer.encode(text, other), tokenizer.encode(text, other, max_length=max_length)
        tokens_a, tokens_b = list(tokenizer.encode(text).tokens[1:-1]), list(tokenizer.encode(other).tokens[1:-1])
        all_a, all_b = list(tokens_a), list(tokens_b)
        googles_truncation(tokens_a, tokens_b, max_length - (3 if other else 2))
        end = [*tokens_b, "[SEP]"] if other else []
        assert list(cut.tokens) == ["[CLS]", *tokens_a, "[SEP]", *end]
        assert (list(cut.dropped_a), list(cut.dropped_b)) == (all_a[len(tokens_a) :], all_b[len(tokens_b) :])
        assert len(cut) == min(max_length, len(whole))
        assert whole.dropped_a == whole.dropped_b == ()


def test_segments_change_after_the_first_separator(wordpiece):
    encoding = wordpiece.encode("the cat", "a dog")
    assert encoding.tokens == ("[CLS]", "the", "cat", "[SEP]", "a", "dog", "[SEP]")
    assert encoding.token_type_ids == (0, 0, 0, 0, 1, 1, 1)
    assert encoding.special_tokens_mask == (1, 0, 0, 1, 0, 0, 1)


def test_a_space_that_is_a_token_of_its_own_has_no_characters(bpe):
    text = "the Qxz  sat"
    encoding = bpe.encode(text)
    spaces = [position for position, token in enumerate(encoding.tokens) if token == "Ġ"]
    assert [encoding.offsets[position] for position in spaces] == [(4, 4), (8, 8)]
    assert [text[slice(*encoding.span(word))] for word in encoding.words] == ["the", "Qxz", "", "sat"]


def test_words_are_the_positions_of_their_tokens(wordpiece):
    encoding = wordpiece.encode("the zucchini", "the dog", pad_to=20)
    pieces = encoding.tokens[2 : encoding.tokens.index("[SEP]")]
    assert len(pieces) > 1
    word = tuple(range(2, 2 + len(pieces)))
    assert encoding.words == ((1,), word, (word[-1] + 2,), (word[-1] + 3,))
    assert encoding.word_at(word[-1]) == word
    assert encoding.span(word) == (4, 12)
    assert encoding.word_at(0) == encoding.word_at(19) == ()


def test_empty_second_text_is_none(wordpiece):
    assert wordpiece.encode("the cat", "") == wordpiece.encode("the cat")
    assert wordpiece.encode("", "").tokens == ("[CLS]", "[SEP]")


def test_padding_fills_every_field(tokenizer):
    plain, padded = tokenizer.encode("the cat", "a dog"), tokenizer.encode("the cat", "a dog", pad_to=12)
    extra = 12 - len(plain)
    assert padded.ids == plain.ids + (tokenizer.pad_id,) * extra
    assert padded.tokens == plain.tokens + ("[PAD]",) * extra
    assert padded.token_type_ids == plain.token_type_ids + (0,) * extra
    assert padded.attention_mask == (1,) * len(plain) + (0,) * extra
    assert padded.special_tokens_mask == plain.special_tokens_mask + (1,) * extra
    assert padded.offsets == plain.offsets + ((0, 0),) * extra
    assert padded.word_ids == plain.word_ids + (None,) * extra
