"""One slider over a training, and everything that a model makes of a text moving with it.

Its value comes from `figures.training.dynamics.opening_payload`. It asks its `server` for `frame(question, step)`,
answered by `frame_payload`, once for each step, those nearest to the slider first; while the run trains also for
`news(question, last step)`. Event: `look` {step, layer, head}, those of them that a person has changed.
"""

from bertviz_lab.ui.components.assemble import Assembly

_OWN = ("frames", "timeline", "predictions", "attention", "charts", "scrubber")

SCRUBBER = Assembly(
    "scrubber",
    (
        *("plot.js", "chart.js"),
        *("attention_data.js", "attention_overview.js", "attention_heatmap.js"),
        *(f"views/dynamics/{name}.js" for name in _OWN),
    ),
    ("attention_grid.css", "chart.css", "views/dynamics/scrubber.css"),
)
