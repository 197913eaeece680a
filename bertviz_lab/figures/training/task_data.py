"""Labelled examples as charts: sequence lengths and label frequencies."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bertviz_lab.figures.charts import MOST_LABELS, bars_payload, columns_payload
from bertviz_lab.figures.payload import Payload, message_payload, to_json

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.data.tasks.task_report import ClassCount, LengthHistogram, TaskReport


def charts_payload(report: "TaskReport") -> Payload:
    """The labels and the sequence lengths of a data set, each the payload of a chart."""
    if report.task == "regression":
        labels = message_payload("This is a regression task: it has numbers, not labels.")
    else:
        labels = balance_payload(report.classes)
    return to_json({"labels": labels, "lengths": lengths_payload(report.lengths)})


def lengths_payload(histogram: "LengthHistogram") -> Payload:
    """Histogram of sequence lengths in tokens; bins that are truncated have another style."""
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
    """How often each label occurs in the training and in the held-out examples."""
    if len(classes) > MOST_LABELS:
        classes = sorted(classes, key=lambda c: -c.train)
    totals = [sum(c.train for c in classes), sum(c.held_out for c in classes)]
    counts = [[c.train for c in classes], [c.held_out for c in classes]]
    if not sum(totals):
        return message_payload("There are no labels to count.")
    shown = [split for split in (0, 1) if totals[split]]
    names = ["training", "held out"]
    shares = [[count / max(1, totals[split]) for count in counts[split]] for split in (0, 1)]
    majority = max(classes, key=lambda c: c.train)
    return bars_payload(
        [c.label for c in classes],
        [(names[split], shares[split]) for split in shown],
        title="Labels",
        texts=[
            [f"{share:.1%} ({count:,})" for share, count in zip(shares[split], counts[split], strict=True)]
            for split in shown
        ],
        extra_columns=[(f"{names[split]} (count)", counts[split]) for split in shown],
        sentence=f"{len(classes)} labels on {totals[0]:,} training examples"
        + (f" and {totals[1]:,} held out" if totals[1] else "")
        + f". The most frequent is {majority.label}: {majority.train / max(1, totals[0]):.1%}.",
        note="Shares of the training and of the held-out examples.",
        ranked="most frequent labels",
        file="labels",
    )
