"""Runs beside each other: which settings differ, and what of a log goes to the page."""

import dataclasses
import json

from bertviz_lab.config import PretrainConfig
from bertviz_lab.figures.training.runs import RunView, comparable, differing, runs_payload


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
