"""All heads of several models on one text; their value comes from `figures.interpret.side_by_side.heads_payload`."""

from bertviz_lab.ui.components.assemble import Assembly

HEADS_BESIDE = Assembly(
    "heads",
    ("attention_data.js", "attention_overview.js", "heads_beside.js"),
    ("attention_grid.css",),
)
