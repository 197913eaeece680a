"""What BERT's masking did to a text, token by token.

Its value comes from `figures.interpret.masking.masking_payload`. Event: `token_select` {position} when a token is
clicked.
"""

from bertviz_lab.ui.components.assemble import Assembly

MASKING_STRIP = Assembly("masking", ("picture.js", "strip.js", "masking_strip.js"), ("strip.css",))
