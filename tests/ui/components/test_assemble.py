"""The strings that are handed to Gradio, without a browser."""

import re
from pathlib import Path

import gradio as gr
import pytest

from bertviz_lab.ui import components
from bertviz_lab.ui.components import attention_grid, fill_mask_bars, loss_chart, masking_strip, token_strip
from bertviz_lab.ui.components.chart import chart
from bertviz_lab.ui.components.data_preview import data_preview
from bertviz_lab.ui.components.example_list import example_list
from bertviz_lab.ui.components.marked_text import marked_text
from bertviz_lab.ui.components.scores import scores
from tests.browser import in_event_loop

FOLDER = Path(components.__file__).parent
BUILDERS = [
    attention_grid, loss_chart, token_strip, masking_strip, fill_mask_bars, scores, chart, data_preview, example_list,
    marked_text,
]  # fmt: skip


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


@pytest.mark.parametrize("build", BUILDERS, ids=lambda build: build.__name__)
def test_template_never_sees_the_value(build):
    assert "value" not in build("anything").html_template


@pytest.mark.parametrize("build", BUILDERS, ids=lambda build: build.__name__)
def test_hostile_value_raises_no_warning_and_stays_what_it_is(build):
    from bertviz_lab.figures.payload import message_payload

    text = message_payload("<script>alert(1)</script>")
    assert build(text).value == text


@pytest.mark.parametrize(
    ("build", "events"),
    [
        (attention_grid, ["head_select", "layer_request"]),
        (loss_chart, ["run_changed"]),
        (token_strip, ["token_select"]),
        (masking_strip, ["token_select"]),
        (fill_mask_bars, ["candidate_select", "toggle_mask"]),
        (scores, ["token_select"]),
        (chart, ["item_select"]),
        (data_preview, ["column_select"]),
        (example_list, ["example_select"]),
        (marked_text, ["alternative_select"]),
    ],
)
def test_events_can_be_listened_to(build, events):
    def listen() -> None:
        with gr.Blocks():
            part = build()
            for event in events:
                getattr(part, event)(lambda: None, None, None)

    in_event_loop(listen)


def test_options_reach_gradio():
    part = token_strip(elem_id="here", visible=False)
    assert (part.elem_id, part.visible) == ("here", False)
