"""All attention heads of a model at a glance, and one of them in detail.

Its value is `figures.interpret.attention.attention_body` or `difference_body`, in a page of its own
`attention_payload` of it. `server` may answer what it asks by itself, of the computation that the value's `key`
names: `exact_values(key, layer, head)` and `layer_values(key, layer)`, see `views/attention/view.py` ({} where it is
gone), and `query_key(key, layer, head, row, column)` with `figures.interpret.attention.pair_payload`; `remembered()`
gives back what `state_change` has told.

Events: `head_select` {layer, head}, counted from 0; `state_change` with what the reader has chosen.
"""

from bertviz_lab.ui.components.assemble import Assembly

ATTENTION_GRID = Assembly(
    "attention",
    (
        "plot.js",
        "chart.js",
        "attention_data.js",
        "attention_overview.js",
        "attention_heatmap.js",
        "attention_lines.js",
        "attention_details.js",
        "attention_export.js",
        "attention_grid.js",
    ),
    ("attention_grid.css", "chart.css"),
    charts_need_server=True,  # the query-key product
)
