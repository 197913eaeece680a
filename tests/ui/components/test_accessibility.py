"""Every component under axe, in light and dark, wide and narrow, with all its states open."""

import pytest
from playwright.sync_api import expect

from bertviz_lab.figures.payload import message_payload
from bertviz_lab.figures.training.curves import replay_payload
from bertviz_lab.figures.training.data import examples_payload, preview_payload
from tests.browser import complaints
from tests.ui.components import tuned
from tests.ui.components.harness import Feed, Visit, charts, ending, events

PARTS = ["attention", "loss", "tokens", "masking", "fill", "scores", "chart", "preview", "examples", "marked"]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_axe_finds_nothing(visit: Visit, feed: Feed, theme: str, width: int):
    page = visit(theme, width)
    page.emulate_media(reduced_motion="reduce")  # colours that fade in would be judged half-way
    feed("loss", replay_payload([*events(200), ending(200)], "A run"))
    expect(page.locator("#loss .panels").first).to_be_visible()
    page.locator("#tokens summary", has_text="What the rows mean").click()
    page.locator("#fill .candidate").first.click()
    page.locator("#examples .item").nth(1).click()
    assert complaints(page, *PARTS) == []
    page.get_by_role("radio", name="Single tokens").click()
    assert complaints(page, "attention") == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    wide = """([part, width]) => [...document.querySelectorAll(`#${part} *`)]
      .filter(node => node.getBoundingClientRect().right > width && !node.closest('.hush, .lines, .rows')).length"""
    assert {part: page.evaluate(wide, [part, width]) for part in PARTS} == dict.fromkeys(PARTS, 0)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_empty_and_live_states_pass_too(visit: Visit, feed: Feed, theme: str):
    page = visit(theme)
    feed("attention", message_payload("This text is too long."))
    feed("loss", replay_payload(events(20)))
    expect(page.get_by_role("progressbar")).to_be_visible()
    assert complaints(page, "attention", "loss") == []


def test_every_control_has_a_visible_focus(visit: Visit):
    page = visit(loss=replay_payload([*events(50), ending(50)]))
    expect(page.locator("#loss .panels").first).to_be_visible()
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


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_views_of_fine_tuning_pass_in_their_other_states_too(visit: Visit, feed: Feed, theme: str):
    page = visit(theme, 400)
    page.emulate_media(reduced_motion="reduce")
    three = ("seed 0", "seed 1", "seed 2")
    feed("loss", replay_payload([*tuned.task_events("regression", three), ending(360)], "A run"))
    expect(page.locator("#loss .panels").first).to_be_visible()
    page.locator("#loss summary", has_text="The trials").click()
    states = [
        (preview_payload(*tuned.sentence_data()), examples_payload(tuned.tagged(), title="One"), "counts"),
        (preview_payload(*tuned.question_data()), examples_payload(tuned.answered(), title="Two"), "histogram"),
        (preview_payload(tuned.table()), examples_payload(tuned.numbers(), title="Three"), "bars"),
    ]
    answers = tuned.alternatives(tuned.TEXT, "London", "in London")
    feed("marked", tuned.marked(tuned.TEXT, tuned.entities(), answers, title="Where?", chosen=1))
    expect(page.locator("#marked .answer")).to_have_count(2)
    for preview, examples, kind in states:
        feed("preview", preview)
        feed("examples", examples)
        feed("chart", charts()[kind])
        expect(page.locator("#chart .heading")).to_have_text(kind.capitalize())
        page.locator("#examples .item").first.click()
        parts = ("loss", "preview", "examples", "marked", "chart")
        assert complaints(page, *parts) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
