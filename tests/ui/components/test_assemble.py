"""The strings that are handed to Gradio, without a browser."""

import re
import tracemalloc
from pathlib import Path

import gradio as gr
import pytest

from bertviz_lab.figures.payload import message_payload
from bertviz_lab.ui import components
from bertviz_lab.ui.components.assemble import Assembly, component
from bertviz_lab.ui.components.data.data_preview import DATA_PREVIEW
from bertviz_lab.ui.components.data.health_cards import HEALTH_CARDS
from bertviz_lab.ui.components.runs.run_strip import RUN_STRIP
from bertviz_lab.ui.server.bundle import ISLANDS
from bertviz_lab.ui.server.questions import WIRE
from tests.browser import in_event_loop

FOLDER = Path(components.__file__).parent
each_island = pytest.mark.parametrize("island", ISLANDS, ids=lambda island: island.name)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.css")), ids=lambda path: path.name)
def test_no_style_sheet_holds_what_a_template_would_run(path: Path):
    assert not re.search(r"`|\\|\$\{|\{\{", path.read_text())


@pytest.mark.parametrize(
    "path",
    sorted([*FOLDER.glob("*.js"), *(FOLDER.parent / "views" / "dynamics").glob("*.js")]),
    ids=lambda path: path.name,
)
def test_no_script_parses_text_as_html_or_reaches_outside(path: Path):
    text = path.read_text()
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b", text)
    assert set(re.findall(r"https?://[^'\"` ]+", text)) <= {"http://www.w3.org/2000/svg"}
    assert len(text.splitlines()) <= 300


@each_island
def test_template_never_sees_the_value(island: Assembly):
    assert "value" not in component(island, value="anything", label="A part").html_template


@each_island
def test_hostile_value_raises_no_warning_and_stays_what_it_is(island: Assembly):
    text = message_payload("<script>alert(1)</script>")
    assert component(island, value=text, label="A part").value == text


@pytest.mark.parametrize(
    ("island", "events"),
    [
        (DATA_PREVIEW, ["column_select", "opened"]),
        (HEALTH_CARDS, ["opened"]),
        (RUN_STRIP, ["model_saved", "run_changed"]),
        (WIRE, ["change_run", "go", "train_ablations"]),
    ],
)
def test_events_can_be_listened_to(island: Assembly, events: list[str]):
    assert island.events() == events

    def listen() -> None:
        with gr.Blocks():
            part = component(island, value="", label="A part")
            for event in events:
                getattr(part, event)(lambda: None, None, None)

    in_event_loop(listen)


def test_a_label_stands_on_a_page_as_text():
    page = DATA_PREVIEW.page("</script><b>&", '{"rows": []}')
    assert "<title>&lt;/script&gt;&lt;b&gt;&amp;</title>" in page
    assert "<b>&" not in page
    assert '"payload">{"rows": []}</script>' in page


def test_pages_of_many_labels_are_not_kept():
    bytes_of_one = len(DATA_PREVIEW.blank_page("A part"))
    tracemalloc.start()
    try:
        for number in range(50):
            DATA_PREVIEW.blank_page(f"A part {number}")
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < bytes_of_one


def test_options_reach_gradio():
    part = component(DATA_PREVIEW, value="", label="A part", above="<h2>Data</h2>", elem_id="here", visible=False)
    assert (part.elem_id, part.visible) == ("here", False)
    assert part.html_template.startswith("<h2>Data</h2><section")
