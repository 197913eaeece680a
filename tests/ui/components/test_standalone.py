"""Drawings as pages of their own, and what the modules may not do."""

import re
import tracemalloc
from pathlib import Path

import pytest
from playwright.sync_api import Page

from bertviz_lab.errors import InputError
from bertviz_lab.ui.components.standalone import DRAWINGS, standalone_page
from bertviz_lab.ui.server import assets
from tests.ui.components.harness import first_values

MODULES = {name: text for name, text in assets.files().items() if name.endswith(".js") and "vendor" not in name}


@pytest.mark.parametrize("name", sorted(MODULES))
def test_no_module_parses_text_as_html_or_reaches_outside(name: str):
    text = MODULES[name]
    # explanation.html; lessons, and the leader's page, whose texts are escaped by their templates
    trusted = name in ("client/workspace.js", "views/lessons/lessons.js", "workshop/leader.js")
    assert trusted or not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b", text)
    assert "new Function" not in text
    if name != "site.js":
        assert set(re.findall(r"https?://[^'\"` ]+", text)) <= {"http://www.w3.org/2000/svg"}


DRAWN = {
    "attention": ".grid canvas", "chart": ".plotly-host svg", "examples": ".item", "fill": ".candidate",
    "marked": "mark", "tokens": "td",
}  # fmt: skip


@pytest.mark.parametrize("kind", DRAWN)
def test_a_page_of_its_own_is_drawn_from_a_file_and_loads_nothing(kind: str, tmp_path: Path, page: Page):
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    file = tmp_path / "page.html"
    file.write_text(standalone_page(kind, "A picture", first_values()[kind]), encoding="utf-8")
    page.goto(file.as_uri())
    page.locator(f"#view {DRAWN[kind]}").first.wait_for()
    assert {url.split(":")[0] for url in asked[1:]} <= {"data"}


def test_a_label_is_text_on_a_page():
    page = standalone_page("preview", "</script><b>&", '{"rows": []}')
    assert "<title>&lt;/script&gt;&lt;b&gt;&amp;</title>" in page
    assert '"payload">{"rows": []}</script>' in page


def test_pages_of_many_labels_are_not_kept():
    bytes_of_one = len(standalone_page("preview", "A part"))
    tracemalloc.start()
    try:
        for number in range(50):
            standalone_page("preview", f"A part {number}")
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < bytes_of_one


def test_an_unknown_drawing_is_refused():
    with pytest.raises(InputError, match="no drawing 'nothing'"):
        standalone_page("nothing", "")
    assert "nothing" not in DRAWINGS
