"""Figures of one model and one text.

In reading order: `tokens` (the input), `masking`, `predictions` (of one model or several), `attention`, `attribution`
(and head ablation), `layers` (logit lens, surprisal, norms), `embeddings`.
"""
