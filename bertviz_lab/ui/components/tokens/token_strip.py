"""The tokens of a text with rows of words or numbers under them: an input, its masking, scores of its tokens.

Its value comes from `figures.strips.scores_payload`. Event: `token_select` {position} when a token is clicked.
"""

from bertviz_lab.ui.components.assemble import Assembly

TOKEN_STRIP = Assembly("tokens", ("strip.js", "token_strip.js"), ("strip.css",))
