"""Tiny Town: stories written by this program, and the truth about them.

In reading order: `world` (who and what there is), `plots` (what can happen), `stories` (how it is said), `questions`
(what may be asked of it); the words and sentences of each are in the tables beside them. What a model can learn from
it, as pairs of a good and a bad sentence, is `data.probes.tiny_town_pairs`.
"""

from bertviz_lab.data.samples.tiny_town.stories import Story, held_out, imagine, stories

__all__ = ["Story", "held_out", "imagine", "stories"]
