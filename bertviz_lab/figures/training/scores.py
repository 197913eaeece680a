"""The score strip: the tokens of a text with rows of numbers below."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.figures.interpret.tokens import token_columns
from bertviz_lab.figures.payload import Payload, to_json
from bertviz_lab.tokenization import Encoding

#: How a number is drawn: not at all, as a bar from 0 to the peak, or as a shade.
Scale = Literal["none", "bar", "shade"]


@dataclass(frozen=True)
class ScoreRow:
    """One row: a number or None for each token.

    `texts` replace the numbers where given; `peak` is the value of a full bar or shade, by default the row's largest.
    """

    label: str
    description: str
    values: Sequence[float | None] | NDArray[np.floating]
    scale: Scale = "shade"
    texts: Sequence[str] = ()
    peak: float | None = None
    digits: int = 2
    plus: bool = field(default=False, kw_only=True)  # show the sign of positive numbers too

    def body(self) -> dict[str, Any]:
        values = [None if v is None or not np.isfinite(v) else float(v) for v in self.values]
        sign = "+" if self.plus else ""
        texts = list(self.texts) or ["" if v is None else f"{v:{sign}.{self.digits}f}" for v in values]
        peak = self.peak if self.peak is not None else max((abs(v) for v in values if v is not None), default=0.0)
        return {
            "label": self.label,
            "says": self.description,
            "values": values,
            "texts": texts,
            "scale": self.scale,
            "peak": peak,
        }


def scores_payload(
    encoding: Encoding,
    rows: Sequence[ScoreRow],
    *,
    title: str,
    sentence: str = "",
    note: str = "",
    file: str = "tokens",
) -> Payload:
    """The payload of the strip of scores. Raises `ValueError` where a row does not have one entry per token."""
    columns = token_columns(encoding)
    bodies = [row.body() for row in rows]
    for body in bodies:
        if not len(body["values"]) == len(body["texts"]) == len(columns):
            raise ValueError(f"The row {body['label']} has {len(body['values'])} entries for {len(columns)} tokens.")
    return to_json(
        {"title": title, "sentence": sentence, "note": note, "file": file, "columns": columns, "rows": bodies}
    )
