"""Probes: what a model has learnt, asked with minimal pairs of which one sentence is acceptable and one is not.

In reading order: `minimal_pairs` (what a pair is), `tiny_town_pairs` (those of generated stories), `probe_sets` (which
sets there are), `selection` (which of them a vocabulary can be asked), english.tsv (pairs written for this project),
`minimal_pair_files` (those of files in BLiMP's format).
Their scores are computed by `training/pretraining/probe_scorer.py`.
"""

from bertviz_lab.data.probes.minimal_pair_files import read_minimal_pairs
from bertviz_lab.data.probes.minimal_pairs import MinimalPair
from bertviz_lab.data.probes.probe_sets import PROBES, Probes
from bertviz_lab.data.probes.selection import probes_for, probes_that_fit

__all__ = ["PROBES", "MinimalPair", "Probes", "probes_for", "probes_that_fit", "read_minimal_pairs"]
