"""Runs beside each other: which settings differ, and what of a log goes to the page."""

import json

from bertviz_lab.config import PretrainConfig
from bertviz_lab.figures.training.runs import RunView, comparable, differing, runs_payload, settings_of


def settings(**changes):
    return settings_of(PretrainConfig(**({"corpus": ("sample:tiny-town",)} | changes)))


def test_only_what_differs_in_learning_is_told_in_words():
    other = settings(steps=300, position_embeddings=False, layers=1, corpus=("a/b.txt",), threads=3, eval_every=1.0)
    assert dict(differing([settings(steps=2000), other])) == {
        "steps": ["2,000", "300"],
        "position_embeddings": ["yes", "no"],
        "layers": ["by model size", "1"],
        "corpus": ["tiny-town", "b.txt"],
    }


def test_a_time_counts_where_it_is_the_limit():
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


def test_a_log_is_thinned_to_an_even_selection_with_all_scores():
    rows = [{"event": "RunStarted", "step": 0}, {"event": "Preparing"}]
    for step in range(1, 1001):
        rows.append({"event": "StepDone", "step": step})
        if step % 100 == 0:
            rows += [{"event": "EvalDone", "step": step}, {"event": "ProbesDone", "step": step, "right": {}}]
    body = json.loads(runs_payload([RunView("", "old", {}, rows), RunView("x-1", "new", {})], max_steps=50))
    sent = body["runs"][0]["rows"]
    steps = [row["step"] for row in sent if row["event"] == "StepDone"]
    assert (len(steps), steps[0], steps[-1]) == (50, 1, 1000)
    assert sum(row["event"] == "EvalDone" for row in sent) == 10
    assert sum(row["event"] == "ProbesDone" for row in sent) == 10
    assert all(row["event"] != "Preparing" for row in sent)
    assert (body["runs"][1]["rows"], body["runs"][1]["id"]) == (None, "x-1")


def test_settings_are_named_for_people_and_nothing_is_markup():
    views = [RunView("", "<b>", settings(seed=1)), RunView("", "</script>", settings(seed=2))]
    payload = runs_payload(views, label=str.upper)
    assert "<" not in payload
    body = json.loads(payload)
    assert body["settings"] == [["SEED", ["1", "2"]]]
    assert [run["name"] for run in body["runs"]] == ["<b>", "</script>"]
