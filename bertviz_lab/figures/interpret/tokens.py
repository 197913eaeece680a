"""An encoding, position by position: what the model is really given in place of a sentence."""

from typing import Any

from bertviz_lab.figures.payload import Payload, to_json
from bertviz_lab.tokenization import Encoding


def token_columns(encoding: Encoding) -> list[dict[str, Any]]:
    """One dict a position, shared by every strip.

    `word` is equal for the pieces of one word and null where a position belongs to none; `surface` is the
    stretch of the person's own text that the token came from, empty for tokens that came from none;
    `spaced` says that white space stands before it there.
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
                # A word's number restarts in sentence B; the segment keeps the two apart.
                "word": None if word_id is None else f"{segment}:{word_id}",
                "surface": text[start:end],
                "spaced": start > 0 and text[start - 1].isspace(),
            }
        )
    return columns


def token_payload(encoding: Encoding, title: str = "", note: str = "") -> Payload:
    """The payload of the token strip. The position of a column is its place in the list; `note` is a sentence."""
    dropped = [list(encoding.dropped_a), list(encoding.dropped_b)]
    return to_json({"title": title, "columns": token_columns(encoding), "dropped": dropped, "note": note})
