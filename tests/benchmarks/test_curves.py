from typing import Any

import pytest

from benchmarks.curves import compare, reached


def run(name: str, side: str, scores: list[tuple[float, float]]) -> dict[str, Any]:
    curve = [
        {"seconds": 10.0 * i, "step": i, "mlm_loss": loss, "mlm_accuracy": accuracy}
        for i, (loss, accuracy) in enumerate(scores)
    ]
    setting = {"preset": "mini", "vocab_size": 8192, "seconds": 10.0 * (len(scores) - 1)}
    body = {"name": name, "side": side, "precision": "bf16", "text": "a text", "machine": {"processor": "one"}}
    return body | {"setting": setting, "unigram_accuracy": 0.125, "curve": curve}


FLAT = [(9.0, 0.0), (7.0, 0.12), (6.9, 0.13), (6.9, 0.13), (6.8, 0.14), (6.7, 0.14)]
STEEP = [(9.0, 0.0), (6.6, 0.15), (6.5, 0.19), (6.0, 0.20), (5.0, 0.3), (4.0, 0.4)]


def test_the_lab_is_compared_with_the_best_of_the_others() -> None:
    worse = [(loss + 0.1, accuracy) for loss, accuracy in FLAT]
    found = compare([run("slow", "hf", worse), run("fast", "hf", FLAT), run("ours", "lab", STEEP)])
    assert found["best_hf"] == "fast"
    assert found["share_of_time_to_best_hf_loss"]["median"] == pytest.approx(10 / 50)
    assert found["plateau_accuracy"] == pytest.approx(0.125)
    off = {one["name"]: one["seconds_off_the_plateau"] for one in found["runs"]}
    assert off == {"slow": None, "fast": None, "ours": 20.0}


def test_a_score_that_is_lost_again_does_not_count() -> None:
    curve = run("x", "lab", [(1.0, 0.0), (1.0, 0.5), (1.0, 0.1), (1.0, 0.5)])["curve"]
    assert reached(curve, lambda point: point["mlm_accuracy"] > 0.2) == 30.0
