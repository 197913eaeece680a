"""What the model is given in place of a text: pieces, ids, segments, positions, attention mask.

Its value comes from `figures.interpret.tokens.token_payload`. Event: `token_select` {position} when a token is clicked.
"""

from bertviz_lab.ui.components.assemble import Assembly

TOKEN_STRIP = Assembly("tokens", ("picture.js", "strip.js", "token_strip.js"), ("strip.css",))
