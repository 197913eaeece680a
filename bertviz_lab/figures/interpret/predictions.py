"""Predictions for the masked tokens of a sentence, and for the next sentence."""

from dataclasses import asdict
from typing import TYPE_CHECKING

from bertviz_lab.figures.charts import bars_payload
from bertviz_lab.figures.payload import Payload, to_json
from bertviz_lab.figures.strips import token_columns

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.interpret import FillMask


def next_sentence_payload(is_next: float, is_random: float) -> Payload:
    """Whether B follows A: two shares that sum to 1."""
    shares = [is_next, is_random]
    return bars_payload(
        ["B follows A", "B comes from elsewhere"],
        [("probability", shares)],
        title="Prediction: is next" if is_next > 0.5 else "Prediction: not next",
        texts=[[f"{share:.1%}" for share in shares]],
        peak=1.0,
        file="next-sentence",
    )


def fill_mask_payload(filled: "FillMask", *, title: str = "", vocab_size: int | None = None) -> Payload:
    """The payload of the fill-mask bars; probabilities are shares of 1.

    With `vocab_size` the page shows over how many other tokens the remaining probability is spread.
    """
    masks = [asdict(mask) for mask in filled.masks]
    columns = token_columns(filled.encoding)
    return to_json({"title": title, "columns": columns, "masks": masks, "vocab_size": vocab_size})
