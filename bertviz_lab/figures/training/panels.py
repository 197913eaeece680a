"""The panels of learning curves, declared once in panels.toml: titles, measures, baselines, units, axes, marks."""

import re
import tomllib
from dataclasses import dataclass, replace
from importlib import resources

from pydantic import TypeAdapter

#: The data colors of the page; two of them also differ in lightness.
COLORS = ("var(--lab-a)", "var(--lab-b)", "var(--lab-kept)", "var(--lab-mask)")


@dataclass(frozen=True)
class Series:
    """One measure: its field in the log, its name in its panel, and what it is called alone."""

    field: str
    name: str
    label: str
    color: str = COLORS[0]
    smooth: bool = True


@dataclass(frozen=True)
class Baseline:
    """A dashed line at what the run states under `key`; with `field` only beside that measure.

    One that may lie close below another is a `lower_baseline`, with its name under it.
    """

    key: str
    name: str
    field: str = ""
    mark: str = "baseline"


@dataclass(frozen=True)
class Panel:
    """Measures in one frame."""

    id: str
    title: str
    about: str
    unit: str  # one of those in panels.toml
    series: tuple[Series, ...]
    baselines: tuple[Baseline, ...] = ()
    better: int = -1  # 1 where more is better, -1 where less is, 0 where neither is
    held_out: bool = True  # whether the measures are evaluated on held-out data too
    joined: bool = False  # whether these points are joined, as where training has no such measure
    folded: bool = False  # whether it is shown on demand only


@dataclass(frozen=True)
class TaskScore:
    """What a task is judged by: (field, name), the most telling measure first, and the name of the baseline."""

    scores: tuple[tuple[str, str], ...]
    about: str
    baseline: str = "majority-class baseline"
    unit: str = "share"


DECLARED = tomllib.loads((resources.files(__package__) / "panels.toml").read_text(encoding="utf-8"))
_PANELS = TypeAdapter(dict[str, tuple[Panel, ...]]).validate_python(DECLARED["panels"])
OPTIMIZATION = _PANELS["optimization"]
_MLM, _NSP, _ACCURACY, _PERPLEXITY = PRETRAINING = _PANELS["mlm"]
#: The panels whose measures are compared between runs, in the order of the menu.
COMPARED = (_ACCURACY, _MLM, _NSP, _PERPLEXITY, *_PANELS["rtd"][:2], *OPTIMIZATION)
TASK_SCORES = TypeAdapter(dict[str, TaskScore]).validate_python(DECLARED["tasks"])
_SOP_WORDS = {
    "NSP": "SOP", "next-sentence": "sentence-order", "whether B follows A": "the order of two sentences"
}  # fmt: skip


def task_panels(task: TaskScore) -> tuple[Panel, ...]:
    """Return the loss and the scores of a fine-tuning."""
    loss_baseline = task.baseline if task.unit == "correlation" else "class-prior baseline"
    loss = Panel("loss", "Loss", "the training objective; lower is better", "nats", (Series("loss", "loss", "Loss"),),
                 (Baseline("loss", loss_baseline),))  # fmt: skip
    title = f"Score: {', '.join(name for _, name in task.scores)}"
    series = [
        Series(field, name, name[:1].upper() + name[1:], color)
        for (field, name), color in zip(task.scores, COLORS, strict=False)
    ]
    several = len(series) > 1
    baselines = [Baseline(s.field, f"{s.name}, {task.baseline}" if several else task.baseline) for s in series]
    scores = Panel("score", title, task.about, task.unit, (*series,), (*baselines,), better=1, joined=True)
    return loss, scores


def in_words_of_sop(panel: Panel) -> Panel:
    """Reword a panel about NSP for sentence-order prediction."""

    def reworded(text: str) -> str:
        return re.sub("|".join(_SOP_WORDS), lambda words: _SOP_WORDS[words[0]], text)

    series = tuple(replace(s, name=reworded(s.name), label=reworded(s.label)) for s in panel.series)
    return replace(panel, title=reworded(panel.title), about=reworded(panel.about), series=series)


#: The panels of each objective; those of `OPTIMIZATION` follow in all of them.
PANELS: dict[str, tuple[Panel, ...]] = {
    "mlm": PRETRAINING,
    "mlm+sop": tuple(in_words_of_sop(panel) for panel in PRETRAINING),
    "rtd": _PANELS["rtd"],
    **{name: task_panels(task) for name, task in TASK_SCORES.items()},
}
