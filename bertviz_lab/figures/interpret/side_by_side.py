"""Predictions of several models side by side."""

from collections.abc import Sequence

from bertviz_lab.figures.charts import bars_payload
from bertviz_lab.figures.payload import Payload, message_payload, to_json


def follows_payload(names: Sequence[str], shares: Sequence[float | None]) -> Payload:
    """Each model's probability that B follows A; None for one without a next-sentence head."""
    if all(share is None for share in shares):
        return message_payload("None of these models has an NSP head.")
    return bars_payload(
        list(names),
        [("B follows A", list(shares))],
        title="Does B follow A? (NSP)",
        texts=[["no NSP head" if share is None else f"{share:.1%}" for share in shares]],
        peak=1.0,
        file="next-sentence",
        sentence="Probability under each model that B is the next sentence; 50% is chance.",
    )


def heads_payload(names: Sequence[str], grids: Sequence[str]) -> Payload:
    """All heads of each model; `grids` are payloads of the attention grid, one for each name."""
    return to_json({"names": list(names), "grids": list(grids), "file": "heads"})
