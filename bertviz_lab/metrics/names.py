"""Names of metrics, the main one of each task, and the format of their values on the page and in model cards."""

NAMES = {
    "mlm_loss": "MLM loss (nats)",
    "mlm_accuracy": "MLM accuracy",
    "nsp_loss": "NSP loss (nats)",
    "nsp_accuracy": "NSP accuracy",
    "nsp_accuracy_se": "NSP accuracy, standard error",
    "nsp_majority": "NSP accuracy, majority-class baseline",
    "rtd_loss": "RTD loss (nats a token)",
    "rtd_accuracy": "RTD accuracy",
    "rtd_f1": "RTD F1",
    "accuracy": "Accuracy",
    "f1": "F1",
    "macro_f1": "Macro F1",
    "micro_f1": "Micro F1",
    "subset_accuracy": "Subset accuracy",
    "mrr": "MRR",
    "recall_at_1": "Recall@1",
    "recall_at_5": "Recall@5",
    "recall_at_10": "Recall@10",
    "mcc": "MCC",
    "spearman": "Spearman",
    "pearson": "Pearson",
    "mae": "Mean absolute error",
    "mse": "Mean squared error",
    "precision": "Precision",
    "recall": "Recall",
    "exact_match": "Exact match",
    "has_answer_f1": "F1 (answerable)",
    "no_answer_accuracy": "Accuracy (unanswerable)",
    "best_f1": "F1 at the best threshold",
    "best_f1_threshold": "Best threshold",
    "loss": "Loss",
}
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
_PLAIN = (*_LOSSES, "mrr", "mcc", "spearman", "pearson", "mae", "mse", "best_f1_threshold")


def format_score(name: str, value: float) -> str:
    """Return a share as a percentage, any other number with three digits."""
    return f"{value:.3f}" if name in _PLAIN else f"{value:.1%}"


def named_score(name: str, value: float) -> str:
    """Return name and value, such as "F1 78.8%"."""
    return f"{NAMES[name]} {format_score(name, value)}"


def format_deviation(name: str, value: float) -> str:
    """Return a standard deviation in the format of its score: of shares in points."""
    return f"{value:.3f}" if name in _PLAIN else f"{100 * value:.1f} points"
