"""The tokens of a text with rows of numbers under them.

Its value comes from `figures.training.scores.scores_payload`. Event: `token_select` {position}.
"""

from bertviz_lab.ui.components.assemble import Assembly

SCORES = Assembly("scores", ("picture.js", "strip.js", "scores.js"), ("strip.css",))
