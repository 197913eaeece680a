"""Masking of one text: which tokens were selected, what replaced them, and how that compares with the rule."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bertviz_lab.figures.charts import bars_payload, matrix_payload
from bertviz_lab.figures.interpret.tokens import token_columns
from bertviz_lab.figures.payload import Payload, to_json
from bertviz_lab.figures.training.scores import ScoreRow, scores_payload

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.interpret import MaskedLoss, MaskedText, MaskingStatistics

CHOSEN = ("mask", "random", "kept")
OUTCOMES = ("special", "not chosen", *CHOSEN)


def masking_payload(
    masked: "MaskedText",
    *,
    mask_probability: float = 0.15,
    mask_share: float = 0.8,
    random_share: float = 0.1,
    title: str = "",
) -> Payload:
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
        {"outcome": outcome, "observed": outcomes.count(outcome), "expected": planned * shares[outcome]}
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


def masking_statistics_payload(counts: "MaskingStatistics", plan: dict[str, float]) -> Payload:
    """What became of the chosen tokens in many draws, beside the rule and its bounds.

    `plan` has each outcome's share.
    """
    chosen = max(1, counts.chosen)
    names = [count.outcome for count in counts.outcomes]
    shares = [count.observed / chosen for count in counts.outcomes]
    planned = [plan[name] for name in names]
    intervals = [
        f"{share:.0%} (99% interval {count.low / chosen:.2%} to {count.high / chosen:.2%})"
        for share, count in zip(planned, counts.outcomes, strict=True)
    ]
    outside = [count.outcome for count in counts.outcomes if not count.low <= count.observed <= count.high]
    said = f"Outside its 99% interval: {', '.join(outside)}; that happens once in a hundred times." if outside else ""
    return bars_payload(
        names,
        [("counted", shares), ("expected", planned)],
        title=f"{counts.draws:,} draws",
        texts=[[f"{share:.2%}" for share in shares], intervals],
        peak=1.0,
        file="draws",
        sentence=f"{counts.chosen:,} tokens were selected. {said}".strip(),
    )


def epochs_payload(epochs: Sequence["MaskedText"], static: bool) -> Payload:
    """One row per epoch, one column per token: what the model has to predict each time."""
    signs = {"mask": "■", "random": "↻", "kept": "="}
    tokens = list(epochs[0].encoding.tokens)
    values = np.array([[1.0 if outcome in CHOSEN else np.nan for outcome in epoch.outcomes] for epoch in epochs])
    return matrix_payload(
        values,
        [f"epoch {place + 1}" for place in range(len(epochs))],
        tokens,
        title="Static masking" if static else "Dynamic masking",
        texts=[[signs.get(outcome, "") for outcome in epoch.outcomes] for epoch in epochs],
        peak=2.0,
        file="passes",
        note="■ [MASK], ↻ random token, = unchanged; the model has to predict all three.",
        sentence="The same masks repeat (Google's code wrote ten sets to disk)."
        if static
        else "Every epoch masks other tokens (Liu et al. 2019, RoBERTa).",
    )


def losses_payload(masked: "MaskedText", losses: "MaskedLoss") -> Payload:
    """The loss at each selected position, under the masked text that the model is given."""
    length = len(masked.outcomes)
    values: list[float | None] = [None] * length
    guesses, chances = [""] * length, [""] * length
    for position_loss in losses.positions:
        values[position_loss.position] = position_loss.loss
        guesses[position_loss.position] = position_loss.guess.token
        chances[position_loss.position] = f"{position_loss.probability:.1%}"
    nothing = [None] * length
    return scores_payload(
        masked.encoding,
        [
            ScoreRow("input", "The model's input", nothing, "none", list(masked.input_tokens)),
            ScoreRow(
                "loss", "-log of the probability of the true token, in nats; only selected positions count", values
            ),
            ScoreRow("probability", "Of the true token", nothing, "none", chances),
            ScoreRow("prediction", "The model's top prediction", nothing, "none", guesses),
        ],
        title="MLM loss of this text" if losses.mean is None else f"MLM loss of this text: {losses.mean:.2f} nats",
        sentence="Only selected positions enter the MLM loss; it is their mean.",
        file="masked-loss",
    )
