"""Probes: what a model has learnt, asked with minimal pairs of which one sentence is acceptable and one is not.

In reading order: `minimal_pairs` (what a pair is), `tiny_town_pairs` (those of generated stories), `probe_sets` (which
sets there are), `selection` (which of them a vocabulary can be asked), english.tsv (pairs written for this project).
Their scores are computed by `training/pretraining/probe_scorer.py`.
"""

from bertviz_lab.data.probes.minimal_pairs import MinimalPair
from bertviz_lab.data.probes.probe_sets import PROBES, Probes
from bertviz_lab.data.probes.selection import probes_for, probes_that_fit

__all__ = ["PROBES", "MinimalPair", "Probes", "probes_for", "probes_that_fit"]
