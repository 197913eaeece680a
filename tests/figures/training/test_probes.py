"""The minimal-pair probes of a run, and of several runs, as charts."""

from typing import Any

import pytest

from bertviz_lab.data.probes import PROBES
from bertviz_lab.figures.training.runs import compared_payload, learning_payload
from tests.charts import shown

KINDS = PROBES["english"].kinds
STEPS = (0, 1, 2, 5, 10, 20, 50, 100, 200)


def done(step: int, **right: float) -> dict[str, Any]:
    """One evaluation of the probes: every kind is at chance but for those named."""
    return {"event": "ProbesDone", "step": step, "probes": "english", "right": dict.fromkeys(KINDS, 0.5) | right}


def learning(**since: int) -> list[dict[str, Any]]:
    """A run that learns some kinds: those named are passed from a step on."""
    probes = [done(step, **{kind: 0.92 for kind, at in since.items() if step >= at}) for step in STEPS]
    return [{"event": "RunStarted", "step": 0}, *probes]


def chart(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return shown(learning_payload(rows) or "null")


def test_a_probe_is_passed_in_the_last_two_evaluations() -> None:
    rows = learning(article=200, tense=100)
    assert "passes 1 of 10 probes: tense" in chart(rows)["sentence"]
    later = chart([*rows, done(210, article=0.79, tense=0.8)])
    assert "At step 210 the model passes 1 of 10 probes: tense" in later["sentence"]
    assert "80%" in later["note"]


def test_every_evaluation_is_a_column_chance_is_white_and_passed_probes_are_marked() -> None:
    body = chart(learning(article=20))
    assert "At step 200 the model passes 1 of 10 probes: article choice (a/an). Not yet: " in body["sentence"]
    assert {"✓ 92% article choice", "50% tense"} < set(body["rows"])
    assert body["columns"] == [str(step) for step in STEPS]
    (trace,) = body["figure"]["data"]
    at = list(KINDS).index("article")
    assert trace["z"][at] == pytest.approx([0.0] * 5 + [0.42] * 4)
    assert (trace["zmin"], trace["zmax"]) == (-0.5, 0.5)
    assert trace["customdata"][at][-1] == "article choice (a/an) at step 200: 92% of the pairs correct"
    # The table has the shares themselves.
    assert body["table"]["rows"][at][1:] == [0.5] * 5 + [0.92] * 4


def test_a_resumed_run_forgets_later_results_and_one_never_asked_has_no_chart() -> None:
    rows = [*learning(article=20), {"event": "RunStarted", "step": 60}, done(100), done(200)]
    body = chart(rows)
    assert body["columns"] == [str(step) for step in STEPS]
    assert "passes 0 of 10 probes." in body["sentence"]
    assert learning_payload([{"event": "RunStarted", "step": 0}]) is None
    assert compared_payload([("a", []), ("b", [])]) is None


def test_probes_of_another_version_keep_their_names_and_nothing_is_markup() -> None:
    row = done(5) | {"probes": "of a later version", "right": {"double_object": 0.5, "<b>bold</b>": 1.0}}
    body = chart([row])
    assert body["rows"] == ["50% double object", "100% <b>bold</b>"]
    assert "&lt;b&gt;" in body["figure"]["layout"]["yaxis"]["ticktext"][1]


def test_runs_are_compared_by_their_newest_probes_beside_chance() -> None:
    long = [*learning(article=20), {"event": "StepDone", "step": 5000}]
    body = shown(compared_payload([("whole", learning(article=20)), ("long", long), ("never asked", [])]) or "null")
    at = list(KINDS).index("article")
    assert [series["values"][at] for series in body["series"]] == [0.92, 0.92, None]
    # Training has gone on for long since.
    assert [series["texts"][at] for series in body["series"]] == ["92%", "92% at step 200", ""]
    (line,) = body["figure"]["layout"]["shapes"]
    assert (line["x0"], line["x1"], line["label"]["text"]) == (0.5, 0.5, "chance")
    colors = [trace["marker"]["color"] for trace in body["figure"]["data"]]
    assert colors == ["var(--run-0)", "var(--run-1)", "var(--run-2)"]


def test_probes_of_different_sets_stand_under_each_other() -> None:
    town = {"event": "ProbesDone", "step": 9, "probes": "tiny-town", "right": {"agreement": 1.0}}
    body = shown(compared_payload([("english", learning()), ("town", [town])]) or "null")
    assert body["groups"][0].endswith("(English)")
    assert body["groups"][-1].endswith("(Tiny Town)")
    assert [series["values"][-1] for series in body["series"]] == [None, 1.0]
