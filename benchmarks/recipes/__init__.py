"""Pretraining recipes beside each other: what `benchmarks.recipe_sweep` runs.

In reading order: `variants` (which recipes), `clock` (equal cost on a busy machine), `embeddings` and `objectives`
(what is only tried here), `training` (a run), `scores` (what a model is worth, whatever its vocabulary), `table` (what
won, what lost, and what is within the noise).
"""
