"""The panels of learning curves, declared once: titles, measures, units, baselines."""

import re
from dataclasses import dataclass, replace

from bertviz_lab.figures.plots import COLORS


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
    unit: str  # a key of `UNITS`
    series: tuple[Series, ...]
    baselines: tuple[Baseline, ...] = ()
    better: int = -1  # 1 where more is better, -1 where less is, 0 where neither is
    held_out: bool = True  # whether the measures are evaluated on held-out data too
    joined: bool = False  # whether these points are joined, as where training has no such measure
    folded: bool = False  # whether it is shown on demand only


MLM = Panel(
    "mlm", "MLM loss", "masked language modeling: cross-entropy at the masked tokens, in nats; lower is better",
    "nats",
    (
        Series("causal_loss", "next token", "Next-token loss", COLORS[2]),
        Series("mlm_loss", "masked tokens", "MLM loss"),
    ),
    (Baseline("mlm_loss", "uniform baseline, ln V"), Baseline("unigram_entropy", "unigram-entropy baseline")),
)  # fmt: skip
NSP = Panel(
    "nsp", "NSP loss", "next-sentence prediction: cross-entropy of whether B follows A, in nats; lower is better",
    "nats", (Series("nsp_loss", "NSP", "NSP loss", COLORS[1]),),
    (
        Baseline("nsp_loss", "uniform baseline, ln 2"),
        Baseline("nsp_entropy", "class-prior baseline", mark="lower_baseline"),
    ),
)  # fmt: skip
ACCURACY = Panel(
    "accuracy", "Accuracy", "share of correct predictions; higher is better", "share",
    (
        Series("causal_accuracy", "next token", "Next-token accuracy", COLORS[2]),
        Series("mlm_accuracy", "masked tokens", "MLM accuracy"),
        Series("nsp_accuracy", "NSP", "NSP accuracy", COLORS[1]),
    ),
    (
        Baseline("unigram_accuracy", "unigram baseline", "mlm_accuracy"),
        Baseline("nsp_majority", "majority-class baseline", "nsp_accuracy"),
        Baseline("nsp_accuracy", "chance", "nsp_accuracy"),  # all that runs of earlier versions state
    ),
    better=1,
)  # fmt: skip
RTD = Panel(
    "rtd", "RTD loss",
    "replaced-token detection: binary cross-entropy of whether each token was replaced, in nats; it rises again where "
    "the generator's replacements become harder to tell",
    "nats", (Series("rtd_loss", "RTD", "RTD loss"),),
)  # fmt: skip
DETECTION = Panel(
    "accuracy", "Detection of replaced tokens",
    "share of tokens that are told right, most of which are original, and F1 over those that were replaced; higher is "
    "better", "share",
    (
        Series("rtd_accuracy", "RTD accuracy", "RTD accuracy"),
        Series("rtd_f1", "F1 of replaced tokens", "RTD F1", COLORS[2]),
    ),
    better=1,
)  # fmt: skip
GENERATOR = (
    replace(
        MLM, id="generator", title="Generator: MLM loss", series=(Series("mlm_loss", "MLM", "MLM loss", COLORS[1]),)
    ),
    Panel(
        "generator_accuracy", "Generator: accuracy", "share of the masked tokens that it predicts; higher is better",
        "share", (Series("mlm_accuracy", "MLM", "MLM accuracy", COLORS[1]),),
        (Baseline("unigram_accuracy", "unigram baseline"),), better=1,
    ),
)  # fmt: skip
PERPLEXITY = Panel(
    "perplexity", "MLM perplexity", "exp of the MLM loss: the number of equally likely tokens with that loss",
    "perplexity", (Series("perplexity", "masked tokens", "MLM perplexity"),),
    (Baseline("uniform_perplexity", "uniform baseline, V"), Baseline("unigram_perplexity", "unigram baseline")),
    folded=True,
)  # fmt: skip
OPTIMIZATION = tuple(
    Panel(panel_id, title, about, unit, (series,), better=0, held_out=False, folded=True)
    for panel_id, title, about, unit, series in (
        ("rate", "Learning rate", "of each step, as the schedule sets it", "rate",
         Series("learning_rate", "learning rate", "Learning rate", smooth=False)),
        ("norm", "Gradient norm", "before clipping; peaks are steps that clipping holds back", "norm",
         Series("grad_norm", "gradient norm", "Gradient norm", COLORS[1])),
        ("speed", "Throughput", "tokens per second, without padding", "tokens/s",
         Series("tokens_per_second", "tokens per second", "Tokens per second", COLORS[2])),
    )
)  # fmt: skip
PRETRAINING = (MLM, NSP, ACCURACY, PERPLEXITY)
#: The panels whose measures are compared between runs, in the order of the menu.
COMPARED = (ACCURACY, MLM, NSP, PERPLEXITY, RTD, DETECTION, *OPTIMIZATION)
_SOP_WORDS = {
    "NSP": "SOP", "next-sentence": "sentence-order", "whether B follows A": "the order of two sentences"
}  # fmt: skip


@dataclass(frozen=True)
class TaskScore:
    """What a task is judged by: (field, name), the most telling measure first, and the name of the baseline."""

    scores: tuple[tuple[str, str], ...]
    about: str
    baseline: str = "majority-class baseline"
    unit: str = "share"


#: "words" are token labels that mark no entities, which have no F1.
TASK_SCORES = {
    "classification": TaskScore((("accuracy", "accuracy"),), "share of texts with the correct label; higher is better"),
    "multilabel": TaskScore(
        (("micro_f1", "micro F1"), ("macro_f1", "macro F1")),
        "F1 over all decisions on labels (micro), and the mean over labels (macro); higher is better",
        "most-frequent-label baseline",
    ),
    "regression": TaskScore(
        (("spearman", "Spearman"), ("pearson", "Pearson")),
        "correlation of predicted and true values (Spearman, Pearson); 1 is perfect, 0 is none",
        "mean baseline",
        "correlation",
    ),
    "tokens": TaskScore(
        (("f1", "F1 of entities"),), "harmonic mean of precision and recall over entities; higher is better"
    ),
    "words": TaskScore((("accuracy", "accuracy"),), "share of words with the correct label; higher is better"),
    "qa": TaskScore(
        (("f1", "F1 of answers"), ("exact_match", "exact match")),
        "word overlap with the true answers (F1), and share of exact matches; higher is better",
        "no-answer baseline",
    ),
    "embeddings": TaskScore(
        (("mrr", "MRR"), ("recall_at_10", "recall@10"), ("spearman", "Spearman")),
        "how high the right text ranks by cosine (MRR, recall@10), or how cosines correlate with scores (Spearman)",
        "random ranking",
    ),
}


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
    "rtd": (RTD, DETECTION, *GENERATOR),
    **{name: task_panels(task) for name, task in TASK_SCORES.items()},
}
