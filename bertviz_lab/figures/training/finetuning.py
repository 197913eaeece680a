"""Scores of a fine-tuned model as charts: confusion matrix, reliability, metrics per class and per slice."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bertviz_lab.figures.charts import bars_payload, lines_payload, matrix_payload
from bertviz_lab.figures.payload import Payload, message_payload
from bertviz_lab.metrics import Calibration, ClassificationReport, EntityReport

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.interpret import Slice


def confusion_payload(report: ClassificationReport) -> Payload:
    """Which label is predicted as which: rows are true labels, columns are predicted labels; a cell can be chosen.

    The chart's `item_select` gives {row, column}, both places in the report's labels.
    """
    counts = np.asarray(report.confusion)
    total = int(counts.sum())
    if not total:
        return message_payload("There are no held-out examples for a confusion matrix.")
    rows = counts.sum(axis=1, keepdims=True)
    shares = counts / np.maximum(rows, 1)
    details = [
        [_cell_words(true, said, counts[i, j], shares[i, j]) for j, said in enumerate(report.labels)]
        for i, true in enumerate(report.labels)
    ]
    wrong = counts - np.diag(np.diag(counts))
    true, said = divmod(int(wrong.argmax()), len(report.labels))
    often = (
        f" Most frequent error: {report.labels[true]} predicted as {report.labels[said]}, {_times(int(wrong.max()))}."
        if wrong.any()
        else ""
    )
    return matrix_payload(
        shares,
        report.labels,
        report.labels,
        title="Confusion matrix",
        row_name="true label",
        column_name="predicted",
        peak=1.0,
        picks=True,
        counts=counts,
        details=details,
        diagonal=True,
        sentence=f"{int(np.trace(counts)):,} of {total:,} are correct: accuracy {report.accuracy:.1%}; majority-class "
        f"baseline ({report.majority}): {report.majority_accuracy:.1%}.{often}",
        note="Rows are true labels, columns are predicted labels. Cells are shaded by their share of the row: "
        "blue on the diagonal is correct, brown is an error. Click a cell to see its examples.",
        file="confusion",
    )


def reliability_payload(calibration: Calibration) -> Payload:
    """Whether the model is right as often as it is sure."""
    bins = [one for one in calibration.bins if one.count]
    if not bins:
        return message_payload("There are no held-out examples to measure calibration on.")
    total = sum(one.count for one in bins)
    mean_sure = sum(one.confidence * one.count for one in bins) / total
    mean_right = sum(one.accuracy * one.count for one in bins) / total
    named = [(f"{100 * b.low:.0f}–{b.high:.0%}", b) for b in bins]
    gap = mean_sure - mean_right
    verdict = "It is well calibrated."
    if abs(gap) >= 0.02:
        verdict = "It is overconfident." if gap > 0 else "It is underconfident."
    return lines_payload(
        [name for name, _ in named],
        [("accuracy", [one.accuracy for one in bins]), ("confidence", [one.confidence for one in bins])],
        title="Reliability diagram",
        place_name="confidence",
        low=0.0,
        high=1.0,
        dashed=("confidence",),
        details=[
            [f"{name} confidence: {b.accuracy:.1%} of {b.count:,} are correct" for name, b in named],
            [f"{name} confidence: {b.confidence:.1%} on average over {b.count:,}" for name, b in named],
        ],
        beside=[("examples", [one.count for one in bins])],
        sentence=f"Mean confidence {mean_sure:.1%}, accuracy {mean_right:.1%}. {verdict} Expected calibration "
        f"error: {calibration.ece:.1%}.",
        note="Where the solid line is below the dashed one, the model is overconfident. Empty confidence bins are "
        "left out.",
        file="confidence",
    )


def per_class_payload(report: ClassificationReport | EntityReport) -> Payload:
    """Precision, recall and F1 of each label, or of each type of entity."""
    if isinstance(report, EntityReport):
        scores = report.per_type
        what, total = "entity type", f"All entities: precision {report.precision:.1%}, recall {report.recall:.1%}, "
        total += f"F1 {report.f1:.1%}."
    else:
        scores = report.per_class
        what, total = "label", f"Macro F1 is {report.macro_f1:.1%}."
    if not scores:
        return message_payload("There are no held-out examples to evaluate.")
    columns = [("precision", [s.precision for s in scores]), ("recall", [s.recall for s in scores])]
    columns.append(("F1", [s.f1 for s in scores]))
    found = [one for one in scores if one.support]
    worst = min(found, key=lambda one: one.f1) if len(found) > 1 else None
    return bars_payload(
        [one.label for one in scores],
        columns,
        title=f"Metrics per {what}",
        texts=[[f"{value:.1%}" for value in values] for _, values in columns],
        peak=1.0,
        beside=[("examples", [one.support for one in scores])],
        sentence=total + (f" The hardest {what} is {worst.label}, {worst.f1:.1%}." if worst else ""),
        note="Precision: the share of predictions that are correct. Recall: the share of true examples that the "
        "model finds. F1 is their harmonic mean.",
        file="per-label",
    )


def slices_payload(slices: Sequence["Slice"], measure: str = "accuracy", *, overall: float | None = None) -> Payload:
    """The score on parts of the held-out examples, by length or by label, and how many each part has."""
    parts = [one for one in slices if one.count]
    if not parts:
        return message_payload("There are no held-out examples to slice.")
    kinds = list(dict.fromkeys(one.kind for one in parts))
    groups = [f"{one.kind}: {one.name}" if len(kinds) > 1 else one.name for one in parts]
    worst, best = min(parts, key=lambda one: one.score), max(parts, key=lambda one: one.score)
    show = (lambda v: f"{v:.2f}") if measure in ("pearson", "spearman") else (lambda v: f"{v:.1%}")
    told = f"All held-out examples: {measure} {show(overall)}. " if overall is not None else ""
    if len(parts) > 1:
        told += (
            f"Best: {best.kind} {best.name}, {show(best.score)}; worst: {worst.kind} {worst.name}, {show(worst.score)}."
        )
    return bars_payload(
        groups,
        [(measure, [one.score for one in parts])],
        title=f"{measure[:1].upper()}{measure[1:]} by {' and '.join(kinds)}",
        texts=[[f"{show(one.score)} of {one.count:,}" for one in parts]],
        peak=1.0,
        beside=[("examples", [one.count for one in parts])],
        sentence=told.strip(),
        note="Slices with few examples are unreliable.",
        file="slices",
    )


def _cell_words(true: str, said: str, count: int, share: float) -> str:
    what = "correct" if true == said else f"predicted as {said}"
    return f"{true}, {what}: {count:,} ({share:.1%} of all that are {true})"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"
