"""Results of a fine-tuning as charts: confusion matrix, reliability, scores per class and slice, and trials."""

import math
from collections.abc import Sequence
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.figures.payload import MOST_LABELS, Payload, figure, message_payload
from bertviz_lab.figures.training.panels import TASK_SCORES
from bertviz_lab.metrics.classification import Calibration, ClassificationReport, MultiLabelReport
from bertviz_lab.metrics.entities import EntityReport
from bertviz_lab.metrics.names import NAMES, format_deviation, format_score

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.interpret import Results, Slice


def confusion_payload(report: ClassificationReport) -> Payload:
    """Return the confusion matrix: rows are true labels, columns are predicted labels; a cell can be selected.

    The chart's `item_select` gives {row, column}, indices into the report's labels. Of many labels those with the most
    frequent errors are drawn, and the CSV lists the cells of all that are not 0.
    """
    counts, labels = np.asarray(report.confusion), report.labels
    if not counts.any():
        return message_payload("There are no held-out examples for a confusion matrix.")
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    errors = counts - np.diag(np.diag(counts))
    drawn = _most_confused(counts, errors)
    names, block = [labels[i] for i in drawn], np.ix_(drawn, drawn)

    def cell_text(i: int, j: int) -> str:
        verdict = "correct" if i == j else f"predicted as {labels[j]}"
        return f"{labels[i]}, {verdict}: {counts[i, j]:,} ({shares[i, j]:.1%} of all that are {labels[i]})"

    worst = most_frequent_error(report)
    if len(drawn) < len(labels):
        worst += (
            f" The {len(drawn)} of {len(labels):,} labels with the most frequent errors are drawn, with "
            f"{errors[block].sum():,} of all {errors.sum():,} errors; the CSV has all cells."
        )
    zero = "0" if len(drawn) <= _ZEROS_WRITTEN else ""
    payload = figure(
        "matrix",
        values=counts[block],
        rows=names,
        columns=names,
        row_name="true label",
        texts=[[f"{count:,}" if count else zero for count in row] for row in counts[block].tolist()],
        details=[[cell_text(i, j) for j in drawn] for i in drawn],
        # Errors are few compared with what is correct: square roots make them visible.
        shades=np.where(np.eye(len(drawn), dtype=bool), 1, -1) * np.sqrt(shares[block]),
        peak=1.0,
        picks=(drawn, drawn),
        title="Confusion matrix",
        sentence=f"{np.trace(counts):,} of {counts.sum():,} are correct: accuracy {report.accuracy:.1%}. {worst}",
        note="Rows are true labels, columns are predicted labels. Cells are shaded by their share of the row: "
        "blue on the diagonal is correct, brown is an error. Click a cell to see its examples.",
        file="confusion",
    )
    if len(drawn) == len(labels):
        return payload
    cells = [[labels[i], labels[j], int(counts[i, j])] for i, j in np.argwhere(counts)]
    return payload.having(csv=[["true label", "predicted", "examples"], *cells])


def most_frequent_error(report: ClassificationReport) -> str:
    """Return a sentence on the largest cell beside the diagonal of the confusion matrix; "" without an error."""
    errors = np.asarray(report.confusion) * ~np.eye(len(report.labels), dtype=bool)
    if not errors.any():
        return ""
    true, predicted = (report.labels[place] for place in divmod(int(errors.argmax()), len(report.labels)))
    times = "once" if errors.max() == 1 else f"{errors.max():,} times"
    return f"Most frequent error: {true} predicted as {predicted}, {times}."


def reliability_payload(calibration: Calibration) -> Payload:
    """Return the reliability diagram: accuracy against confidence."""
    bins = [b for b in calibration.bins if b.count]
    if not bins:
        return message_payload("There are no held-out examples to measure calibration on.")
    counts = [b.count for b in bins]
    mean_confidence = np.average([b.confidence for b in bins], weights=counts)
    mean_accuracy = np.average([b.accuracy for b in bins], weights=counts)
    named = [(f"{100 * b.low:.0f}–{b.high:.0%}", b) for b in bins]
    gap = mean_confidence - mean_accuracy
    verdict = "It is well calibrated."
    if abs(gap) >= 0.02:
        verdict = "It is overconfident." if gap > 0 else "It is underconfident."
    return figure(
        "lines",
        places=[name for name, _ in named],
        series=[("accuracy", [b.accuracy for b in bins]), ("confidence", [b.confidence for b in bins])],
        title="Reliability diagram",
        place_name="confidence",
        low=0.0,
        high=1.0,
        dashed=("confidence",),
        details=[
            [f"{name} confidence: {b.accuracy:.1%} of {b.count:,} are correct" for name, b in named],
            [f"{name} confidence: {b.confidence:.1%} on average over {b.count:,}" for name, b in named],
        ],
        extra_columns=[("examples", counts)],
        sentence=f"Mean confidence {mean_confidence:.1%}, accuracy {mean_accuracy:.1%}. {verdict} Expected calibration "
        f"error: {calibration.ece:.1%}.",
        note="Where the solid line is below the dashed one, the model is overconfident. Empty confidence bins are "
        "left out.",
        file="confidence",
    )


