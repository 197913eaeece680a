"""Probes: what a model has learned, tested with minimal pairs of an acceptable and an unacceptable sentence.

In reading order: `minimal_pairs` (what a pair is, and those of generated stories), `probe_sets` (which sets there are,
which of them a vocabulary can be asked, files in BLiMP's format), phenomena.json (their kinds), english.tsv (pairs
written for this project). Their scores are computed by `training/pretraining/probe_scorer.py`. `probing_tasks`: words
with labels (town_words.tsv), for classifiers that are trained on hidden states.
"""

from bertviz_lab.data.probes.minimal_pairs import MinimalPair
from bertviz_lab.data.probes.probe_sets import PROBES, Probes, probes_for, probes_that_fit, read_minimal_pairs

__all__ = ["PROBES", "MinimalPair", "Probes", "probes_for", "probes_that_fit", "read_minimal_pairs"]
