"""Tiny Town: stories written by this program, and the truth about them.

In reading order: `world` (who and what there is, what can happen), `stories` (how it is said); the words and sentences
are in world.json and plots.tsv. What a model can learn from it, as pairs of a good and a bad sentence, is
`data.probes.minimal_pairs`; questions about it are written by `benchmarks/training_data/town_questions.py`.
"""
