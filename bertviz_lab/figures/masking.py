"""BERT's masking of one text: what was chosen, what became of it, and how that compares with the plan."""

from collections.abc import Sequence
from typing import Any, Protocol

from bertviz_lab.figures.payload import to_json
from bertviz_lab.figures.tokens import EncodingLike, token_columns

CHOSEN = ("mask", "random", "kept")
OUTCOMES = ("special", "not chosen", *CHOSEN)


class MaskedLike(Protocol):
    """The part of a masked text that is drawn; sequences hold one entry a position."""

    @property
    def encoding(self) -> EncodingLike: ...
    @property
    def outcomes(self) -> Sequence[str]: ...
    @property
    def input_tokens(self) -> Sequence[str]: ...


def masking_payload(
    masked: MaskedLike,
    *,
    mask_probability: float = 0.15,
    mask_share: float = 0.8,
    random_share: float = 0.1,
    title: str = "",
) -> str:
    """The payload of the masking strip.

    The probabilities are those that the text was masked with; `counts` sets what happened beside what they
    make one expect on average, in tokens. How many are chosen is no matter of luck: the share of all positions,
    rounded, and at least one (google-research/bert, create_pretraining_data.py); whole words may leave a few out.
    Raises `ValueError` for an outcome that is not one of `OUTCOMES`.
    """
    unknown = set(masked.outcomes) - set(OUTCOMES)
    if unknown:
        raise ValueError(f"Unknown masking outcomes: {', '.join(sorted(unknown))}.")
    columns: list[dict[str, Any]] = []
    for column, outcome, given in zip(
        token_columns(masked.encoding), masked.outcomes, masked.input_tokens, strict=True
    ):
        # The label is the original token, and only where the model is asked for it.
        columns.append(
            column | {"outcome": outcome, "given": given, "label": column["token"] if outcome in CHOSEN else None}
        )

    outcomes = list(masked.outcomes)
    candidates = len(outcomes) - outcomes.count("special")
    length = sum(masked.encoding.attention_mask)
    chosen = sum(outcome in CHOSEN for outcome in outcomes)
    planned = min(candidates, max(1, round(mask_probability * length)))
    shares = {"mask": mask_share, "random": random_share, "kept": 1.0 - mask_share - random_share}
    counts = [{"outcome": "chosen", "observed": chosen, "expected": planned}]
    counts += [
        {
            "outcome": outcome,
            "observed": outcomes.count(outcome),
            "expected": planned * shares[outcome],
        }
        for outcome in CHOSEN
    ]
    return to_json(
        {
            "title": title,
            "columns": columns,
            "candidates": candidates,
            "length": length,
            "mask_probability": mask_probability,
            "shares": shares,
            "counts": counts,
        }
    )
