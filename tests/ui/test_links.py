import json
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest

from bertviz_lab.figures.payload import to_json
from bertviz_lab.ui.links import field_updates, fresh_fields, told, with_link


def test_a_payload_carries_what_a_link_to_it_says() -> None:
    body = json.loads(
        with_link(to_json({"title": "x"}), "fill", "wiki-tiny", "layers", text="a <b> [MASK]", causal=True, off=None)
    )
    said = {"tab": "fill", "model": "wiki-tiny", "part": "layers", "text": "a <b> [MASK]", "causal": "1", "off": ""}
    assert body == {"title": "x", "link": said}


def test_no_end_tag_can_come_out_of_a_link() -> None:
    assert "<" not in with_link("{}" and to_json({"a": 1}), "fill", "", text="</script>")


def test_a_text_too_long_for_an_address_gives_no_link() -> None:
    payload = to_json({"title": "x"})
    assert with_link(payload, "fill", "", text="x" * 3000) == payload


def test_an_address_fills_in_the_fields_of_its_own_tab_only() -> None:
    request: Any = SimpleNamespace(query_params={"tab": "fill", "text": "hello", "other": "x" * 99_999})
    said = told(request)
    assert len(said["other"]) < 5000
    text, word = field_updates(said, "fill", {"text": gr.Textbox(), "word": gr.Textbox()})
    assert text == "hello"
    assert word == gr.skip()
    assert field_updates(said, "why", {"text": gr.Textbox()}) == [gr.skip()]


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        (gr.Checkbox(), "1", True),
        (gr.Checkbox(), "<b>", False),
        (gr.Radio(["a", "b"]), "b", "b"),
        (gr.Radio(["a", "b"]), "c", gr.skip()),
        (gr.Slider(0, 10), "3", 3),
        (gr.Slider(0, 10), "11", gr.skip()),
        (gr.Slider(0, 10), "nan", gr.skip()),
        (gr.Number(), "many", gr.skip()),
        (gr.Number(), "-7", -7),
    ],
)
def test_a_field_takes_from_an_address_only_what_it_can_hold(field: Any, text: str, value: Any) -> None:
    assert field_updates({"tab": "x", "it": text}, "x", {"it": field}) == [value]


def test_fields_that_are_not_spoken_of_begin_anew() -> None:
    fields: dict[str, Any] = {"text": gr.Textbox(), "share": gr.Slider(0, 10, 3), "tick": gr.Checkbox(True)}
    assert fresh_fields({"text": "hello"}, fields) == ["hello", 3, True]
    assert fresh_fields({"share": "11", "tick": ""}, fields) == ["", gr.skip(), False]
