"""An encoding, position by position: the model's actual input."""

from typing import Any

from bertviz_lab.figures.payload import Payload, to_json
from bertviz_lab.tokenization import Encoding


def token_columns(encoding: Encoding) -> list[dict[str, Any]]:
    """One dict per position, shared by every strip.

    `word` is equal for the pieces of a word and null outside words; `surface` is the span of the input text that the
    token covers, empty for added tokens; `spaced` tells whether white space precedes it there.
    """
    columns: list[dict[str, Any]] = []
    for position, token in enumerate(encoding.tokens):
        segment = int(encoding.token_type_ids[position])
        word_id = encoding.word_ids[position]
        start, end = encoding.offsets[position]
        text = encoding.text_b if segment == 1 and encoding.text_b is not None else encoding.text_a
        columns.append(
            {
                "token": token,
                "id": int(encoding.ids[position]),
                "segment": segment,
                "mask": int(encoding.attention_mask[position]),
                "special": bool(encoding.special_tokens_mask[position]),
                # Word ids restart in sentence B; the segment makes them unique.
                "word": None if word_id is None else f"{segment}:{word_id}",
                "surface": text[start:end],
                "spaced": start > 0 and text[start - 1].isspace(),
            }
        )
    return columns


def token_payload(encoding: Encoding, title: str = "", note: str = "") -> Payload:
    """The payload of the token strip. A column's index is its position; `note` is a sentence."""
    dropped = [list(encoding.dropped_a), list(encoding.dropped_b)]
    return to_json({"title": title, "columns": token_columns(encoding), "dropped": dropped, "note": note})
