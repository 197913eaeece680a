"""What a fine-tuned model predicts.

In reading order: `prediction` (for one example, and its file in a run), `classes` (one label a text), `label_sets`
(several labels, by thresholds), `regression_targets` (standardised while they are trained on).
"""
