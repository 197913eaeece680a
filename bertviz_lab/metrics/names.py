"""Names of metrics, the main one of each task, and the format of their values on the page and in model cards."""

import tomllib
from pathlib import Path

#: Metric -> its name, for every score that a report or an event can hold.
NAMES: dict[str, str] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
#: Task -> the scores by which models and runs are compared unless another is chosen: the first that there is.
METRICS = {
    "classification": ("accuracy",),
    "multilabel": ("micro_f1",),
    "regression": ("spearman", "pearson"),
    "tokens": ("f1", "accuracy"),
    "qa": ("f1",),
    "embeddings": ("mrr", "spearman"),
}

_LOSSES = ("loss", "mlm_loss", "nsp_loss", "rtd_loss")
_PLAIN = (*_LOSSES, "mrr", "mcc", "spearman", "pearson", "mae", "mse", "best_f1_threshold", "bits_per_character")


def format_score(name: str, value: float) -> str:
    """Return a share as a percentage, any other number with three digits."""
    return f"{value:.3f}" if name in _PLAIN else f"{value:.1%}"


def named_score(name: str, value: float) -> str:
    """Return name and value, such as "F1 78.8%"."""
    return f"{NAMES[name]} {format_score(name, value)}"


def format_deviation(name: str, value: float) -> str:
    """Return a standard deviation in the format of its score: of shares in points."""
    return f"{value:.3f}" if name in _PLAIN else f"{100 * value:.1f} points"
