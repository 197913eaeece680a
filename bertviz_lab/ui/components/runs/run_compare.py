"""Runs side by side: the settings that differ, their scores and their curves.

Its value comes from `figures.training.runs.runs_payload`. It asks its `server` for `poll(run, start)`, the events of a
run after the first `start` bytes of its log, every two seconds while one of them trains and somebody looks.

Event: `probes_done` {run_id} when a run has been asked its probes.
"""

from bertviz_lab.ui.components.assemble import Assembly

RUN_COMPARE = Assembly(
    "comparison",
    ("plot.js", "run_log.js", "curve_figure.js", "run_words.js", "run_table.js", "run_compare.js"),
    ("chart.css", "run_compare.css"),
)
