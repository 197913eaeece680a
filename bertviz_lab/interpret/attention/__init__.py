"""Attention: traces, scores, head metrics, head ablation, and the tokens of two models matched.

In reading order: `trace`, `scores`, `head_metrics`, `head_ablation`, `alignment`.
"""
