"""What the scrubber is given says what was found, in as few bytes as a picture needs."""

import base64
import dataclasses
import json
import math
from types import SimpleNamespace

import numpy as np
import pytest

from bertviz_lab import interpret
from bertviz_lab.figures.training.dynamics import curve_body, frame_payload, opening_payload, plane_body
from bertviz_lab.figures.training.snapshot_charts import SnapshotAxis, loss_chart, short_step
from tests.little import little_checkpoint

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
    assert grid["metrics"]["previous"]["values"] == np.round(found.heads["previous"], 5).tolist()
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
    assert (body["follows"], body["names"]) == ("words", ["cat", "s", "<b>"])
    assert "".join(before + text for before, text in body["sentence"]) == TEXT
    assert body["start"]["rows"] == [found.masked_tokens[0].position]
    for name in ("tracked", "rank"):
        chart = body["charts"][name]
        assert [key for key, _ in chart["keys"]] == ["cat", "s", "<b>"]
        assert len(chart["figure"]["data"]) == 3
        assert "&lt;b&gt;" in chart["figure"]["data"][2]["hovertemplate"]
    assert body["charts"]["rank"]["figure"]["layout"]["yaxis"]["range"] == [pytest.approx(math.log10(200)), 0]
    assert len(body["charts"]["head_shares"]["figure"]["data"]) == 1 + body["layers"]
    assert body["charts"]["map"]["figure"]["data"][-1]["text"] == ["cat", "dog"]
    assert body["loss"]["figure"]["data"][0]["y"] == [7.0, 3.5, 1.75]
    # The slider stands exactly under all lines.
    for chart in (body["loss"], *(body["charts"][name] for name in ("tracked", "head_numbers", "losses"))):
        assert (chart["figure"]["layout"]["margin"]["l"], chart["figure"]["layout"]["margin"]["r"]) == (52, 18)


def test_without_a_masked_token_labels_next_sentence_and_answer_are_followed():
    def followed(**results):
        analysis = dataclasses.replace(interpret.analyze_snapshot(little_checkpoint(), "the red cat"), **results)
        body = json.loads(opening(analysis, labels=("bad", "good") if "labels" in results else ()))
        return body["follows"], body["names"]

    assert followed() == ("", [])
    assert followed(is_next=0.5) == ("next", ["B follows A"])
    assert followed(labels=(SimpleNamespace(label="bad", score=0.4), SimpleNamespace(label="good", score=0.6))) == (
        "labels",
        ["bad", "good"],
    )


def test_snapshots_stand_at_even_distances_and_steps_between_them_by_their_logarithm():
    axis = SnapshotAxis((0, 1, 10, 100), last=1000)
    assert [axis.place(step) for step in (0, 1, 10, 100)] == [0, 1, 2, 3]
    assert 1 < axis.place(3) < 1.5 < axis.place(8) < 2
    assert axis.place(3) == pytest.approx(1 + (math.log(4) - math.log(2)) / (math.log(11) - math.log(2)))
    assert axis.layout()["range"] == [0, axis.place(1000)]
    assert axis.place(1000) > 4  # ahead of the newest snapshot
    assert axis.layout()["tickvals"] == [0, 1, 2, 3]
    assert SnapshotAxis((7,), last=0).layout()["range"] == [0, 1]
    assert [short_step(step) for step in (0, 500, 1500, 20_000, 2_500_000)] == ["0", "500", "1.5k", "20k", "2.5M"]


def test_the_loss_chart_has_a_line_for_each_kind_and_the_baseline():
    curve = curve_body([*rows([1, 2, 4]), {"event": "StepDone", "step": 3, "causal_loss": 6.5}])
    chart = loss_chart(curve, SnapshotAxis((0, 1, 2, 4), last=4))
    assert [name for name, _ in chart["keys"]] == ["training", "held-out", "next token (causal-LM warm-up)"]
    training, held, _ = chart["figure"].data
    assert (list(training.x), list(training.customdata)) == ([1, 2, 3], [1, 2, 4])
    assert (list(held.x), list(held.y)) == ([3], [1.5])
    assert [shape.y0 for shape in chart["figure"].layout.shapes] == [4.7]
    assert chart["figure"].layout.annotations[0].text == "unigram-entropy baseline"
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
