"""Attention: traces, head metrics and head ablation.

In reading order: `trace`, `head_metrics`, `head_ablation`.
"""
