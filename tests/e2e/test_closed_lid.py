"""Somebody starts a run, closes the lid of the laptop on the page and comes back, in Chromium and in Firefox."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from bertviz_lab import PretrainConfig
from bertviz_lab.training.checkpoints.atomic_io import read_object, write_json
from tests.browser import PageLog
from tests.firefox import Firefox, find, firefox
from tests.processes import wait_for
from tests.ui.pages import little_settings, serve

TRAINING = 120_000  # milliseconds until a training on a busy machine shows something
STUB = """() => {
  window.Notification = class {
    static permission = 'default';
    static async requestPermission() { return (this.permission = 'granted'); }
    constructor(title, { body }) { window.told = [title, body]; }
  };
}"""


def set_offline(browser: Firefox, offline: bool) -> None:
    browser.command("Marionette:SetContext", value="chrome")
    browser.evaluate("Services.io.offline = arguments[0]", offline)
    browser.command("Marionette:SetContext", value="content")


@pytest.mark.skipif(find() is None, reason="Firefox is not installed")
def test_a_run_that_ended_while_the_page_slept_is_told_on_return(page: Page, page_log: PageLog, tmp_path: Path) -> None:
    path = find()
    assert path
    config = PretrainConfig(
        corpus=("sample:tiny-town",), preset="tiny", steps=100_000, seq_len=16, batch_size=4, threads=1,
        precision="fp32", layers=1,
    )  # fmt: skip
    with serve(little_settings(tmp_path)) as (address, session), firefox(path, tmp_path / "profile") as other:
        run = session.runs.start(config)
        page.add_init_script(f"({STUB})()")
        page.goto(address)
        other.open(address)
        expect(page).to_have_title(re.compile(r"^\d+% – BertViz Lab$"), timeout=TRAINING)
        other.wait("/^\\d+% – BertViz Lab$/.test(document.title)", TRAINING / 1000)
        page.get_by_role("checkbox", name="Notify me when it is done").check()

        # The lid is closed: no network, and a page that is frozen or behind another tab.
        lifecycle = page.context.new_cdp_session(page)
        page.context.set_offline(True)
        lifecycle.send("Page.setWebLifecycleState", {"state": "frozen"})
        tab = other.command("WebDriver:GetWindowHandle")
        front = other.command("WebDriver:NewWindow", type="tab")["handle"]
        other.command("WebDriver:SwitchToWindow", handle=front)
        set_offline(other, True)
        session.runs.stop(run)
        wait_for(lambda: session.runs.state(run).status == "stopped")
        state = session.runs.folder(run) / "state.json"
        write_json(state, read_object(state) | {"updated": read_object(state)["updated"] - 720})

        # It is opened again.
        page.context.set_offline(False)
        lifecycle.send("Page.setWebLifecycleState", {"state": "active"})
        set_offline(other, False)
        other.command("WebDriver:CloseWindow")
        other.command("WebDriver:SwitchToWindow", handle=tab)
        name = session.runs.name(run)
        title = f"{name} stopped – BertViz Lab"
        line = page.locator("#run-strip [data-status=stopped] .words")
        expect(line).to_contain_text(f"Your run {name} was stopped 12 minutes ago. It can be resumed. MLM accuracy ")
        expect(line).to_contain_text(f"Its model is in {session.runs.folder(run).resolve() / 'model'}.")
        expect(page.locator("#run-strip > .lab > [role=status]")).to_have_text(line.inner_text())
        expect(page).to_have_title(title)
        assert page.evaluate("window.told") == [f"{name} stopped", line.inner_text()]
        other.wait("document.querySelector('#run-strip [data-status=stopped] .words')")
        assert other.evaluate("return document.querySelector('#run-strip .words').textContent") == line.inner_text()
        assert other.evaluate("return document.title") == title
        for icon in (
            page.locator("link[rel=icon]").get_attribute("href"),
            other.evaluate("return document.querySelector('link[rel=icon]').href"),
        ):
            assert str(icon).startswith("data:image/svg+xml,")
    page_log.clear()  # the browser notes the requests without a network
