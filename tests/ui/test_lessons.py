"""What the lessons say is true of the models that ship, and every place that they lead to is there."""

import dataclasses
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs

import gradio as gr
import pytest

from bertviz_lab.interpret import fill_mask, next_sentence, untrained
from bertviz_lab.ui.app import build
from bertviz_lab.ui.app_state import AppState
from bertviz_lab.ui.lessons import LESSONS, TABS, Lesson, claims, lesson
from bertviz_lab.ui.lessons.handout import handout_page
from bertviz_lab.ui.lessons.measuring import Measured, measure
from bertviz_lab.ui.page_events import PageEvents
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.tabs.learn import Learn, lessons_payload, sheet, told
from tests.ui.pages import little_settings

each_lesson = pytest.mark.parametrize("each", LESSONS, ids=lambda each: f"lesson {each.number}")


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> AppState:
    """The models that come with the lab."""
    return AppState(Settings(runs_dir=tmp_path_factory.mktemp("runs")))


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> PageEvents:
    """The page's own parts, as they are joined."""
    caught: list[PageEvents] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PageEvents, "join", lambda self, page: caught.append(self))
        build(Settings(runs_dir=tmp_path_factory.mktemp("runs")))
    return caught[0]


# ---- what is said of the models


@each_lesson
def test_what_a_lesson_says_of_its_model_is_measured_to_be_so(shipped: AppState, each: Lesson) -> None:
    found = measure(shipped, each)
    assert found.answer == each.answer
    assert [text for text in found.paragraphs if "{" in text or not text] == []
    assert all(0 <= share <= 1 and name and words for name, share, words in found.finding.bars)


@pytest.mark.parametrize("number", [1, 3, 5, 7, 8])
def test_it_would_not_be_measured_on_a_model_that_has_learnt_nothing(shipped: AppState, number: int) -> None:
    each = LESSONS[number - 1]
    random = untrained(shipped.models.open(each.model))
    stranger: Any = SimpleNamespace(
        models=SimpleNamespace(open=lambda _: random), histories=SimpleNamespace(choices=lambda own: [])
    )
    finding = each.claim(stranger, each)
    assert finding.answer != each.answer
    assert "with other predictions" in Measured(each, finding).paragraphs[0]


def test_the_numbers_of_the_first_lesson_are_what_fill_mask_says(shipped: AppState) -> None:
    found, town = measure(shipped, LESSONS[0]), shipped.models.open("tiny-town")
    fields = found.lesson.look[0].place.fields
    for causal, name in ((False, "both"), (True, "forwards")):
        asked = fill_mask(town, fields["text"], 1, word=fields["word"], causal=causal).masks[0].asked
        assert asked is not None
        assert f"{asked.probability:.1%}" in found.paragraphs[0], name


def test_the_masked_tokens_are_as_many_as_the_paper_says(shipped: AppState) -> None:
    shares = {name: share for name, share, _ in measure(shipped, LESSONS[1]).finding.bars}
    rule = [0.15 * 0.8, 0.15 * 0.1, 0.15 * 0.1]
    assert list(shares.values()) == pytest.approx(rule, rel=0.05)


def test_a_contradiction_is_taken_to_follow_as_the_lesson_says(shipped: AppState) -> None:
    each, town = LESSONS[2], shipped.models.open("tiny-town")
    true, wrong = (place.place.fields for place in (each.look[1], each.proof[0]))
    difference = next_sentence(town, **named(true)).is_next - next_sentence(town, **named(wrong)).is_next
    assert abs(difference) < 0.1


def named(fields: Any) -> dict[str, str]:
    return {"text_a": fields["a"], "text_b": fields["b"]}


def test_the_new_numbers_of_a_classifier_are_those_of_its_last_layer(shipped: AppState) -> None:
    model: Any = shipped.models.open("sentiment-mini").model
    new = sum(value.numel() for name, value in model.named_parameters() if "classifier" in name)
    assert measure(shipped, LESSONS[5]).finding.numbers["new"] == f"{new:,}"


