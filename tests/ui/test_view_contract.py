import asyncio
import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import gradio as gr
import pytest

from bertviz_lab.figures.payload import to_json
from bertviz_lab.ui.error_handling import in_order
from bertviz_lab.ui.rpc import Rpc, tell_progress
from bertviz_lab.ui.view_contract import CollapsedView


def test_a_later_question_has_a_later_time_however_answers_come() -> None:
    ask = in_order(lambda: to_json({}))
    assert json.loads(ask())["asked"] < json.loads(ask())["asked"]


@pytest.mark.parametrize("opened", [False, True])
def test_a_part_that_is_folded_away_is_asked_for_only_when_it_is_open(opened: bool) -> None:
    with gr.Blocks() as page:
        direct = Rpc()
        with gr.Accordion("Part", open=opened) as accordion:
            shown = gr.HTML()
        part = CollapsedView(direct, "part", accordion, lambda text: text, [gr.Textbox()], shown)
    assert part.is_open.value is opened
    asked = [fn.js for fn in page.fns.values() if fn.js and "labAsk" in str(fn.js)]
    assert asked == ["(...inputs) => window.labAsk(0, 1, inputs, true)"]


def line_to(*handlers: Callable[..., object]) -> Any:
    """The line to some handlers, each with two outputs."""
    with gr.Blocks() as page:
        direct = Rpc()
        box, view = gr.Textbox(), gr.HTML()
        for handler in handlers:
            direct.ask(box.submit, handler, [box], [box, view])
    (line,) = (block for block in page.blocks.values() if getattr(block, "server_fns", None))
    return line


def question(*handlers: Callable[..., object]) -> Callable[[list[object]], list[object]]:
    """The same as the page uses it."""
    line = line_to(*handlers)
    return lambda arguments: json.loads(asyncio.run(line.answer(["ticket", *arguments])))


def test_questions_reach_their_handlers_and_answers_their_outputs() -> None:
    ask = question(lambda text: (text.upper(), to_json({"title": text})), lambda text: (gr.skip(), "second"))
    assert ask([0, "a"]) == ["A", '{"title":"a"}']
    assert ask([1, "a"]) == [gr.skip(), "second"]


def test_a_mistake_in_a_handler_is_one_sentence_in_the_last_output() -> None:
    skipped, said = question(lambda text: 1 / 0)([0, "a"])
    assert skipped == gr.skip()
    assert "Something went wrong" in json.loads(str(said))["message"]


def test_slow_work_tells_how_far_it_is() -> None:
    told, seen = threading.Event(), threading.Event()

    def work(text: str) -> tuple[str, str]:
        tell_progress(0.4)
        told.set()
        assert seen.wait(10)
        return text, text

    line = line_to(work)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(asyncio.run, line.answer(["mine", 0, "x"]))
        assert told.wait(10)
        assert asyncio.run(line.progress("mine")) == 0.4
        assert asyncio.run(line.progress("another's")) == 0
        seen.set()
        assert json.loads(answer.result()) == ["x", "x"]
    assert asyncio.run(line.progress("mine")) == 0


def test_nobody_need_listen_to_progress() -> None:
    tell_progress(0.5)
