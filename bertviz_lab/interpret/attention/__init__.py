"""Attention: every stage of every layer, what heads do, and what a prediction owes to them.

In reading order: `trace`, `head_metrics`, `head_ablation`.
"""
