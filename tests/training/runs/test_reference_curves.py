"""Reference curves: which runs of the lab a run is compared with, and what is said to differ."""

import json

import pytest

from bertviz_lab.config import PretrainConfig
from bertviz_lab.training.runs import reference_curves
from bertviz_lab.training.runs.reference_curves import COMPARED, FILE, references_for

KEPT = json.loads(FILE.read_text(encoding="utf-8"))


def run(preset: str = "tiny", text: str = "wiki_en", **settings: object) -> dict[str, object]:
    points = [[1000, 6.5, 0.69], [2000, 5.0, 0.6]]
    numbers = {"text_tokens": 230_000, "vocab_size": 8192, "unigram_entropy": 7.0, "points": points}
    return {"preset": preset, "text": text, "settings": settings} | numbers


@pytest.fixture(autouse=True)
def kept(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [run(), run(batch_size=32), run("mini"), run(text="sample:tiny-town"), run(causal_share=0.5)]
    monkeypatch.setattr(reference_curves, "_kept", lambda: {"defaults": KEPT["defaults"], "runs": runs})


def compared(**settings: object) -> list[tuple[str, list[str], bool]]:
    found = references_for(PretrainConfig(**{"corpus": ("a.txt",), "preset": "tiny"} | settings))  # type: ignore[arg-type]
    assert found is not None
    return [(curve["text"], curve["differs"], curve["pairs"]) for curve in found["curves"]]


def test_a_run_is_compared_with_those_of_its_size_and_kind_of_text() -> None:
    assert compared() == [("Wikipedia", [], True), ("Wikipedia", ["Batch size"], True)]
    assert compared(corpus=("sample:tiny-town",)) == [("Tiny Town", [], True)]
    assert compared(preset="base") == compared(layers=5) == []


def test_what_differs_is_named_and_a_curve_that_falls_elsewhere_is_left_out() -> None:
    assert compared(mask_probability=0.15, objective="mlm", preset="mini") == [
        ("Wikipedia", ["Pretraining objective", "Masking probability"], False)
    ]
    assert compared(causal_share=0.45) == [("Wikipedia", ["Causal-LM warm-up (fraction)"], True)]
    assert compared(causal_share=0.25) == []


def test_a_run_that_does_not_start_from_random_weights_has_no_references() -> None:
    for settings in ({"init_from": "wiki-tiny"}, {"teacher": "wiki-mini"}, {"objective": "rtd"}):
        assert references_for(PretrainConfig(corpus=("a.txt",), **settings)) is None  # type: ignore[arg-type]


def test_the_kept_runs_fall_below_their_unigram_entropy_and_state_what_they_are_compared_by() -> None:
    assert KEPT["defaults"].keys() == {*COMPARED}
    for kept_run in KEPT["runs"]:
        tokens, losses, _ = zip(*kept_run["points"], strict=True)
        assert list(tokens) == sorted(tokens)
        assert losses[0] < kept_run["unigram_entropy"] + 2
        if kept_run["text_tokens"] > 100_000:  # the held-out part of a shorter text has other words
            assert losses[-1] < kept_run["unigram_entropy"]
        assert kept_run["settings"].keys() <= {*COMPARED}
        assert "model" in kept_run or kept_run["machine"]["commit"]
