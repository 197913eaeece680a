"""What a tokenizer makes of one text or two: the positions that a model reads, each traced back to its
characters."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Encoding:
    """One input of a model, `[CLS] A [SEP]` or `[CLS] A [SEP] B [SEP]`, possibly padded.

    Every tuple but the last two has one entry a position, and `len(encoding)` is the number of positions.

    - `text_a`, `text_b`: the texts as given; `text_b` is None where there was one text.
    - `ids`, `tokens`: each position's entry in the vocabulary, as a number and as it is spelt.
    - `token_type_ids`: 0 through the first `[SEP]`, 1 after it, 0 at padding.
    - `attention_mask`: 1 where there is a token, 0 at padding.
    - `special_tokens_mask`: 1 at what the tokenizer added (`[CLS]`, `[SEP]`, padding). A `[MASK]` that a
      person typed is part of the text: 0.
    - `offsets`: (start, end) in characters of the position's own text; (0, 0) at what the tokenizer added.
    - `word_ids`: which word of its own text the position belongs to, from 0; None at what the tokenizer
      added.
    - `dropped_a`, `dropped_b`: the tokens cut from the end of each text because there was no room.
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
    def position_ids(self) -> tuple[int, ...]:
        """0, 1, 2 ...: what the position embedding is looked up with."""
        return tuple(range(len(self.ids)))

    def mask_positions(self, mask_id: int) -> tuple[int, ...]:
        """The positions that hold the mask token, whose id is `mask_id`."""
        return tuple(position for position, token_id in enumerate(self.ids) if token_id == mask_id)


def truncated_lengths(length_a: int, length_b: int, room: int) -> tuple[int, int]:
    """How many tokens of A and of B stay when together they may have `room`, which must not be negative.

    BERT drops one token after another from the end of the longer text, from B where both are equally long
    (google-research/bert, run_classifier.py, `_truncate_seq_pair`). This is where that loop ends: a text no
    longer than half the room stays whole, and where both are longer they share the room, A having the odd
    token.
    """
    excess = max(0, length_a + length_b - room)
    # First the longer one shrinks until both are equally long ...
    alone = min(excess, abs(length_a - length_b))
    if length_a > length_b:
        length_a -= alone
    else:
        length_b -= alone
    # ... then they take turns, B first.
    excess -= alone
    return length_a - excess // 2, length_b - (excess - excess // 2)


def kept_positions(segments: Sequence[int | None], room: int) -> tuple[list[int], list[int], list[int]]:
    """Which positions stay when the texts may have `room` tokens, and which of A and of B are dropped.

    `segments` says for each position whether it belongs to text 0, to text 1, or was added (None: always
    stays).
    """
    positions: dict[int | None, list[int]] = {0: [], 1: [], None: []}
    for position, segment in enumerate(segments):
        positions[segment].append(position)
    keep_a, keep_b = truncated_lengths(len(positions[0]), len(positions[1]), room)
    kept = sorted(positions[None] + positions[0][:keep_a] + positions[1][:keep_b])
    return kept, positions[0][keep_a:], positions[1][keep_b:]
