"""Learning curves and training dynamics: panels, charts, and the payloads that bring them to the page."""

import base64
import dataclasses
import itertools
import json
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bertviz_lab import interpret
from bertviz_lab.config.finetune import TASKS
from bertviz_lab.figures.training.curves import FURNITURE, live_payload, replay_payload
from bertviz_lab.figures.training.dynamics import curve_body, frame_payload, opening_payload, plane_body
from bertviz_lab.figures.training.panels import DECLARED, PANELS
from bertviz_lab.figures.training.runs import RunView, runs_payload
from tests.charts import curve_figure, loss_chart, snapshot_charts
from tests.little import little_checkpoint
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


PANEL_BODIES = [panel for panels in json.loads(live_payload("abc"))["panels"].values() for panel in panels]


@pytest.mark.parametrize("panel", PANEL_BODIES, ids=lambda panel: panel["title"])
def test_each_trace_of_a_panel_says_which_values_it_draws(panel: dict[str, Any]) -> None:
    fields = [series["field"] for series in panel["series"]]
    step = {"step": 1, "seconds": 1.0, "tokens": 10, "trial": ""} | dict.fromkeys(fields, 0.5)
    figure = curve_figure(panel, [[step | {"event": "StepDone"}, step | {"event": "EvalDone"}]], FURNITURE)
    drawn = [(trace["meta"]["field"], trace["meta"]["role"]) for trace in figure["data"]]
    assert len(set(drawn)) == len(drawn)
    assert {field for field, _ in drawn} == set(fields)
    assert ("held-out" in {role for _, role in drawn}) == panel["held_out"]
    assert figure["layout"]["yaxis"]["tickformat"] == DECLARED["units"][panel["unit"]]["tickformat"]


def test_compared_runs_have_a_color_a_symbol_and_a_place_in_the_legend_each() -> None:
    views = [RunView("", name, {}, events(20)) for name in ("a <b>", "b")]
    payload = json.loads(runs_payload(views))
    panels = {panel["id"]: panel for panel in payload["panels"]}
    assert list(panels)[:3] == ["mlm_accuracy", "nsp_accuracy", "mlm_loss"]
    assert not [name for name in panels if name.startswith("causal")]
    for panel in panels.values():
        traces = curve_figure(panel, [run["rows"] for run in payload["runs"]], payload)["data"]
        named = [trace for trace in traces if trace["showlegend"]]
        assert [trace["name"] for trace in named] == ["a &lt;b&gt;", "b"]
        assert [trace["line"]["color"] for trace in named] == ["var(--run-0)", "var(--run-1)"]
    traces = curve_figure(panels["mlm_loss"], [view.rows for view in views], payload)["data"]
    assert [t["marker"]["symbol"] for t in traces if t["meta"]["role"] == "held-out"] == ["circle", "square"]
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


TEXT = "the red [MASK] sat on the mat"


def test_a_frame_can_be_read_back():
    checkpoint = little_checkpoint()
    tracked = [checkpoint.tokenizer.id("cat")]
    found = interpret.analyze_snapshot(checkpoint, TEXT, tracked=tracked, projected=tracked)
    body = json.loads(frame_payload(found, 500))
    assert body["step"] == 500
    grid = body["grid"]
    cells = np.frombuffer(base64.b64decode(grid["cells"]), np.uint8).reshape(found.attentions.shape)
    np.testing.assert_allclose((cells / 255) ** 2, found.attentions, atol=0.005)
    assert body["joined"] == [True, True]
    assert grid["metrics"]["previous"] == np.round(found.heads["previous"], 5).tolist()
    assert set(grid["metrics"]) == set(found.heads) - {"across"}  # there is no other sentence
    (blank,) = body["masked_tokens"]
    assert [token for token, _ in blank["candidates"]] == [one.token for one in found.masked_tokens[0].candidates]
    (asked,) = found.masked_tokens[0].tracked
    assert blank["watched"] == [[pytest.approx(asked.probability, rel=0.01), asked.rank]]
    assert [token for token, _ in blank["layers"]] == [one.token for one in found.masked_tokens[0].layers[::-1]]
    best = found.masked_tokens[0].candidates[0]
    assert body["spoken"] == f"{best.token.removeprefix('##')} {best.probability:.0%}"
    assert found.losses is not None
    assert [math.nan if one is None else one for one in body["losses"]] == pytest.approx(
        found.losses.tolist(), abs=1e-3, nan_ok=True
    )
    vectors = np.frombuffer(base64.b64decode(body["vectors"]), np.int16) / 32767
    np.testing.assert_allclose(vectors, found.vectors[0], atol=1e-4)
    assert body["is_next"] is None
    assert (body["labels"], body["words"], body["answer"]) == ([], [], None)


def opening(analysis, *, tracked=(), projected=(), steps=(0, 1), curve=(), **more):
    plane = plane_body(np.eye(3), interpret.embedding_plane(np.eye(3)))
    options = {"labels": (), "question": {}, "live": False, "title": "h", "plane": plane, "vocab_size": 200} | more
    given = {"steps": steps, "tracked": tracked, "projected": projected, "curve": curve_body(curve)}
    first = frame_payload(analysis, 1)
    return opening_payload(analysis, **given, first=first, **options)


def test_an_opening_holds_the_first_frame_and_what_a_person_typed_is_only_text():
    found = interpret.analyze_snapshot(little_checkpoint(), "</script><b>")
    payload = opening(found, question={"history": "h", "a": "</script><b>"}, live=True)
    assert "<" not in payload
    body = json.loads(payload)
    assert (body["first"]["step"], body["question"]["a"], body["live"]) == (1, "</script><b>", True)


