"""Labelled examples as charts: how long their texts are, and how often each label occurs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bertviz_lab.figures.charts import bars_payload, columns_payload
from bertviz_lab.figures.payload import Payload, message_payload

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.data.tasks.task_report import ClassCount, LengthHistogram


def lengths_payload(histogram: "LengthHistogram") -> Payload:
    """How long the texts are, in tokens; what is cut has another look."""
    counts = np.asarray(histogram.counts)
    if not counts.sum():
        return message_payload("There are no texts to measure.")
    bins = [(int(low), int(high) - 1) for low, high in zip(histogram.edges[:-1], histogram.edges[1:], strict=True)]
    names = [str(low) if low == high else f"{low}–{high}" for low, high in bins]
    beyond = [high > histogram.max_length for _, high in bins]
    total = int(counts.sum())
    cut = (
        f"{histogram.cut:,} of {total:,} ({histogram.cut / total:.1%}) are longer than the max sequence length of "
        f"{histogram.max_length} tokens."
        if histogram.cut
        else f"All of them fit into the max sequence length of {histogram.max_length} tokens."
    )
    return columns_payload(
        counts,
        names,
        [f"{name} tokens: {count:,} texts" for name, count in zip(names, counts.tolist(), strict=True)],
        title="Sequence lengths in tokens",
        marked=beyond,
        mark_names=("fits", f"longer than {histogram.max_length} tokens") if any(beyond) else (),
        sentence=f"Half of them have at most {histogram.median:g} tokens; the longest has {histogram.longest:,}. {cut}",
        file="lengths",
    )


def balance_payload(classes: Sequence["ClassCount"]) -> Payload:
    """How often each label occurs among the examples to train on and those held out."""
    totals = [sum(one.train for one in classes), sum(one.held_out for one in classes)]
    counts = [[one.train for one in classes], [one.held_out for one in classes]]
    if not sum(totals):
        return message_payload("There are no labels to count.")
    shown = [place for place in (0, 1) if totals[place]]
    names = ["training", "held out"]
    shares = [[count / max(1, totals[place]) for count in counts[place]] for place in (0, 1)]
    commonest = max(classes, key=lambda one: one.train)
    return bars_payload(
        [one.label for one in classes],
        [(names[place], shares[place]) for place in shown],
        title="Labels",
        texts=[
            [f"{share:.1%} ({count:,})" for share, count in zip(shares[place], counts[place], strict=True)]
            for place in shown
        ],
        beside=[(f"{names[place]} (count)", counts[place]) for place in shown],
        sentence=f"{len(classes)} labels on {totals[0]:,} training examples"
        + (f" and {totals[1]:,} held out" if totals[1] else "")
        + f". The most frequent is {commonest.label}: {commonest.train / max(1, totals[0]):.1%}.",
        note="Shares of the training and of the held-out examples.",
        file="labels",
    )
