"""Firefox by its own remote protocol (Marionette): Playwright drives a build of its own only.

Messages are JSON behind their length, `[0, id, command, parameters]` and `[1, id, error, result]`. Commands are those
of WebDriver (firefox-source-docs.mozilla.org/testing/marionette).
"""

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import resources
from pathlib import Path
from typing import Any

from tests.processes import free_port

_START_SECONDS = 60.0
#: Keys as WebDriver spells them.
TAB, ENTER, RIGHT, ESCAPE = "\ue004", "\ue007", "\ue014", "\ue00c"
_COMPLAINTS = """
return axe.run().then(({ violations }) => violations
  .filter(({ impact }) => ['serious', 'critical'].includes(impact))
  .flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target}`)));"""


def find() -> str | None:
    """The path of Firefox; Debian calls it firefox-esr."""
    return shutil.which("firefox-esr") or shutil.which("firefox")


class Firefox:
    """A window of a browser that listens at a port."""

    def __init__(self, connection: socket.socket) -> None:
        self._stream = connection.makefile("rwb")
        self._asked = 0
        self._read()  # what it is
        self.command("WebDriver:NewSession", strictFileInteractability=True)

    def command(self, name: str, **parameters: Any) -> Any:
        """Return the result of a command. Raises `RuntimeError` with what the browser answers."""
        self._asked += 1
        text = json.dumps([0, self._asked, name, parameters]).encode()
        self._stream.write(str(len(text)).encode() + b":" + text)
        self._stream.flush()
        _, _, error, result = self._read()
        if error:
            raise RuntimeError(error["message"])
        return result.get("value", result) if isinstance(result, dict) else result

    def open(self, address: str) -> None:
        self.command("WebDriver:Navigate", url=address)

    def evaluate(self, script: str, *arguments: Any) -> Any:
        """Run the body of a function; a promise that it returns is waited for."""
        return self.command("WebDriver:ExecuteScript", script=script, args=arguments, scriptTimeout=60_000)

    def set_width(self, width: int) -> None:
        """Make the page as wide as that: a window cannot be narrower than 500 pixels, what it shows can."""
        self.command("Marionette:SetContext", value="chrome")
        self.evaluate("gBrowser.selectedBrowser.style.width = `${arguments[0]}px`", width)
        self.command("Marionette:SetContext", value="content")
        self.wait(f"innerWidth === {width}")

    def wait(self, condition: str, seconds: float = 30.0) -> None:
        """Wait until an expression is true in the page."""
        end = time.monotonic() + seconds
        while not self.evaluate(f"return Boolean({condition})"):
            assert time.monotonic() < end, f"in vain: {condition}"
            time.sleep(0.05)

    def press(self, *keys: str) -> None:
        """Press and release keys, one after the other, where the focus is."""
        strokes = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.command("WebDriver:PerformActions", actions=[{"type": "key", "id": "keyboard", "actions": strokes}])

    def tab_to(self, selector: str) -> None:
        """Press Tab until an element has the focus."""
        for _ in range(60):
            if self.evaluate("return document.activeElement.matches(arguments[0])", selector):
                return
            self.press(TAB)
        raise AssertionError(f"Tab does not lead to {selector}")

    def complaints(self) -> list[str]:
        """Return what axe finds, and whether the page is wider than its window."""
        axe = resources.files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
        found: list[str] = self.evaluate(axe + _COMPLAINTS)
        is_wide = self.evaluate("return document.documentElement.scrollWidth > innerWidth")
        return [*found, *(["wider than the window"] if is_wide else [])]

    def _read(self) -> Any:
        length = b""
        while not length.endswith(b":"):
            length += self._stream.read(1)
        return json.loads(self._stream.read(int(length[:-1])))


@contextmanager
def firefox(path: str, profile: Path) -> Iterator[Firefox]:
    """Start Firefox without a window on the screen, with a new profile."""
    port = free_port()
    profile.mkdir(parents=True)
    (profile / "user.js").write_text(f'user_pref("marionette.port", {port});\n', encoding="utf-8")
    options = ["--headless", "--marionette", "--remote-allow-system-access", "--no-remote", "--profile"]
    with subprocess.Popen(
        [path, *options, str(profile)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            with _connected(port) as connection:
                yield Firefox(connection)
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()


def _connected(port: int) -> socket.socket:
    end = time.monotonic() + _START_SECONDS
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=120)
        except OSError:
            assert time.monotonic() < end, "Firefox did not start"
            time.sleep(0.2)
