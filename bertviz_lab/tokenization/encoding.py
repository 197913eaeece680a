"""The encoding of a text or a pair: the positions that a model reads, each with its offsets in the text."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from bertviz_lab.tokenization.pipeline import WHITE_SPACE, trim_span


@dataclass(frozen=True)
class Encoding:
    """One input of a model, `[CLS] A [SEP]` or `[CLS] A [SEP] B [SEP]`, possibly padded.

    Every tuple but the last two has one entry per position; `len(encoding)` is the number of positions.

    - `text_a`, `text_b`: the texts as given; `text_b` is None for a single text.
    - `ids`, `tokens`: the token at each position, as id and as string.
    - `token_type_ids`: 0 through the first `[SEP]`, 1 after it, 0 at padding. Which text a token is of; a model has
      segment embeddings for it where `BertConfig.has_segments`, and else does not look at it.
    - `attention_mask`: 1 where there is a token, 0 at padding.
    - `special_tokens_mask`: 1 at tokens that the tokenizer added (`[CLS]`, `[SEP]`, padding). A `[MASK]` in the text
      is part of the text: 0.
    - `offsets`: (start, end) in characters of the position's own text, without the space before a word; (0, 0) at added
      tokens, empty where a token is nothing but space.
    - `word_ids`: index of the word in its own text, from 0; None at added tokens. Punctuation is a word of its own.
    - `dropped_a`, `dropped_b`: the tokens truncated from the end of each text.
    """

    text_a: str
    text_b: str | None
    ids: tuple[int, ...]
    tokens: tuple[str, ...]
    token_type_ids: tuple[int, ...]
    attention_mask: tuple[int, ...]
    special_tokens_mask: tuple[int, ...]
    offsets: tuple[tuple[int, int], ...]
    word_ids: tuple[int | None, ...]
    dropped_a: tuple[str, ...] = ()
    dropped_b: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def texts(self) -> tuple[str, str | None]:
        """Text A and text B."""
        return self.text_a, self.text_b

    @property
    def dropped(self) -> int:
        """The number of tokens that were truncated."""
        return len(self.dropped_a) + len(self.dropped_b)

    def mask_positions(self, mask_id: int) -> tuple[int, ...]:
        """Return the positions of the mask token, whose id is `mask_id`."""
        return tuple(position for position, token_id in enumerate(self.ids) if token_id == mask_id)

    def unmasked_positions(self, mask_id: int) -> list[int]:
        """Return the positions of the texts' own tokens but the mask token."""
        columns = zip(self.ids, self.special_tokens_mask, strict=True)
        return [at for at, (token_id, special) in enumerate(columns) if not special and token_id != mask_id]

    @property
    def words(self) -> tuple[tuple[int, ...], ...]:
        """The positions of each word's tokens, word after word, those of `text_a` first."""
        words = groupby(range(len(self)), key=lambda position: (self.token_type_ids[position], self.word_ids[position]))
        return tuple(tuple(positions) for (_, word_id), positions in words if word_id is not None)

    def word_at(self, position: int) -> tuple[int, ...]:
        """Return the positions of the word that a position is part of; none for an added token."""
        return next((positions for positions in self.words if position in positions), ())

    def span(self, positions: Sequence[int]) -> tuple[int, int]:
        """(start, end) of adjacent tokens, such as those of a word, in characters of their own text."""
        return self.offsets[positions[0]][0], self.offsets[positions[-1]][1]


def token_span(text: str, token: str, start: int, end: int) -> tuple[int, int]:
    """Return the library's span of a token without the space before its word; empty for a token of space alone."""
    if not text[start:end].strip(WHITE_SPACE):
        return end, end
    if token == "▁":  # the library may give this space the first character of its word
        return start, start
    return trim_span(text, start, end)


def split_at_punctuation(
    texts: Sequence[str],
    segments: Sequence[int | None],
    word_ids: Sequence[int | None],
    offsets: Sequence[tuple[int, int]],
) -> list[int | None]:
    """Return the words of each text with every punctuation mark a word of its own, as in BERT.

    Unigram tokenizers split a text at white space alone, which makes "mat," one word. `segments` has for each position
    the index of its text, or None for an added token. A token is never divided.
    """
    result: list[int | None] = []
    before: tuple[int | None, int | None] = (None, None)  # the text and the library's word of the previous position
    number, last_character = -1, ""  # of the current word
    for segment, word_id, (start, end) in zip(segments, word_ids, offsets, strict=True):
        characters = "" if segment is None else texts[segment][start:end]
        if segment != before[0]:
            number = -1
        if (segment, word_id) != before or _is_boundary(last_character, characters[:1]):
            number, last_character = number + 1, ""
        last_character = characters[-1:] or last_character
        result.append(None if word_id is None else number)
        before = (segment, word_id)
    return result


def _is_boundary(left: str, right: str) -> bool:
    """Return whether one of two adjacent characters, "" where there is none, is punctuation as in BERT."""
    return bool(left and right) and any(
        unicodedata.category(character)[0] == "P" or (character.isascii() and not character.isalnum())
        for character in (left, right)
    )


def truncated_lengths(length_a: int, length_b: int, room: int) -> tuple[int, int]:
    """Return the numbers of tokens of A and B after truncation to `room` in all, which must not be negative.

    BERT drops one token at a time from the end of the longer text, from B if both are equally long
    (google-research/bert, run_classifier.py, `_truncate_seq_pair`). This is the result of that loop in closed form.
    """
    excess = max(0, length_a + length_b - room)
    # First the longer text shrinks to the length of the other ...
    difference = min(excess, abs(length_a - length_b))
    if length_a > length_b:
        length_a -= difference
    else:
        length_b -= difference
    # ... then both in turn, B first.
    excess -= difference
    return length_a - excess // 2, length_b - (excess - excess // 2)


def kept_positions(segments: Sequence[int | None], room: int) -> tuple[list[int], list[int], list[int]]:
    """Return the positions that are kept when the texts may have `room` tokens, and those of A and of B that are
    dropped.

    `segments` has for each position 0 for A, 1 for B, or None for an added token, which is always kept.
    """
    positions: dict[int | None, list[int]] = {0: [], 1: [], None: []}
    for position, segment in enumerate(segments):
        positions[segment].append(position)
    keep_a, keep_b = truncated_lengths(len(positions[0]), len(positions[1]), room)
    kept = sorted(positions[None] + positions[0][:keep_a] + positions[1][:keep_b])
    return kept, positions[0][keep_a:], positions[1][keep_b:]
