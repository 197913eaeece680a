import json
from types import SimpleNamespace
from typing import Any

from bertviz_lab.figures.payload import to_json
from bertviz_lab.ui.links import field_updates, told, with_link


def test_a_payload_carries_what_a_link_to_it_says() -> None:
    body = json.loads(with_link(to_json({"title": "x"}), "fill", "wiki-tiny", text="a <b> [MASK]"))
    assert body == {"title": "x", "link": {"tab": "fill", "model": "wiki-tiny", "text": "a <b> [MASK]"}}


def test_no_end_tag_can_come_out_of_a_link() -> None:
    assert "<" not in with_link("{}" and to_json({"a": 1}), "fill", "", text="</script>")


def test_a_text_too_long_for_an_address_gives_no_link() -> None:
    payload = to_json({"title": "x"})
    assert with_link(payload, "fill", "", text="x" * 3000) == payload


def test_an_address_fills_in_the_fields_of_its_own_tab_only() -> None:
    request: Any = SimpleNamespace(query_params={"tab": "fill", "text": "hello", "other": "x" * 99_999})
    said = told(request)
    assert len(said["other"]) < 5000
    text, word = field_updates(said, "fill", ["text", "word"])
    assert text == "hello"
    assert not isinstance(word, str)
    assert not any(isinstance(update, str) for update in field_updates(said, "why", ["text"]))