def test_an_opening_has_a_chart_for_each_thing_that_is_followed_over_the_steps():
    found = interpret.analyze_snapshot(little_checkpoint(), TEXT)
    body = json.loads(opening(found, tracked=("cat", "##s", "<b>"), projected=("cat", "dog"), curve=rows([1, 2, 4])))
    assert body["follows"] == "words"
    assert "".join(before + text for before, text in body["sentence"]) == TEXT
    assert body["start"]["rows"] == [found.masked_tokens[0].position]
    charts = snapshot_charts(body)
    for name in ("tracked", "rank"):
        chart = charts[name]
        assert [key for key, _ in chart["keys"]] == ["cat", "s", "<b>"]
        assert len(chart["figure"]["data"]) == 3
        assert "&lt;b&gt;" in chart["figure"]["data"][2]["hovertemplate"]
    assert charts["rank"]["figure"]["layout"]["yaxis"]["range"] == [pytest.approx(math.log10(200)), 0]
    assert len(charts["head_shares"]["figure"]["data"]) == 1 + body["layers"]
    assert charts["map"]["figure"]["data"][-1]["text"] == ["cat", "dog"]
    assert charts["loss"]["figure"]["data"][0]["y"] == [7.0, 3.5, 1.75]
    # The slider stands exactly under all lines.
    for name in ("loss", "tracked", "head_numbers", "losses"):
        margin = charts[name]["figure"]["layout"]["margin"]
        assert (margin["l"], margin["r"]) == (52, 18)


def test_without_a_masked_token_labels_next_sentence_and_answer_are_followed():
    def followed(**results):
        analysis = dataclasses.replace(interpret.analyze_snapshot(little_checkpoint(), "the red cat"), **results)
        body = json.loads(opening(analysis, labels=("bad", "good") if "labels" in results else ()))
        return body["follows"], [name for name, _ in snapshot_charts(body)["tracked"]["keys"]]

    assert followed() == ("", [])
    assert followed(is_next=0.5) == ("next", ["B follows A"])
    assert followed(labels=(SimpleNamespace(label="bad", score=0.4), SimpleNamespace(label="good", score=0.6))) == (
        "labels",
        ["bad", "good"],
    )


def lines_of(steps, points):
    """The axis of snapshots at these steps, and the places on it of a curve with these points."""
    curve = curve_body([]) | {"trained": [[step, 1.0, 0.0, 0] for step in points]}
    charts = loss_chart({"steps": steps, "curve": curve})
    return charts["axis"], [x for line in charts["loss"]["figure"]["data"] for x in line["x"]]


def test_snapshots_stand_at_even_distances_and_steps_between_them_by_their_logarithm():
    axis, (*at_snapshots, third, eighth, last) = lines_of((0, 1, 10, 100), (0, 1, 10, 100, 3, 8, 1000))
    assert at_snapshots == [0, 1, 2, 3]
    assert 1 < third < 1.5 < eighth < 2
    assert third == pytest.approx(1 + (math.log(4) - math.log(2)) / (math.log(11) - math.log(2)))
    assert axis["range"] == [0, last]
    assert last > 4  # ahead of the newest snapshot
    assert axis["tickvals"] == [0, 1, 2, 3]
    assert lines_of((7,), ())[0]["range"] == [0, 1]
    ticks, _ = lines_of((0, 500, 1500, 20_000, 2_500_000), ())
    assert ticks["ticktext"] == ["0", "500", "1.5K", "20K", "2.5M"]


def test_the_loss_chart_has_a_line_for_each_kind_and_the_baseline():
    curve = curve_body([*rows([1, 2, 4]), {"event": "StepDone", "step": 3, "causal_loss": 6.5}])
    chart = loss_chart({"steps": (0, 1, 2, 4), "curve": curve})["loss"]
    assert [name for name, _ in chart["keys"]] == ["training", "held-out", "next token (causal-LM warm-up)"]
    training, held, _ = chart["figure"]["data"]
    assert (training["x"], training["customdata"]) == ([1, 2, 3], [1, 2, 4])
    assert (held["x"], held["y"]) == ([3], [1.5])
    assert [shape["y0"] for shape in chart["figure"]["layout"]["shapes"]] == [4.7]
    assert chart["figure"]["layout"]["annotations"][0]["text"] == "unigram-entropy baseline"
    assert chart["table"]["header"] == ["curve", "step", "loss", "seconds", "tokens"]
    assert chart["table"]["rows"][0] == ["training", 1, 7.0, 0.1, 1]
    assert chart["table"]["rows"][3] == ["held-out", 4, 1.5, None, None]


def rows(steps, **more):
    return [
        {"event": "RunStarted", "step": 0, "objective": "mlm+nsp", "baselines": {"unigram_entropy": 4.7}},
        *(
            {"event": "StepDone", "step": step, "loss": 9.0, "mlm_loss": 7 / step, "seconds": step / 10, "tokens": step}
            | more
            for step in steps
        ),
        {"event": "EvalDone", "step": steps[-1], "mlm_loss": 1.5},
        {"event": "RunFinished", "step": steps[-1], "reason": "finished"},
    ]


def test_a_long_curve_is_taken_together_by_the_logarithm_of_the_step():
    body = curve_body(rows(range(1, 20_001)), max_points=50)
    steps = [point[0] for point in body["trained"]]
    assert len(steps) <= 51
    assert (steps[0], steps[-1]) == (1, 20_000)
    assert sum(step < 1000 for step in steps) > 25
