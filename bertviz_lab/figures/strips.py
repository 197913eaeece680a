"""A text: the strip of its tokens with rows of words or numbers below them, or the text with marked spans."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.figures.payload import Payload, to_json
from bertviz_lab.tokenization import Encoding

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.data.tasks.question_answering import SpanAnswer


#: How tokenizers spell them: BERT's way and RoBERTa's.
MASKS, PADDINGS = ("[MASK]", "<mask>"), ("[PAD]", "<pad>")

#: How a number is drawn: not at all, as a bar from 0 to the peak, or as a shade.
Scale = Literal["none", "bar", "shade"]


def token_columns(encoding: Encoding) -> list[dict[str, Any]]:
    """Return one dict per position, shared by every strip.

    `word` is equal for the pieces of a word and null outside words; `surface` is what the token adds to the input text,
    empty for added tokens, for a space alone, and after the first of several tokens that make up a character; `spaced`
    tells whether white space precedes it there; `kind` is its color.
    """
    columns: list[dict[str, Any]] = []
    covered = [0, 0]  # the characters of each text that the tokens so far cover
    for position, token in enumerate(encoding.tokens):
        segment = int(encoding.token_type_ids[position])
        word_id = encoding.word_ids[position]
        start, end = encoding.offsets[position]
        text = encoding.text_b if segment == 1 and encoding.text_b is not None else encoding.text_a
        mask, special = int(encoding.attention_mask[position]), bool(encoding.special_tokens_mask[position])
        columns.append(
            {
                "token": token,
                "id": int(encoding.ids[position]),
                "segment": segment,
                "mask": mask,
                "special": special,
                # Word ids restart in sentence B; the segment makes them unique.
                "word": None if word_id is None else f"{segment}:{word_id}",
                "surface": text[max(start, covered[segment]) : end],
                "spaced": start > 0 and text[start - 1].isspace(),
                "kind": _kind(token, segment, mask, special),
            }
        )
        covered[segment] = max(covered[segment], end)
    return columns


def _kind(token: str, segment: int, mask: int, special: bool) -> str:
    if token in PADDINGS and not mask:
        return "pad"
    if token in MASKS:
        return "masked"
    return "special" if special else "seg-b" if segment == 1 else "seg-a"


@dataclass(frozen=True)
class ScoreRow:
    """One row: a number or None for each token.

    `texts` replace the numbers where given, `kinds` their colors; `peak` is the value of a full bar or shade, by
    default the row's largest.
    """

    label: str
    description: str
    values: Sequence[float | None] | NDArray[np.floating]
    scale: Scale = "shade"
    texts: Sequence[str] = ()
    peak: float | None = None
    digits: int = 2
    plus: bool = field(default=False, kw_only=True)  # show the sign of positive numbers too
    kinds: Sequence[str] = field(default=(), kw_only=True)

    def body(self) -> dict[str, Any]:
        values = [None if v is None or not np.isfinite(v) else float(v) for v in self.values]
        sign = "+" if self.plus else ""
        texts = list(self.texts) or ["" if v is None else f"{v:{sign}.{self.digits}f}" for v in values]
        peak = self.peak if self.peak is not None else max((abs(v) for v in values if v is not None), default=0.0)
        body = {"label": self.label, "says": self.description, "values": values, "texts": texts}
        return {**body, "scale": self.scale, "peak": peak, "kinds": list(self.kinds) or None}


def words_row(label: str, description: str, texts: Sequence[str], kinds: Sequence[str] = ()) -> ScoreRow:
    """Return a row of words, with a color each where `kinds` are given."""
    return ScoreRow(label, description, [None] * len(texts), "none", texts, kinds=kinds)


def scores_payload(
    encoding: Encoding,
    rows: Sequence[ScoreRow],
    *,
    title: str,
    sentence: str = "",
    note: str = "",
    file: str = "tokens",
    columns: Sequence[Mapping[str, Any]] = (),
    **more: Any,
) -> Payload:
    """Return a strip; `columns` replace those of `encoding` if they have more fields.

    `more` may hold `tokens_label` (of the first row), `details` (of each token a sentence as a list, whose every second
    part is emphasized), `legend` ([[color, sign, words]]), `glossary` ([[term, meaning]], by default of the rows) and
    `table` ({title, header, rows}).
    """
    body: dict[str, Any] = {"title": title, "sentence": sentence, "note": note, "file": file}
    body |= {"columns": columns or token_columns(encoding), "rows": [row.body() for row in rows]}
    return to_json(body | more)


@dataclass(frozen=True)
class Span:
    """The span text[start:end], its label and its probability (None where unknown)."""

    start: int
    end: int
    label: str
    score: float | None


def marked_payload(
    text: str,
    spans: Sequence[Span] = (),
    alternatives: Sequence["SpanAnswer"] = (),
    *,
    title: str,
    sentence: str = "",
    chosen: int | None = 0,
    file: str = "marked",
) -> Payload:
    """Return the highlighted text. Offsets are in code points of `text`, as in Python.

    `alternatives` are answers, the most probable first; `chosen` is the index of the one to highlight first, or None.
    """
    ordered = sorted(spans, key=lambda span: span.start)
    fields = ("text", "start", "end", "probability")
    answers = [{name: getattr(answer, name) for name in fields} for answer in alternatives]
    first = next((unicodedata.bidirectional(letter) for letter in text if letter.isalpha()), "")
    direction = "rtl" if first in ("R", "AL") else "ltr"
    body: dict[str, Any] = {"title": title, "sentence": sentence, "file": file, "text": text, "direction": direction}
    body |= {"spans": [asdict(span) for span in ordered], "alternatives": answers}
    return to_json({**body, "chosen": chosen if answers else None})
