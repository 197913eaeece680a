"""Tiny Town: stories written by this program, and the truth about them.

In reading order: `world` (who and what there is), `plots` (what can happen), `telling` (how it is said),
`truth` (what a model can learn from it, as pairs of a good and a bad sentence), `asking` and `questions` (what may be
asked of it).
"""

from bertviz_lab.data.samples.tiny_town.telling import Story, held_out, imagine, stories
from bertviz_lab.data.samples.tiny_town.truth import KINDS, MinimalPair, minimal_pairs

__all__ = ["KINDS", "MinimalPair", "Story", "held_out", "imagine", "minimal_pairs", "stories"]
