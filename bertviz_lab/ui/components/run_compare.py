"""Runs side by side: the settings that differ, their scores, their curves, and their probe results.

Its value comes from `figures.training.runs.runs_payload`. It asks its `server` for `poll(run, start)`, the events of a
run after the first `start` bytes of its log, every two seconds while one of them trains and somebody looks.
"""

from bertviz_lab.ui.components.assemble import Assembly

RUN_COMPARE = Assembly(
    "comparison",
    (
        *("picture.js", "chart_shapes.js", "loss_panels.js", "loss_trials.js", "loss_data.js"),
        *("run_marks.js", "run_table.js", "run_curves.js", "run_probes.js", "run_compare.js"),
    ),
    ("run_compare.css",),
)
