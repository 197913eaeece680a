"""The trials of a run as a chart: the same with other seeds, other settings, or from random weights."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from bertviz_lab.figures.charts import bars_payload
from bertviz_lab.figures.payload import Payload, message_payload

#: The measure that each task is judged by, and what it is called.
MAIN_MEASURES: dict[str, tuple[tuple[str, str], ...]] = {
    "classification": (("accuracy", "accuracy"),),
    "regression": (("spearman", "rank correlation"),),
    "tokens": (("f1", "F1 of entities"), ("accuracy", "accuracy")),  # labels that mark no entities have no F1
    "qa": (("f1", "F1 of answers"),),
}
#: What the baseline of each task does, where it is not this.
_GUESSES = {"regression": "mean baseline", "qa": "no-answer baseline"}
RANDOM_WEIGHTS = "random weights"  # the name of a trial that a run never keeps beside others
#: Scores that are no shares of one.
_PLAIN = ("loss", "mcc", "pearson", "spearman", "mse", "mae")


def trials_payload(
    rows: Sequence[Mapping[str, Any]],
    task: str = "classification",
    *,
    baselines: Mapping[str, float] | None = None,
    guess: str = "",
    measure: str = "",
) -> Payload:
    """What each trial of a run came to, and what guessing would: bars of the task's main measure.

    `rows` are `TrialDone` events as `events.jsonl` holds them; `baselines` those of `RunStarted`, and `guess` says
    what they do, by default what the task's baseline is. `measure` is the score by which the best is told, by default
    the task's. Trials whose names differ in the seed alone are summed up as mean and standard deviation.
    """
    guess = guess or _GUESSES.get(task, "majority-class baseline")
    wanted = dict(MAIN_MEASURES[task])
    pairs = [(measure, wanted.get(measure, measure.replace("_", " ")))] if measure else MAIN_MEASURES[task]
    found = next((pair for pair in pairs if any(row.get(pair[0]) is not None for row in rows)), None)
    if found is None:
        return message_payload("No trial has ended yet.")
    field, name = found
    show = (lambda value: f"{value:.3f}") if field in _PLAIN else (lambda value: f"{value:.1%}")
    done = [row for row in rows if row.get(field) is not None]
    groups = [str(row["name"]) or "this run" for row in done]
    values = [float(row[field]) for row in done]
    texts = [show(value) for value in values]
    sentences = []
    rivals = [place for place, group in enumerate(groups) if group != RANDOM_WEIGHTS]
    if len(rivals) > 1:
        best = (min if field == "loss" else max)(rivals, key=values.__getitem__)
        sentences.append(f"Best on held-out examples: {groups[best]}, {name} {texts[best]}.")
    for family, members in _families(groups, values).items():
        if len(members) < 2:
            continue
        mean, spread = statistics.fmean(members), statistics.stdev(members)
        wide = f"{spread:.3f}" if field in _PLAIN else f"{100 * spread:.1f} points"
        label = f"mean, {family}" if family else f"mean of {len(members)} seeds"
        groups, values, texts = [*groups, label], [*values, mean], [*texts, f"{show(mean)} ± {wide}"]
        whose = f"{family[:1].upper()}{family[1:]}, over" if family else "Over"
        sentences.append(
            f"{whose} {len(members)} seeds: mean {show(mean)}, standard deviation {wide}, "
            f"{show(min(members))} to {show(max(members))}."
        )
    chance = (baselines or {}).get(field)
    if chance is not None:
        groups, values, texts = [*groups, guess], [*values, float(chance)], [*texts, show(float(chance))]
        sentences.append(f"{guess[:1].upper()}{guess[1:]}: {show(float(chance))}.")
    others = sorted({key for row in done for key, value in row.items() if _is_measure(key, value)} - {field})
    blank = [None] * (len(groups) - len(done))
    return bars_payload(
        groups,
        [(name, values)],
        title="Trials" if len(done) > 1 else "Result",
        texts=[texts],
        peak=1.0,
        beside=[(key, [*(row.get(key) for row in done), *blank]) for key in ["best_step", *others]],
        sentence=" ".join(sentences),
        note="Best checkpoint of each trial, evaluated on held-out examples.",
        file="trials",
    )


def _families(names: Sequence[str], values: Sequence[float]) -> dict[str, list[float]]:
    """The values of trials that differ in their seed alone, under the rest of their names."""
    families: dict[str, list[float]] = {}
    for name, value in zip(names, values, strict=True):
        parts = [part for part in name.split(", ") if not part.startswith("seed ")]
        families.setdefault(", ".join(parts), []).append(value)
    return families


def _is_measure(key: str, value: Any) -> bool:
    return isinstance(value, (int, float)) and key not in ("trial", "step", "best_step", "seconds", "tokens")
