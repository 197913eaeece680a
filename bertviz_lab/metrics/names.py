"""What metrics are called on the page, and how their values are written."""

NAMES = {
    "mlm_accuracy": "MLM accuracy",
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
    "precision": "Precision",
    "recall": "Recall",
    "exact_match": "Exact match",
    "has_answer_f1": "F1 (answerable)",
    "no_answer_accuracy": "Accuracy (unanswerable)",
}


def shown(name: str, value: float) -> str:
    """A share as a percentage, any other number with three digits."""
    return f"{value:.3f}" if name in ("mrr", "mcc", "spearman", "pearson", "mae", "loss", "mse") else f"{value:.1%}"
