"""Runs beside each other, their probes, and what came of leaving something out, as charts."""

import dataclasses
import json
from typing import Any

import pytest

from bertviz_lab.config import PretrainConfig
from bertviz_lab.config.ablations import ABLATIONS, PREDICTIONS
from bertviz_lab.data.probes import PROBES
from bertviz_lab.figures.training.ablation_study import outcome, recipe_payload
from bertviz_lab.figures.training.runs import (
    RunView,
    comparable,
    compared_payload,
    differing,
    learning_payload,
    runs_payload,
)
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
    assert body["csv"][at + 1] == ["article choice (a/an)", *[0.5] * 5, *[0.92] * 4], "a name is a name in the file"
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


def settings(**changes):
    return dataclasses.asdict(PretrainConfig(**({"corpus": ("sample:tiny-town",)} | changes)))


def test_only_what_differs_in_learning_is_told_and_a_time_where_it_is_the_limit():
    other = settings(steps=300, position_embeddings=False, layers=1, corpus=("a/b.txt",), threads=3, eval_every=1.0)
    assert dict(differing([settings(steps=2000), other])) == {
        "steps": ["2,000", "300"],
        "position_embeddings": ["yes", "no"],
        "layers": ["by model size", "1"],
        "corpus": ["tiny-town", "b.txt"],
    }
    found = dict(differing([settings(time_budget="1m"), settings(time_budget="2m")]))
    assert found == {"time_budget": ["1m", "2m"]}
    assert differing([settings(steps=5, time_budget="1m"), settings(steps=5, time_budget="2m")]) == []
    found = dict(differing([settings(steps=5, time_budget="1m"), settings(time_budget="2m")]))
    assert found == {"steps": ["5", "–"], "time_budget": ["–", "2m"]}


def test_scores_are_comparable_on_the_same_text_in_the_same_tokens_only():
    assert comparable([settings(), settings(position_embeddings=False, steps=5)])
    assert not comparable([settings(), settings(vocab_size=99)])
    assert not comparable([settings(), settings(corpus=("sample:docstrings",))])
    assert not comparable([settings(), {}])
    copies = [settings(corpus=(f"/runs/{run}/texts/01-book.txt",)) for run in ("a", "b")]
    assert comparable(copies), "a text that two runs have a copy of each"


def test_settings_are_named_for_people_and_nothing_is_markup():
    views = [RunView("", "<b>", settings(seed=1)), RunView("", "</script>", settings(seed=2))]
    payload = runs_payload(views, label=str.upper)
    assert "<" not in payload
    body = json.loads(payload)
    assert body["settings"] == [["SEED", ["1", "2"]]]
    assert [run["name"] for run in body["runs"]] == ["<b>", "</script>"]


TITLES = {"word_order": "word order", "agreement": "agree a verb"}


def log(
    mlm: float, nsp: float | None = 0.9, *, step: int = 100, right: dict | None = None, commonest: float = 0.1
) -> list:
    scores = {"mlm_accuracy": mlm} | ({} if nsp is None else {"nsp_accuracy": nsp})
    rows = [
        {"event": "RunStarted", "step": 0, "baselines": {"unigram_accuracy": commonest}},
        {"event": "EvalDone", "step": 50, "mlm_accuracy": 0.01, "nsp_accuracy": 0.01},
        {"event": "EvalDone", "step": step, **scores},
    ]
    return rows + ([{"event": "ProbesDone", "step": step, "probes": "tiny-town", "right": right}] if right else [])


@pytest.mark.parametrize(
    ("without", "found", "words"),
    [
        (0.6, "worse", "60.0%, 80.0% with the full recipe; 20.0 points fewer: worse"),
        (0.9, "better", "10.0 points more: better"),
        (0.785, "same", "1.5 points fewer, which is within noise"),
    ],
)
def test_the_last_scores_decide_and_are_said(without, found, words):
    (first, *_) = outcome("no-positions", log(0.8), log(without), {"mlm_accuracy": found})["measures"]
    assert (first["found"], first["right"], first["name"]) == (found, True, "MLM accuracy")
    assert words in first["text"]
    assert first["text"].endswith("Your prediction was right.")


def test_probes_that_differ_clearly_are_told_the_clearest_first():
    with_all, without = {"word_order": 1.0, "agreement": 0.9}, {"word_order": 0.5, "agreement": 0.6}
    found = outcome("no-positions", log(0.8, right=with_all), log(0.6, right=without), {}, TITLES)["words"][0]
    assert "word order: 50%, with the full recipe 100%; agree a verb: 60%" in found
    near = outcome("no-positions", log(0.8, right=with_all), log(0.6, right=with_all), {}, TITLES)["words"][0]
    assert "less than 25 points on every kind" in near
    early = [*log(0.6), {"event": "ProbesDone", "step": 0, "probes": "tiny-town", "right": without}]
    assert outcome("no-positions", log(0.8, right=with_all), early, {})["words"][0].startswith("Self-attention is")


def test_the_cards_name_every_ablation_with_its_questions_and_its_run():
    body = json.loads(recipe_payload({"whole": "a-1", "one-head": "b-2"}, 500, 7, ticked=("one-layer",)))
    assert (body["set"], body["whole"]) == ("500/7", "a-1")
    assert [card["name"] for card in body["cards"]] == list(ABLATIONS)
    assert {card["name"]: card["run"] for card in body["cards"]}["one-head"] == "b-2"
    assert [card["name"] for card in body["cards"] if card["ticked"]] == ["one-layer"]
    assert [key for key, _ in body["predictions"]] == list(PREDICTIONS)
