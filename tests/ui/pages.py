"""A page of its own for a test: settings that point into a temporary folder, served at a free port."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import fastapi
import gradio as gr
import pytest

from bertviz_lab.config.limits import Limits
from bertviz_lab.confined.channel import Template
from bertviz_lab.errors import InputError
from bertviz_lab.jobs import WorkerProcesses
from bertviz_lab.ui.app import build, launch_options
from bertviz_lab.ui.server.assets import PageEngine
from bertviz_lab.ui.server.visitors import COOKIE, Visitor, owner_of
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.state.app_state import AppState
from tests.little import little_folder
from tests.processes import end_runs, free_port

#: Two browsers, by the keys that they keep.
OWNERS_KEY, STRANGERS_KEY = "o" * 43, "s" * 43
OWNER, STRANGER = (Visitor(owner=owner_of(key)) for key in (OWNERS_KEY, STRANGERS_KEY))


def request_of(key: str = OWNERS_KEY, address: str = "192.0.2.1", query: str = "") -> gr.Request:
    """What a handler is told of a browser with a key, whose page has `query` in its address."""
    headers = [(b"cookie", f"{COOKIE}={key}".encode())]
    scope = {"type": "http", "method": "POST", "headers": headers, "client": (address, 1)}
    scope |= {"query_string": query.encode()}
    return gr.Request(fastapi.Request(scope))


def little_settings(folder: Path, *, shared: bool = False, models: bool = True) -> Settings:
    """One little model named "little" ships; runs and models lie in the folder."""
    if models:
        little_folder(folder / "checkpoints" / "little")
    return Settings(
        runs_dir=folder / "runs", checkpoints=folder / "checkpoints", limits=Limits.of(shared=shared), max_runs=3
    )


class PageReader(HTMLParser):
    """The words of a page in its own language, its addresses, and the names of what its script keeps fresh."""

    def __init__(self, page: str, language: str = "en") -> None:
        super().__init__()
        self.words, self.language, self._own, self._skipped = "", "", language, 0
        self.addresses: list[str] = []
        self.told: set[str] = set()
        self.shares: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        if tag == "html":
            self.language = named.get("lang", "")
        elif self._skipped or named.get("lang", self._own) != self._own or tag in ("style", "script"):
            self._skipped += tag not in ("br", "input", "meta", "link")
        self.words += "".join(f" {named[name]} " for name in ("aria-label", "data-question") if name in named)
        self.addresses += [named[name] for name in ("src", "href") if name in named]
        self.told |= {named["data-told"]} if "data-told" in named else set()
        self.shares |= {named["data-share"]} if "data-share" in named else set()

    def handle_endtag(self, tag: str) -> None:
        self._skipped -= self._skipped > 0

    def handle_data(self, data: str) -> None:
        self.words += "" if self._skipped else data


#: The address of a running page, and its session.
Served = tuple[str, AppState]


@contextmanager
def serve(
    settings: Settings, engine_of: Callable[[AppState], PageEngine | None] = lambda state: None
) -> Iterator[Served]:
    """The address of a running page, and its session; its trainings end with it."""
    port, session = free_port(), AppState(settings)
    with suppress(InputError):  # a page without models
        session.models.open()
    page = build(settings, session)
    try:
        options = launch_options(session, engine_of(session))
        page.launch(server_name="127.0.0.1", server_port=port, prevent_thread_lock=True, **options)
        yield f"http://127.0.0.1:{port}/", session
    finally:
        page.close()
        session.scheduler.wait()
        end_runs(session.runs)


@pytest.fixture(scope="session", autouse=True)
def event_loops() -> Iterator[None]:
    """Close the event loops that Gradio makes with every page and then forgets, which Python warns of."""
    make, made = asyncio.new_event_loop, []

    def remembering() -> asyncio.AbstractEventLoop:
        made.append(make())
        return made[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asyncio, "new_event_loop", remembering)
        yield
    for loop in made:
        if not loop.is_running() and not loop.is_closed():
            loop.close()


MEASURED: dict[tuple[Any, ...], Any] = {}


@pytest.fixture(scope="session", autouse=True)
def measured_once() -> Iterator[None]:
    """What takes seconds and is the same for all sessions: what lessons measure, and what samples hold.

    Each session would also start a process of its own that imports all that reading files needs.
    """
    remembered = AppState.remembered
    templates: dict[Sequence[str], Template] = {}

    def remembered_by_all(state: AppState, question: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        if question[0] != "lesson" and "sample:" not in str(question):
            return remembered(state, question, make)
        if question not in MEASURED:
            MEASURED[question] = remembered(state, question, make)
        return MEASURED[question]

    def template_of_all(preload: Sequence[str]) -> Template:
        if preload not in templates or not templates[preload].is_alive:
            templates[preload] = Template(preload)
        return templates[preload]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AppState, "remembered", remembered_by_all)
        patch.setattr("bertviz_lab.confined.run.Template", template_of_all)
        yield


@pytest.fixture(autouse=True)
def nothing_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """No process waits for a run that hardly a test starts: it imports for seconds of a core."""
    monkeypatch.setattr(WorkerProcesses, "warm_up", lambda _: None)
