"""A sentence with masked tokens, and what the model would put into each.

Its value comes from `figures.interpret.predictions.fill_mask_payload`. Events: `candidate_select` {position, token,
id, chosen} when a candidate is put into the sentence or taken out, and `toggle_mask` {position, token, masked} when a
token of the sentence is clicked: `masked` is the state that is wished for. Positions count all tokens, `[CLS]` being
0.
"""

from bertviz_lab.ui.components.assemble import Assembly

FILL_MASK_BARS = Assembly("fill", ("fill_mask_bars.js",), ("fill_mask_bars.css",))
