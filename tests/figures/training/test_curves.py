"""Payloads of the loss chart."""

import itertools
import json

from bertviz_lab.data.probes import PROBES
from bertviz_lab.figures.training.curves import live_payload, replay_payload
from tests.ui.components.harness import ending, events
from tests.ui.components.tuned import task_events


def test_following_again_needs_another_mark():
    assert live_payload("abc") == live_payload("abc")
    assert live_payload("abc", mark="2") != live_payload("abc")
    body = json.loads(live_payload("abc", "A run"))
    assert {name: body[name] for name in ("run_id", "title", "mark")} == {"run_id": "abc", "title": "A run", "mark": ""}


def test_the_chart_is_told_in_words_what_is_asked():
    for payload in (live_payload("abc"), replay_payload(events(5))):
        probes = json.loads(payload)["probes"]
        assert probes["english"]["kinds"]["agreement"] == PROBES["english"].kinds["agreement"]
        assert probes.keys() == PROBES.keys()


def test_replay_keeps_what_the_chart_draws():
    rows = [*events(20), {"event": "CheckpointSaved", "step": 20, "path": "x"}, ending(20)]
    kept = json.loads(replay_payload(rows))["rows"]
    assert kept == [row for row in rows if row["event"] != "CheckpointSaved"]


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