def per_class_payload(report: ClassificationReport | MultiLabelReport | EntityReport) -> Payload:
    """Return precision, recall and F1 of each label or entity type."""
    if isinstance(report, EntityReport):
        what, scores = "entity type", report.per_type
        total = f"All entities: precision {report.precision:.1%}, recall {report.recall:.1%}, F1 {report.f1:.1%}."
    else:
        what, scores = "label", report.per_class
        micro = f", micro F1 {report.micro_f1:.1%}" if isinstance(report, MultiLabelReport) else ""
        total = f"Macro F1 is {report.macro_f1:.1%}{micro}."
    if not scores:
        return message_payload("There are no held-out examples to evaluate.")
    if len(scores) > MOST_LABELS:
        scores = tuple(sorted(scores, key=lambda s: -s.support))
    supported = [s for s in scores if s.support]
    worst = min(supported, key=lambda s: s.f1) if len(supported) > 1 else None
    return figure(
        "bars",
        groups=[s.label for s in scores],
        series=[(name, [getattr(s, name.lower()) for s in scores]) for name in ("precision", "recall", "F1")],
        title=f"Metrics per {what}",
        number_format=".1%",
        extra_columns=[("examples", [s.support for s in scores])],
        sentence=total + (f" The hardest {what} is {worst.label}, {worst.f1:.1%}." if worst else ""),
        note="Precision: the share of predictions that are correct. Recall: the share of true examples that the "
        "model finds. F1 is their harmonic mean.",
        ranked=f"most frequent {what}s",
        file="per-label",
    )


def slices_payload(slices: Sequence["Slice"], measure: str) -> Payload:
    """Return the score and the size of slices of the held-out examples, by length or by label."""
    filled = [s for s in slices if s.count]
    if not filled:
        return message_payload("There are no held-out examples to slice.")
    kinds = list(dict.fromkeys(s.kind for s in filled))
    if len(filled) > MOST_LABELS:
        filled.sort(key=lambda s: -s.count if s.kind == "label" else -math.inf)  # the lengths stay first
    groups = [f"{s.kind}: {s.name}" if len(kinds) > 1 else s.name for s in filled]
    worst, best = min(filled, key=lambda s: s.score), max(filled, key=lambda s: s.score)
    name, show = NAMES.get(measure, measure), partial(format_score, measure)
    told = [f"{s.kind} {s.name}, {show(s.score)}" for s in (best, worst)]
    return figure(
        "bars",
        groups=groups,
        series=[(name, [s.score for s in filled])],
        title=f"{name} by {' and '.join(kinds)}",
        number_format=".1%",
        texts=[[f"{show(s.score)} of {s.count:,}" for s in filled]],
        extra_columns=[("examples", [s.count for s in filled])],
        sentence=f"Best: {told[0]}; worst: {told[1]}." if len(filled) > 1 else "",
        note="Slices with few examples are unreliable.",
        ranked="largest slices",
        file="slices",
    )


def _most_confused(counts: NDArray[np.int64], errors: NDArray[np.int64]) -> list[int]:
    """Return at most `MOST_LABELS`: those of the most frequent errors, then the most frequent ones."""
    cells = np.argwhere(errors)
    cells = cells[np.argsort(-errors[tuple(cells.T)], kind="stable")]
    ranked = dict.fromkeys([*cells.ravel().tolist(), *np.argsort(-counts.sum(axis=1), kind="stable").tolist()])
    return sorted(list(ranked)[:MOST_LABELS])


#: A confusion matrix with more labels leaves its zeros unwritten.
_ZEROS_WRITTEN = 15


def trials_payload(results: "Results") -> Payload:
    """Return the score of each trial of a run and of the baseline: bars of the metric by which they are compared.

    Trials that differ in the seed alone are followed by their mean and standard deviation.
    """
    task, field, trials = TASK_SCORES[results.task], results.metric, results.trials
    name, show = dict(task.scores).get(field, field.replace("_", " ")), partial(format_score, field)
    values = [float(trial["scores"][field]) for trial in trials]
    bars = [(trial["name"] or "this run", value, show(value)) for trial, value in zip(trials, values, strict=True)]
    sentences = []
    trained = [bar for bar, trial in zip(bars, trials, strict=True) if not trial["random"]]
    if len(trained) > 1:
        best, _, text = (min if field == "loss" else max)(trained, key=itemgetter(1))
        sentences.append(f"Best on held-out examples: {best}, {name} {text}.")
    for family in results.seed_statistics:
        group = f"mean, {family['name']}" if family["name"] else f"mean of {family['count']} seeds"
        mean, deviation = family["mean"][field], format_deviation(field, family["deviation"][field])
        bars.append((group, mean, f"{show(mean)} ± {deviation}"))
    baseline = results.baselines.get(field)
    if baseline is not None:
        bars.append((task.baseline, float(baseline), show(float(baseline))))
        sentences.append(f"{task.baseline[:1].upper()}{task.baseline[1:]}: {show(float(baseline))}.")
    columns = {"best_step": [trial["best_step"] for trial in trials]}
    for other in sorted({key for trial in trials for key in trial["scores"]} - {field}):
        columns[other] = [trial["scores"].get(other) for trial in trials]
    padding = [None] * (len(bars) - len(trials))
    groups, values, texts = zip(*bars, strict=True)
    return figure(
        "bars",
        groups=groups,
        series=[(name, values)],
        title="Trials" if len(trials) > 1 else "Result",
        number_format=".1%",
        texts=[texts],
        extra_columns=[(key, [*column, *padding]) for key, column in columns.items()],
        sentence=" ".join(sentences),
        note="Best checkpoint of each trial, evaluated on held-out examples.",
        file="trials",
    )
