"""What came of leaving something out, computed from the logs of two runs."""

import json

import pytest

from bertviz_lab.config.ablations import ABLATIONS, PREDICTIONS
from bertviz_lab.figures.training.ablation_study import outcome, recipe_payload

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


def test_the_outcome_teaches_and_warns():
    words = outcome("no-segments", log(0.8), log(0.8), {})["words"]
    assert ABLATIONS["no-segments"].teaches in words
    assert "one seed" in words[-1]
    assert "it is early" not in words[-1]
    assert "it is early" in outcome("no-segments", log(0.15), log(0.15), {})["words"][-1]
    assert "differ in training length" in outcome("no-segments", log(0.8), log(0.8, step=60), {})["words"][-1]


def test_the_cards_name_every_ablation_with_its_questions_and_its_run():
    body = json.loads(recipe_payload({"whole": "a-1", "one-head": "b-2"}, 500, 7, ticked=("one-layer",)))
    assert (body["set"], body["whole"]) == ("500/7", "a-1")
    assert [card["name"] for card in body["cards"]] == list(ABLATIONS)
    assert {card["name"]: card["run"] for card in body["cards"]}["one-head"] == "b-2"
    assert [card["name"] for card in body["cards"] if card["ticked"]] == ["one-layer"]
    assert [key for key, _ in body["predictions"]] == list(PREDICTIONS)
