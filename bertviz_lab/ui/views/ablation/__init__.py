"""Ablation study: short runs that each leave a part of the recipe out, with a prediction before the result."""
