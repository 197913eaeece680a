"""Figures of one model and one text, a file for each analysis.

`tokens` and `word_splits` (the input), `masking`, `predictions`, `attention`, `head_ablation`, `attribution`,
`logit_lens` (and surprisal), `norms`, `embeddings`, `comparison` and `side_by_side` (several models).
"""
