"""Masking of one text: which tokens were selected, what replaced them, and the expectation under the rule."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bertviz_lab.figures.charts import bars_payload, matrix_payload
from bertviz_lab.figures.payload import Payload
from bertviz_lab.figures.strips import ScoreRow, scores_payload, token_columns, words_row

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.interpret import MaskedLoss, MaskedText, MaskingStatistics

CHOSEN = ("mask", "random", "kept")
#: The color of each outcome, a sign that says the same without color, its name, and what it means.
OUTCOME_WORDS = {
    "mask": ("out-mask", "■", "masked", "replaced by [MASK]; the model must predict it"),
    "random": ("out-random", "↻", "random", "replaced by a random token; the model must still predict the original"),
    "kept": ("out-kept", "=", "unchanged", "left unchanged, but the model must still predict it"),
    "not chosen": ("out-none", "·", "", "not selected; visible to the model and not part of the loss"),
    "special": ("out-none", "–", "", "a special token, never selected"),
}


def masking_payload(
    masked: "MaskedText", *, mask_probability: float = 0.15, mask_share: float = 0.8, random_share: float = 0.1
) -> Payload:
    """Return the payload of the strip of a masked text.

    The probabilities are those of the masking rule; `counts` has the observed and the expected number of tokens. The
    number chosen is not random: the share of all positions, rounded, and at least one (google-research/bert,
    create_pretraining_data.py); whole-word masking may choose a few less.
    """
    outcomes, given = masked.outcomes, masked.input_tokens
    # The label is the original token, only at positions that the model predicts.
    columns = [
        column | {"outcome": outcome, "given": token, "label": column["token"] if outcome in CHOSEN else None}
        for column, outcome, token in zip(token_columns(masked.encoding), outcomes, given, strict=True)
    ]
    kinds, signs = zip(*(OUTCOME_WORDS[outcome][:2] for outcome in outcomes), strict=True)
    answers = ["answer" if outcome in CHOSEN else "out-none" for outcome in outcomes]
    labels = [column["label"] or "" for column in columns]
    rows = [
        words_row("input", "The input of the model", given, [f"given {kind}" for kind in kinds]),
        words_row("masking", "How each token was masked", signs, kinds),
        words_row("label", "The labels of the loss; all other positions are ignored", labels, answers),
    ]
    candidates = len(outcomes) - outcomes.count("special")
    length = sum(masked.encoding.attention_mask)
    chosen = sum(outcome in CHOSEN for outcome in outcomes)
    planned = min(candidates, max(1, round(mask_probability * length)))
    shown = {outcome: OUTCOME_WORDS[outcome] for outcome in CHOSEN}
    shares = {"mask": mask_share, "random": random_share, "kept": 1.0 - mask_share - random_share}
    rule = f"{mask_probability:.0%} of {length} positions, rounded"
    counts: list[tuple[str, str, int, float, str]] = [("chosen", "selected", chosen, planned, rule)]
    for outcome, (_, sign, name, _) in shown.items():
        expected, rule = planned * shares[outcome], f"{shares[outcome]:.0%} of the selected"
        counts.append((outcome, f"{sign} {name}", outcomes.count(outcome), expected, rule))
    return scores_payload(
        masked.encoding,
        rows,
        title=f"{chosen} of {candidates} token{'' if candidates == 1 else 's'} must be predicted",
        file="masking",
        columns=columns,
        tokens_label="your text",
        details=[
            ["", column["token"], f" (position {position}): {OUTCOME_WORDS[column['outcome']][3]}."]
            + ([" The model sees ", column["given"], " in its place."] if column["outcome"] == "random" else [])
            for position, column in enumerate(columns)
        ],
        legend=[[kind, sign, f"{name}: {means}"] for kind, sign, name, means in shown.values()],
        candidates=candidates,
        mask_probability=mask_probability,
        shares=shares,
        counts=[
            {"outcome": outcome, "observed": observed, "expected": expected}
            for outcome, _, observed, expected, _ in counts
        ],
        table={
            "title": "This draw and the expected counts",
            "header": ["outcome", "tokens", "expected", "rule"],
            "rows": [[name, observed, f"{round(expected, 1):g}", rule] for _, name, observed, expected, rule in counts],
        },
    )


def masking_statistics_payload(counts: "MaskingStatistics") -> Payload:
    """Return the outcomes of many draws next to the expected shares and their intervals."""
    chosen = max(1, counts.chosen)
    outcomes = {OUTCOME_WORDS[count.outcome][2]: count for count in counts.outcomes}
    shares = [count.observed / chosen for count in counts.outcomes]
    expected = [count.expected / chosen for count in counts.outcomes]
    ends = [f"{count.low / chosen:.2%} to {count.high / chosen:.2%}" for count in counts.outcomes]
    intervals = [f"{share:.0%} (99% interval {low_high})" for share, low_high in zip(expected, ends, strict=True)]
    outside = [name for name, count in outcomes.items() if not count.low <= count.observed <= count.high]
    warning = f" Outside its 99% interval: {', '.join(outside)}; that happens once in a hundred times." * bool(outside)
    return bars_payload(
        list(outcomes),
        [("counted", shares), ("expected", expected)],
        title=f"{counts.draws:,} draws",
        number_format=".2%",
        texts=[[f"{share:.2%}" for share in shares], intervals],
        file="draws",
        sentence=f"{counts.chosen:,} tokens were selected.{warning}",
    )


def epochs_payload(epochs: Sequence["MaskedText"], static: bool) -> Payload:
    """Return the masked positions, with a row for each epoch and a column for each token."""
    return matrix_payload(
        np.array([[1.0 if outcome in CHOSEN else np.nan for outcome in epoch.outcomes] for epoch in epochs]),
        [f"epoch {index + 1}" for index in range(len(epochs))],
        epochs[0].encoding.tokens,
        words=[[OUTCOME_WORDS[out][1] if out in CHOSEN else "" for out in epoch.outcomes] for epoch in epochs],
        peak=2.0,
        title="Static masking" if static else "Dynamic masking",
        file="passes",
        note="■ [MASK], ↻ random token, = unchanged; the model has to predict all three.",
        sentence="The same masks repeat (Google's code wrote ten sets to disk)."
        if static
        else "Every epoch masks other tokens (Liu et al. 2019, RoBERTa).",
    )


def losses_payload(masked: "MaskedText", losses: "MaskedLoss") -> Payload:
    """Return the loss at each selected position, below the masked text."""
    selected = {loss.position: loss for loss in losses.positions}
    at = [selected.get(position) for position in range(len(masked.outcomes))]
    about = "-log of the probability of the true token, in nats; only selected positions count"
    return scores_payload(
        masked.encoding,
        [
            words_row("input", "The model's input", masked.input_tokens),
            ScoreRow("loss", about, [loss.loss if loss else None for loss in at]),
            words_row("probability", "Of the true token", [f"{loss.probability:.1%}" if loss else "" for loss in at]),
            words_row("prediction", "The model's top prediction", [loss.guess.token if loss else "" for loss in at]),
        ],
        title="MLM loss of this text" if losses.mean is None else f"MLM loss of this text: {losses.mean:.2f} nats",
        sentence="Only selected positions enter the MLM loss; it is their mean.",
        file="masked-loss",
    )
