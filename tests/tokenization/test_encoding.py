from hypothesis import given
from hypothesis import strategies as st

from bertviz_lab.tokenization import truncated_lengths
from tests.tokenization.strategies import texts


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
