import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from threading import Event

import gradio as gr
import pytest
from playwright.sync_api import Page, expect

from bertviz_lab.ui.rpc import Rpc, tell_progress
from tests.browser import eventually
from tests.ui.components.harness import running


@dataclass
class Desk:
    asked: list[str] = field(default_factory=list)
    go: Event = field(default_factory=Event)


@pytest.fixture(scope="module", autouse=True)  # before the browser, whose event loop forbids another
def served() -> Iterator[tuple[str, Desk]]:
    desk = Desk()

    def answer(text: str) -> tuple[str, str]:
        desk.asked.append(text)
        if text.startswith("slow"):
            tell_progress(0.4)
            assert desk.go.wait(20)
        if text == "broken":
            raise RuntimeError("a mistake of ours")
        return text.upper(), f"answer to {text}"

    def build() -> gr.Blocks:
        with gr.Blocks() as blocks:
            direct = Rpc()
            text, loud = gr.Textbox(elem_id="text", label="text"), gr.Textbox(elem_id="loud", label="loud")
            answered = gr.Textbox(elem_id="answer", label="answer")
            is_open = gr.Checkbox(False, elem_id="open", label="open")
            guarded = gr.Textbox(elem_id="guarded", label="guarded")
            event = direct.ask(text.submit, answer, [text], [loud, answered])
            direct.ask(event.then, lambda text: f"guarded {text}", [is_open, text], guarded, guarded=True)
        return blocks

    with running(build) as address:
        yield address, desk


@pytest.fixture
def desk(served: tuple[str, Desk], page: Page) -> Desk:
    served[1].asked.clear()
    served[1].go.clear()
    page.goto(served[0])
    return served[1]


def ask(page: Page, text: str) -> None:
    page.locator("#text textarea").fill(text)
    page.locator("#text textarea").press("Enter")


def test_an_answer_reaches_all_its_outputs(page: Page, desk: Desk) -> None:
    ask(page, "hello <b>")
    expect(page.locator("#loud textarea")).to_have_value("HELLO <B>")
    expect(page.locator("#answer textarea")).to_have_value("answer to hello <b>")
    expect(page.locator("#direct .lab")).to_be_hidden()


def test_what_takes_long_says_how_far_it_is_and_then_no_more(page: Page, desk: Desk) -> None:
    ask(page, "slow")
    expect(page.get_by_role("status").filter(has_text="Working")).to_have_text("Working … 40%")
    desk.go.set()
    expect(page.locator("#answer textarea")).to_have_value("answer to slow")
    expect(page.locator("#direct .lab")).to_be_hidden()


def test_of_questions_that_wait_the_newest_is_asked(page: Page, desk: Desk) -> None:
    ask(page, "slow one")
    eventually(page, lambda: desk.asked == ["slow one"])
    for text in ("second", "third", "last"):
        ask(page, text)
    time.sleep(0.2)
    assert desk.asked == ["slow one"]
    desk.go.set()
    expect(page.locator("#answer textarea")).to_have_value("answer to last")
    assert desk.asked == ["slow one", "last"]


def test_a_guarded_question_is_asked_only_while_its_part_is_open(page: Page, desk: Desk) -> None:
    ask(page, "one")
    expect(page.locator("#answer textarea")).to_have_value("answer to one")
    expect(page.locator("#guarded textarea")).to_have_value("")
    page.get_by_label("open").check()
    ask(page, "two")
    expect(page.locator("#guarded textarea")).to_have_value("guarded two")


def test_a_mistake_is_one_sentence_and_the_line_goes_on(page: Page, desk: Desk) -> None:
    ask(page, "broken")
    expect(page.locator("#answer textarea")).to_have_value(re.compile("Something went wrong on this server"))
    ask(page, "again")
    expect(page.locator("#answer textarea")).to_have_value("answer to again")
