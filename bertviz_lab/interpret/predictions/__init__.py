"""Predictions of all heads for a text.

In reading order: `predictions` (fill-mask, next sentence, classes), `joint_fill`, `token_labels` (tags, answers),
`pseudo_likelihood`, `probing` (the lab's minimal pairs), `minimal_pairs` (those of a file), `model_comparison`.
"""
