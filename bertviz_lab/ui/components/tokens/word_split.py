"""How each word falls into tokens, step by step.

Its value comes from `figures.interpret.word_splits.splitting_payload`.
"""

from bertviz_lab.ui.components.assemble import Assembly

WORD_SPLIT = Assembly("split", ("word_split.js",), ("word_split.css",))
