import json
import threading
from collections.abc import Callable

import gradio as gr
import pytest

from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import to_json
from bertviz_lab.ui import wiring
from bertviz_lab.ui.wiring import Folded, in_order, slow_picture


def test_slow_work_tells_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wiring, "_TELL_EVERY", 0.01)
    told = threading.Event()

    def draw(text: str, on_progress: Callable[[float], None]) -> str:
        on_progress(0.4)
        assert told.wait(10)
        return to_json({"title": text})

    answers = slow_picture(draw, "Counting")("x")
    assert "Counting: " in json.loads(next(answers))["message"]
    seen = next(answers)
    told.set()
    *_, last = [seen, *answers]
    assert json.loads(seen)["message"] == "Counting: 40%"
    assert json.loads(last)["title"] == "x"
    assert json.loads(last)["asked"] == json.loads(seen)["asked"]


def test_slow_work_that_fails_is_one_sentence() -> None:
    def draw(on_progress: Callable[[float], None]) -> str:
        raise InputError("There is no [MASK].")

    (answer,) = slow_picture(draw, "Counting")()
    assert json.loads(answer)["message"] == "There is no [MASK]."


def test_a_later_question_has_a_later_time_however_answers_come() -> None:
    ask = in_order(lambda: to_json({}))
    assert json.loads(ask())["asked"] < json.loads(ask())["asked"]


@pytest.mark.parametrize("opened", [False, True])
def test_a_part_that_is_folded_away_costs_nothing(opened: bool) -> None:
    drawn = []
    with gr.Blocks():
        with gr.Accordion("Part", open=opened) as accordion:
            shown = gr.HTML()
        part = Folded("part", accordion, lambda text: drawn.append(text) or text, [], shown)
    assert part.is_open.value is opened
    assert part._answer(False, "x") == gr.skip()
    assert part._answer(True, "x") == "x"
    assert drawn == ["x"]
