"""Learning curves: the panels as figures, and the payloads that bring them to the page."""

import itertools
import json

import pytest

from bertviz_lab.config.finetune import TASKS
from bertviz_lab.figures.training.curves import compared_panels, live_payload, panel_figure, replay_payload
from bertviz_lab.figures.training.panels import DECLARED, OPTIMIZATION, PANELS, Panel
from tests.ui.components.harness import ending, events
from tests.ui.components.tuned import task_events


def test_the_page_is_sent_the_panels_of_a_run_s_objective() -> None:
    def titles(payload: str) -> dict[str, list[str]]:
        return {name: [panel["title"] for panel in panels] for name, panels in json.loads(payload)["panels"].items()}

    optimization = ["Learning rate", "Gradient norm", "Throughput"]
    pretraining = ["MLM loss", "NSP loss", "Accuracy", "MLM perplexity", *optimization]
    assert titles(replay_payload(events(5))) == {"mlm": pretraining}
    assert titles(live_payload("abc", objective="mlm+sop"))["mlm+sop"][1] == "SOP loss"
    scores = ["Loss", "Score: F1 of answers, exact match"]
    assert titles(live_payload("abc", objective="qa"))["qa"] == [*scores, *optimization]
    # Which task it is may not be known before the data are read.
    assert titles(live_payload("abc")).keys() == PANELS.keys() >= set(TASKS)


@pytest.mark.parametrize("panel", [panel for panels in PANELS.values() for panel in (*panels, *OPTIMIZATION)])
def test_each_trace_of_a_panel_says_which_values_it_draws(panel: Panel) -> None:
    figure = panel_figure(panel)
    drawn = [(trace.meta["field"], trace.meta["role"]) for trace in figure.data]
    assert len(set(drawn)) == len(drawn)
    assert {field for field, _ in drawn} == {series.field for series in panel.series}
    assert ("held-out" in {role for _, role in drawn}) == panel.held_out
    assert all(trace.x is None and trace.y is None for trace in figure.data)
    assert panel.unit in DECLARED["units"]


def test_compared_runs_have_a_color_a_symbol_and_a_place_in_the_legend_each() -> None:
    runs = [("a <b>", "var(--run-0)", "circle"), ("b", "var(--run-1)", "square")]
    panels = {panel["id"]: panel for panel in compared_panels(runs)}
    assert list(panels)[:3] == ["mlm_accuracy", "nsp_accuracy", "mlm_loss"]
    assert not [name for name in panels if name.startswith("causal")]
    for panel in panels.values():
        traces = panel["figure"]["data"]
        named = [trace for trace in traces if trace["showlegend"]]
        assert [trace["name"] for trace in named] == ["a &lt;b&gt;", "b"]
        assert [trace["line"]["color"] for trace in named] == ["var(--run-0)", "var(--run-1)"]
    symbols = [t["marker"]["symbol"] for t in panels["mlm_loss"]["figure"]["data"] if t["meta"]["role"] == "held-out"]
    assert symbols == ["circle", "square"]
    assert [line["name"] for line in panels["nsp_accuracy"]["baselines"]] == ["majority-class baseline", "chance"]
    assert [line["name"] for line in panels["mlm_accuracy"]["baselines"]] == ["unigram baseline"]


def test_long_log_is_thinned_evenly_with_its_ends_and_evaluations():
    rows = [*events(5000, total=5000), ending(5000)]
    kept = json.loads(replay_payload(rows, max_steps=300))["rows"]
    steps = [row["step"] for row in kept if row["event"] == "StepDone"]
    assert len(steps) == 300
    assert (steps[0], steps[-1]) == (1, 5000)
    assert max(second - first for first, second in itertools.pairwise(steps)) <= 18
    assert sum(row["event"] == "EvalDone" for row in kept) == 10
    assert [row["event"] for row in kept][-1] == "RunFinished"


def test_thinning_loses_no_kind_of_value() -> None:
    # Each eighth step alone has masked words; a selection of each eighth could miss them all.
    rows = events(1601, total=1601, forwards=1601)
    kept = [row for row in json.loads(replay_payload(rows, max_steps=201))["rows"] if row["event"] == "StepDone"]
    assert len(kept) == 201
    assert sum("mlm_loss" in row for row in kept) >= 200
    assert sum("causal_loss" in row for row in kept) >= 200
    by_step = {row["step"]: row for row in rows if row["event"] == "StepDone"}
    assert all(row["loss"] == by_step[row["step"]]["loss"] for row in kept)


def test_trials_are_kept_and_thinning_takes_nothing_from_one_into_the_next() -> None:
    rows = task_events("classification", ("seed 0", "seed 1"), steps=400)
    kept = json.loads(replay_payload(rows, max_steps=60))["rows"]
    assert [row["name"] for row in kept if row["event"] == "TrialStarted"] == ["seed 0", "seed 1"]
    assert sum(row["event"] == "TrialDone" for row in kept) == 2
    # A measure that only the first trial has stays there.
    first = [row | {"own": 1.0} if row["event"] == "StepDone" and row["step"] <= 400 else row for row in rows]
    thinned = json.loads(replay_payload(first, max_steps=60))["rows"]
    steps = [row for row in thinned if row["event"] == "StepDone"]
    assert all(("own" in row) == (row["step"] <= 400) for row in steps)
