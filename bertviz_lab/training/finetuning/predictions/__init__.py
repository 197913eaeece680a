"""What a fine-tuned model predicts.

In reading order: `prediction` (for one example, and its file in a run), `labels` (one label a text, or several by
thresholds), `regression_targets` (standardized while they are trained on).
"""
