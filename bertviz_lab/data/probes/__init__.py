"""Probes: what has a model learnt, asked with pairs of sentences of which one is right and one is not.

`sets` (which pairs there are), `choosing` (which of them a vocabulary can be asked), english.tsv (those written for
this project).
"""

from bertviz_lab.data.probes.choosing import probes_for, probes_that_fit
from bertviz_lab.data.probes.sets import PROBES, Probes

__all__ = ["PROBES", "Probes", "probes_for", "probes_that_fit"]
