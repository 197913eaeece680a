"""Every component under axe, in light and dark, wide and narrow, with all its states open."""

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from bertviz_lab.figures.payload import message_payload
from bertviz_lab.figures.training import replay_payload
from tests.ui.components.harness import ending, events

pytestmark = pytest.mark.e2e
PARTS = ["attention", "loss", "tokens", "masking", "fill", "scores", "chart", "preview", "examples", "marked"]
Feed = Callable[[str, str], None]
Visit = Callable[..., Page]


def complaints(page: Page, part: str) -> list[str]:
    response = Axe().run(page, context=f"#{part}").response
    return [
        f"{found['id']}: {node['target']} {node['failureSummary']}"
        for found in response["violations"]
        for node in found["nodes"]
    ]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_axe_finds_nothing(visit: Visit, feed: Feed, theme: str, width: int):
    page = visit(theme, width)
    page.emulate_media(reduced_motion="reduce")  # colours that fade in would be judged half-way
    feed("loss", replay_payload([*events(200), ending(200)], "A run"))
    expect(page.locator("#loss .panels")).to_be_visible()
    page.locator("#tokens summary").click()
    page.locator("#fill .candidate").first.click()
    assert [line for part in PARTS for line in complaints(page, part)] == []
    page.get_by_role("radio", name="Single tokens").click()
    assert complaints(page, "attention") == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_empty_and_live_states_pass_too(visit: Visit, feed: Feed, theme: str):
    page = visit(theme)
    feed("attention", message_payload("This text is too long."))
    feed("loss", replay_payload(events(20)))
    expect(page.get_by_role("progressbar")).to_be_visible()
    assert [line for part in ("attention", "loss") for line in complaints(page, part)] == []


def test_page_is_no_wider_than_a_phone(visit: Visit, feed: Feed):
    page = visit(width=400)
    feed("loss", replay_payload([*events(200), ending(200)], "A run"))
    expect(page.locator("#loss .panels")).to_be_visible()
    page.get_by_role("radio", name="Single tokens").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    wide = """part => [...document.querySelectorAll(`#${part} *`)]
      .filter(node => node.getBoundingClientRect().right > 400 && !node.closest('.hush, .lines, .rows')).length"""
    assert {part: page.evaluate(wide, part) for part in PARTS} == dict.fromkeys(PARTS, 0)


def test_every_control_has_a_visible_focus(visit: Visit, feed: Feed):
    page = visit()
    feed("loss", replay_payload([*events(50), ending(50)]))
    expect(page.locator("#loss .panels")).to_be_visible()
    page.locator("#attention").evaluate("node => node.scrollIntoView()")
    page.mouse.click(5, 5)
    seen = 0
    for _ in range(60):
        page.keyboard.press("Tab")
        state = page.evaluate(
            """() => {
              const node = document.activeElement;
              if (!node.closest('.lab')) return null;
              const ring = node.matches('.choices input') ? node.nextElementSibling : node;
              const style = getComputedStyle(ring);
              const seen = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2;
              return seen ? '' : node.outerHTML.slice(0, 200);
            }"""
        )
        if state is None:
            continue
        assert state == ""
        seen += 1
    assert seen > 25
