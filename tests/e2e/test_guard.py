"""The door of the server with a real browser at it: the page works behind it, and pages of others do not get in."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from bertviz_lab.ui.guard.passwords import hash_password
from tests.browser import FLAGS, PageLog, at_rest, eventually
from tests.ui.pages import little_settings, serve

VIOLATIONS = (
    "window.violations = []; addEventListener('securitypolicyviolation', (e) => violations.push(e.blockedURI));"
)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serve(little_settings(tmp_path_factory.mktemp("guard"))) as (address, _):
        yield address


@contextmanager
def foreign_site(html: str) -> Iterator[tuple[str, list[str]]]:
    """A page of somebody else at another origin: its address, and what it was asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(html.encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}/", asked
        server.shutdown()


def test_no_workspace_breaks_the_content_security_policy(page: Page, address: str) -> None:
    page.add_init_script(VIOLATIONS)
    page.goto(address)
    for name in ("Train", "Runs", "Learn", "Explore"):
        page.get_by_role("tab", name=name, exact=True).click()
        at_rest(page)
    assert page.evaluate("violations") == []


def test_what_a_page_is_made_to_draw_cannot_report_to_another_machine(
    page: Page, page_log: PageLog, address: str
) -> None:
    with foreign_site("") as (elsewhere, asked):
        page.add_init_script(VIOLATIONS)
        page.goto(address)
        page.evaluate(
            """(url) => {
              document.body.insertAdjacentHTML('beforeend', `<img src="${url}img"><iframe src="${url}frame"></iframe>`);
              fetch(`${url}fetch`, { mode: 'no-cors' }).catch(() => {});
              navigator.sendBeacon(`${url}beacon`, 'text');
              document.head.append(Object.assign(document.createElement('script'), { src: `${url}script` }));
            }""",
            elsewhere,
        )
        eventually(page, lambda: len(page.evaluate("violations")) >= 5)
        assert asked == []
    page_log.clear()


def test_a_page_of_another_site_reads_nothing_and_changes_nothing(page: Page, page_log: PageLog, address: str) -> None:
    with foreign_site("<title>elsewhere</title>") as (elsewhere, _):
        page.goto(elsewhere)
        results = page.evaluate(
            """async (address) => {
              const tries = [
                ['config', {}],
                ['config', { credentials: 'include' }],
                ['gradio_api/queue/join', { method: 'POST', body: '{"data":[]}' }],
                ['lab/ask', { method: 'POST', body: '[]', headers: { 'Content-Type': 'application/json' } }],
                ['lab/upload', { method: 'POST', body: new FormData() }],
              ];
              return Promise.all(tries.map(([path, options]) =>
                fetch(address + path, options).then((answer) => answer.text(), () => 'blocked')));
            }""",
            address,
        )
        assert results == ["blocked"] * 5
        page.set_content(f'<iframe src="{address}"></iframe><script src="{address}config"></script>')
        page.wait_for_timeout(1000)
        assert page.frames[1].url.startswith("chrome-error:")
    page_log.clear()


def test_a_name_that_is_rebound_to_this_machine_shows_one_sentence(
    browser: Browser, chromium_path: str, address: str
) -> None:
    port = urlsplit(address).port
    flags = [*FLAGS, "--host-resolver-rules=MAP evil.example 127.0.0.1"]
    rebound = browser.browser_type.launch(executable_path=chromium_path, args=flags)
    try:
        page = rebound.new_page()
        answer = page.goto(f"http://evil.example:{port}/")
        assert answer is not None
        assert answer.status == 403
        expect(page.locator("body")).to_contain_text("not known by that name")
    finally:
        rebound.close()


def test_a_user_logs_in_and_out(page: Page, page_log: PageLog, tmp_path: Path) -> None:
    with serve(replace(little_settings(tmp_path), users={"ana": hash_password("word")})) as (address, _):
        page.goto(address)
        expect(page.get_by_text("a few wrong tries")).to_be_visible()
        page.get_by_label("username").fill("ana")
        page.get_by_label("password").fill("word")
        page.get_by_role("button", name="Login").click()
        expect(page.get_by_role("tab", name="Explore", exact=True)).to_be_visible()
        page.get_by_role("link", name="Log out").click()
        expect(page.get_by_role("button", name="Login")).to_be_visible()
    page_log.clear()