def test_what_came_first_is_told_as_the_snapshots_show_it(shipped: AppState, monkeypatch: pytest.MonkeyPatch) -> None:
    each = LESSONS[6]
    story = {0: (0.1, 0.01), 100: (0.3, 0.1), 200: (0.8, 0.2), 500: (0.9, 0.3), 1000: (0.95, 0.9)}

    def chance(step: int, text: str, word: str) -> float:
        colours, blue = story[step]
        return blue if word == "blue" else (colours - blue) / 7

    def session(steps: tuple[int, ...]) -> Any:
        past = SimpleNamespace(steps=lambda: steps)
        histories = SimpleNamespace(
            choices=lambda own: [("", each.model)], past=lambda name: past, snapshot=lambda name, step: step
        )
        return SimpleNamespace(histories=histories)

    monkeypatch.setattr(claims, "_chance", chance)
    assert re.findall(r"step (\S+) (?:it|the)", claims._between(session(tuple(story)), each)) == ["200", "1,000"]
    assert claims._between(session((0, 100, 1000)), each) == ""  # both are there at once
    assert claims._between(session((0, 100, 200)), each) == ""  # and here one of them never comes


def test_a_lesson_is_measured_once_for_a_model(shipped: AppState) -> None:
    assert measure(shipped, LESSONS[0]).finding is measure(shipped, LESSONS[0]).finding


# ---- what they are made of


def test_the_lessons_are_numbered_and_short() -> None:
    assert [each.number for each in LESSONS] == list(range(1, 9))
    assert all(5 <= each.minutes <= 7 for each in LESSONS)  # the leader's page says so
    assert all(2 <= each.idea.count(". ") + 1 <= 4 for each in LESSONS)
    assert lesson(0) is lesson(9) is None


@each_lesson
def test_no_number_about_a_model_is_written_into_a_lesson(each: Lesson) -> None:
    texts = " ".join([each.question, *each.choices, *each.reveal, *(step.text for step in each.steps)])
    assert re.findall(r"\d+\.\d+", texts) == []
    assert [found for found in re.findall(r"\d+ ?%", texts) if each.number != 2] == []


@each_lesson
def test_every_place_is_on_the_page(shipped: AppState, story: PageEvents, each: Lesson) -> None:
    looking = {tab.id: tab for tab in story.looking}
    for step in measure(shipped, each).steps:
        tab = looking.get(step.place.tab)
        if tab is None:
            assert step.place.tab in [bench.tab for bench in story.benches]
            assert (step.place.part, step.place.fields) == ("", {})
            continue
        assert set(step.place.fields) <= set(tab.fields)
        assert step.place.part in ["", *(fold.name for fold in tab.parts)]


def test_the_tabs_have_the_names_that_the_buttons_say(settings: Settings) -> None:
    config = build(settings).get_config_file()["components"]
    names = {part["props"]["id"]: part["props"]["label"] for part in config if part["type"] == "tabitem"}
    assert TABS.items() <= names.items()


# ---- setting up


def values(learn: Learn, story: PageEvents, data: dict[str, Any]) -> tuple[Any, ...]:
    return learn.set_up(story.looking, data)


def test_a_click_fills_in_a_place_and_leaves_the_other_tabs_alone(story: PageEvents) -> None:
    assert story.learn is not None
    bar, model, tabs, *rest = values(story.learn, story, {"lesson": 1, "step": 1})
    assert json.loads(bar)["number"] == 1
    assert json.loads(bar)["scroll_to"] == "why-change-part"
    assert model == "tiny-town"
    assert tabs.selected == "why"
    names = [(tab.id, name) for tab in story.looking for name in tab.fields]
    filled = {place: value for place, value in zip(names, rest, strict=False) if value != gr.skip()}
    assert {tab for tab, _ in filled} == {"why"}
    assert filled["why", "word"] == "blue"
    assert filled["why", "causal"] is True
    assert filled["why", "against"] == ""  # what was there before is not part of the lesson
    assert filled["why", "off"] == "[]"
    assert sum(value is True for value in rest) == 2  # the tick, and the part that is open


