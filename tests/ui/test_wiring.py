import json
import threading
from collections.abc import Callable

import gradio as gr
import pytest

from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import to_json
from bertviz_lab.ui import answers
from bertviz_lab.ui.answers import in_order, slow_picture
from bertviz_lab.ui.direct import Direct
from bertviz_lab.ui.wiring import Folded


def test_slow_work_tells_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "_TELL_EVERY", 0.01)
    told = threading.Event()

    def draw(text: str, on_progress: Callable[[float], None]) -> str:
        on_progress(0.4)
        assert told.wait(10)
        return to_json({"title": text})

    found = slow_picture(draw, "Counting")("x")
    assert "Counting: " in json.loads(next(found))["message"]
    seen = next(found)
    told.set()
    *_, last = [seen, *found]
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
def test_a_part_that_is_folded_away_is_asked_for_only_when_it_is_open(opened: bool) -> None:
    with gr.Blocks() as page:
        direct = Direct()
        with gr.Accordion("Part", open=opened) as accordion:
            shown = gr.HTML()
        part = Folded(direct, "part", accordion, lambda text: text, [gr.Textbox()], shown)
    assert part.is_open.value is opened
    asked = [fn.js for fn in page.fns.values() if fn.js and "labAsk" in str(fn.js)]
    assert asked == ["(...inputs) => window.labAsk(0, 1, inputs, true)"]


def question(*handlers: Callable[..., object]) -> Callable[[list[object]], list[object]]:
    """The line to some handlers, each with two outputs, as the page uses it."""
    with gr.Blocks() as page:
        direct = Direct()
        box, view = gr.Textbox(), gr.HTML()
        for handler in handlers:
            direct.ask(box.submit, handler, [box], [box, view])
    (line,) = (block for block in page.blocks.values() if getattr(block, "server_fns", None))
    return lambda arguments: json.loads(line.answer(arguments))


def test_questions_reach_their_handlers_and_answers_their_outputs() -> None:
    ask = question(lambda text: (text.upper(), to_json({"title": text})), lambda text: (gr.skip(), "second"))
    assert ask([0, "a"]) == ["A", '{"title":"a"}']
    assert ask([1, "a"]) == [gr.skip(), "second"]


def test_a_mistake_in_a_handler_is_one_sentence_in_the_last_output() -> None:
    skipped, said = question(lambda text: 1 / 0)([0, "a"])
    assert skipped == gr.skip()
    assert "Something went wrong" in json.loads(str(said))["message"]
