"""The script and the style sheet of the page: served once, kept by the browser, and not in the page itself."""

import gzip
import importlib
import json
import pkgutil
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from bertviz_lab.ui import components
from bertviz_lab.ui.components.assemble import Assembly
from bertviz_lab.ui.server import bundle
from tests.ui.pages import little_settings, serve


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serve(little_settings(tmp_path_factory.mktemp("bundle"))) as (address, _):
        yield address


def names() -> list[str]:
    return [part.split('"')[0] for part in bundle.head().split('="')[1:] if part.startswith("lab-static/")]


def test_both_files_are_served_for_a_year_under_relative_names(url: str) -> None:
    assert len(names()) == 2
    for name, text in zip(names(), (bundle.script(), bundle.styles()), strict=True):
        for encoding in ("identity", "gzip"):
            request = urllib.request.Request(url + name, headers={"Accept-Encoding": encoding})
            with urllib.request.urlopen(request, timeout=30) as answer:
                body = answer.read()
                assert "immutable" in answer.headers["Cache-Control"]
                assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert (gzip.decompress(body) if encoding == "gzip" else body).decode() == text


@pytest.mark.parametrize("name", ["lab.js", "../app.py", "lab.000000000000.js", "%2e%2e%2fREADME.md"])
def test_no_other_file_is_served(url: str, name: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(f"{url}lab-static/{name}", timeout=30)
    with caught.value as answer:
        assert answer.code == 404


def test_the_page_carries_no_script_of_an_island(url: str) -> None:
    with urllib.request.urlopen(f"{url}config", timeout=30) as answer:
        components_of_page = json.load(answer)["components"]
    islands = [c["props"] for c in components_of_page if "window.Lab" in str(c["props"].get("js_on_load"))]
    assert islands
    assert max(len(props["js_on_load"]) for props in islands) < 300
    assert not any(props.get("css_template") for props in islands)


def test_every_island_is_in_the_bundle() -> None:
    written = {value for value in vars(bundle).values() if isinstance(value, Assembly)}
    for module in pkgutil.walk_packages(components.__path__, f"{components.__name__}."):
        values = vars(importlib.import_module(module.name)).values()
        written |= {value for value in values if isinstance(value, Assembly)}
    assert written == set(bundle.ISLANDS)
    assert len({island.name for island in bundle.ISLANDS}) == len(bundle.ISLANDS)


@pytest.mark.skipif(shutil.which("node") is None, reason="node is absent; the browser tests compile the script too")
def test_the_script_compiles(tmp_path: Path) -> None:
    (tmp_path / "lab.js").write_text(bundle.script())
    subprocess.run(["node", "--check", tmp_path / "lab.js"], check=True, timeout=60)
