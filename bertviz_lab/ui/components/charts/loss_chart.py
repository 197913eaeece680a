"""Live curves of a training run, or the curves of one that has ended.

Its value comes from `figures.training.curves`: `live_payload` or `replay_payload`. Which panels there are depends
on the run's objective: the losses and accuracies of pretraining, or the loss and the score of a task, with its
trials one after another; see `figures.training.panels`.

`server.poll(run_id, start)` answers {"rows": events from that place of the log on, "next": where to read on,
"state": {"status", "message"}}, or null for a run that is unknown. The first call has 0 for `start`; what the
number counts is the server's affair. It is called once a second, and again at once when it answered with 500 rows
or more, so that a long log may come in parts. The state has the last word on the status; without one the rows tell
it. Polling ends with the run.

Events: `run_changed` {run_id, status, first, step, message} when the status (starting, preparing, training,
finished, stopped, failed, missing) changes; `first` is true for the state found on arrival. `probes_done` {run_id}
when the run has been asked its probes again.
"""

from bertviz_lab.ui.components.assemble import Assembly

LOSS_CHART = Assembly(
    "loss",
    ("plot.js", "run_log.js", "run_words.js", "curve_figure.js", "loss_chart.js"),
    ("chart.css", "loss_chart.css"),
)
