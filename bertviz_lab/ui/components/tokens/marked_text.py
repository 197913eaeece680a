"""A running text with entities or an answer marked in it.

Its value comes from `figures.marking.marked_payload`. Event: `alternative_select` {index} when another answer is
chosen; the mark has then moved to it already.
"""

from bertviz_lab.ui.components.assemble import Assembly

MARKED_TEXT = Assembly("marked", ("marked_text.js",), ("marked_text.css",))