def test_a_place_is_filled_in_with_what_was_measured(story: PageEvents, shipped: AppState) -> None:
    assert story.learn is not None
    heads = LESSONS[4]
    *_, off = [each.place.fields["off"] for each in measure(shipped, heads).steps if "off" in each.place.fields]
    assert off in values(story.learn, story, {"lesson": 5, "step": 1})
    assert json.loads(off)[0] in [[layer, head] for layer in range(2) for head in range(2)]


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"lesson": "<b>", "step": None},
        {"lesson": 99, "step": 0},
        {"lesson": 1, "step": -1},
        {"lesson": 1, "step": 9},
    ],
)
def test_a_click_that_means_nothing_changes_nothing(story: PageEvents, data: dict[str, Any]) -> None:
    assert story.learn is not None
    found = values(story.learn, story, data)
    assert len(found) == len(values(story.learn, story, {"lesson": 1, "step": 0}))
    assert all(value == gr.skip() for value in found)


def test_without_its_model_a_lesson_can_be_read_and_says_so(tmp_path: Path, story: PageEvents) -> None:
    session = AppState(little_settings(tmp_path))
    assert all(each["missing"] for each in json.loads(lessons_payload(session))["lessons"])
    assert "has no model tiny-town" in json.loads(told(session, 1))["message"]
    learn = Learn(session, gr.HTML(render=False), gr.HTML(render=False))
    _, model, tabs, *_ = values(learn, story, {"lesson": 5, "step": 1})
    assert model == gr.skip()
    assert tabs.selected == "why"


@pytest.mark.parametrize("number", ["x", None, 99, "1 or 2"])
def test_a_number_that_is_none_is_answered_in_a_sentence(shipped: AppState, number: Any) -> None:
    assert json.loads(told(shipped, number))["message"]


def test_a_place_has_an_address() -> None:
    step = LESSONS[0].proof[0]
    said = parse_qs(step.place.address("tiny-town").removeprefix("?"))
    assert said["tab"] == ["why"]
    assert said["model"] == ["tiny-town"]
    assert said["part"] == ["change"]
    assert said["text"] == [step.place.fields["text"]]


# ---- the handout


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.words = ""
        self.addresses: list[str] = []

    def handle_data(self, data: str) -> None:
        self.words += data

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [str(value) for name, value in attrs if name in ("src", "href")]


def read(page: str) -> _Words:
    words = _Words()
    words.feed(page)
    return words


def test_the_handout_asks_everything_before_it_answers(shipped: AppState) -> None:
    page = read(sheet(shipped, "http://lab.example:7860/"))
    questions, answers = page.words.split("Answers", 1)
    for each in LESSONS:
        assert each.example in questions
        assert each.question.replace("`", "") in questions
        assert each.choices[each.answer].replace("`", "") in answers
        assert measure(shipped, each).paragraphs[0].replace("`", "") in answers
    assert "http://lab.example:7860/?lesson=1" in questions
    assert page.addresses == []  # nothing from outside


@pytest.mark.parametrize("address", [None, 3, "javascript:alert(1)", "http://x/<script>", "http://" + "x" * 999, ""])
def test_an_address_that_is_none_is_not_written_down(shipped: AppState, address: Any) -> None:
    page = sheet(shipped, address)
    assert "?lesson=1" not in page
    assert "<script" not in page


def test_a_text_in_the_handout_is_only_text() -> None:
    each = dataclasses.replace(LESSONS[0], title="<b>x</b>", question="`a` < b & c", choices=("<u>",))
    page = handout_page([each], [])
    assert "<b>x</b>" not in page
    assert "<code>a</code> &lt; b &amp; c" in page
    assert "<u>" not in page
