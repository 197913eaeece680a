"""The trials of a run as a chart: other seeds, other settings, or random weights."""

import statistics
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from bertviz_lab.figures.charts import bars_payload
from bertviz_lab.figures.payload import Payload, message_payload
from bertviz_lab.metrics.names import format_deviation, format_score

#: The main metrics of each task with their display names.
MAIN_MEASURES: dict[str, tuple[tuple[str, str], ...]] = {
    "classification": (("accuracy", "accuracy"),),
    "multilabel": (("micro_f1", "micro F1"),),
    "regression": (("spearman", "Spearman"),),
    "tokens": (("f1", "F1 of entities"), ("accuracy", "accuracy")),  # F1 only for entity labels
    "qa": (("f1", "F1 of answers"),),
    "embeddings": (("spearman", "Spearman"), ("mrr", "MRR")),
}
#: Baselines other than the majority class.
_GUESSES = {
    "multilabel": "most-frequent-label baseline",
    "regression": "mean baseline",
    "qa": "no-answer baseline",
    "embeddings": "random ranking",
}
RANDOM_WEIGHTS = "random weights"  # name of the trial that is never the best of several


def trials_payload(
    rows: Sequence[Mapping[str, Any]],
    task: str = "classification",
    *,
    baselines: Mapping[str, float] | None = None,
    measure: str = "",
) -> Payload:
    """The score of each trial of a run and of the baseline: bars of the task's main metric.

    `rows` are `TrialDone` events as in `events.jsonl`; `baselines` are those of `RunStarted`. `measure` is the metric
    by which trials are compared, by default the task's. Trials that differ in the seed alone are summarised by mean
    and standard deviation.
    """
    baseline_name = _GUESSES.get(task, "majority-class baseline")
    names = dict(MAIN_MEASURES[task])
    pairs = [(measure, names.get(measure, measure.replace("_", " ")))] if measure else MAIN_MEASURES[task]
    main_measure = next((pair for pair in pairs if any(row.get(pair[0]) is not None for row in rows)), None)
    if main_measure is None:
        return message_payload("No trial has ended yet.")
    field, name = main_measure
    show = partial(format_score, field)
    done = [row for row in rows if row.get(field) is not None]
    groups = [str(row["name"]) or "this run" for row in done]
    values = [float(row[field]) for row in done]
    texts = [show(value) for value in values]
    sentences = []
    trained = [index for index, group in enumerate(groups) if group != RANDOM_WEIGHTS]
    if len(trained) > 1:
        best = (min if field == "loss" else max)(trained, key=values.__getitem__)
        sentences.append(f"Best on held-out examples: {groups[best]}, {name} {texts[best]}.")
    for family, members in _families(groups, values).items():
        if len(members) < 2:
            continue
        mean, stdev = statistics.fmean(members), statistics.stdev(members)
        deviation = format_deviation(field, stdev)
        label = f"mean, {family}" if family else f"mean of {len(members)} seeds"
        groups, values, texts = [*groups, label], [*values, mean], [*texts, f"{show(mean)} ± {deviation}"]
        prefix = f"{family[:1].upper()}{family[1:]}, over" if family else "Over"
        sentences.append(
            f"{prefix} {len(members)} seeds: mean {show(mean)}, standard deviation {deviation}, "
            f"{show(min(members))} to {show(max(members))}."
        )
    baseline = (baselines or {}).get(field)
    if baseline is not None:
        groups, values, texts = [*groups, baseline_name], [*values, float(baseline)], [*texts, show(float(baseline))]
        sentences.append(f"{baseline_name[:1].upper()}{baseline_name[1:]}: {show(float(baseline))}.")
    others = sorted({key for row in done for key, value in row.items() if _is_measure(key, value)} - {field})
    padding = [None] * (len(groups) - len(done))
    return bars_payload(
        groups,
        [(name, values)],
        title="Trials" if len(done) > 1 else "Result",
        texts=[texts],
        peak=1.0,
        extra_columns=[(key, [*(row.get(key) for row in done), *padding]) for key in ["best_step", *others]],
        sentence=" ".join(sentences),
        note="Best checkpoint of each trial, evaluated on held-out examples.",
        file="trials",
    )


def _families(names: Sequence[str], values: Sequence[float]) -> dict[str, list[float]]:
    """The values of trials that differ in the seed alone, by the rest of their names."""
    families: dict[str, list[float]] = {}
    for name, value in zip(names, values, strict=True):
        parts = [part for part in name.split(", ") if not part.startswith("seed ")]
        families.setdefault(", ".join(parts), []).append(value)
    return families


def _is_measure(key: str, value: Any) -> bool:
    return isinstance(value, (int, float)) and key not in ("trial", "step", "best_step", "seconds", "tokens")
