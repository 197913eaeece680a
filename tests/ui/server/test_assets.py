"""The page's modules and rules: served once, kept by the browser, and not in the page itself."""

import gzip
import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from bertviz_lab.ui.components.standalone import DRAWINGS
from bertviz_lab.ui.server import assets
from tests.ui.pages import little_settings, serve


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serve(little_settings(tmp_path_factory.mktemp("assets"))) as (address, _):
        yield address


@pytest.mark.parametrize("name", ["client/main.js", "site.js", "lab.css"])
@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_files_are_served_for_a_year(url: str, name: str, encoding: str) -> None:
    request = urllib.request.Request(f"{url}{assets.folder()}/{name}", headers={"Accept-Encoding": encoding})
    with urllib.request.urlopen(request, timeout=30) as answer:
        body = answer.read()
        assert "immutable" in answer.headers["Cache-Control"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert (gzip.decompress(body) if encoding == "gzip" else body).decode() == assets.files()[name]


@pytest.mark.parametrize("name", ["", "main.js", "client/../app.py", "%2e%2e%2fREADME.md", "app.py"])
def test_no_other_file_is_served(url: str, name: str) -> None:
    for folder in (assets.folder(), "lab-static/000000000000"):
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(f"{url}{folder}/{name}", timeout=30)
        with caught.value as answer:
            assert answer.code == 404


def test_the_page_has_the_import_map_before_any_script_of_gradio(url: str) -> None:
    with urllib.request.urlopen(url, timeout=30) as answer:
        page = answer.read().decode()
        assert int(answer.headers["Content-Length"]) == len(page.encode())
    assert page.count("importmap") == 1
    assert page.index("importmap") < page.index('type="module"')
    assert f'"lab/": "./{assets.folder()}/"' in page  # relative: holds behind a prefix


def test_every_import_is_a_file_and_every_preload_too() -> None:
    files = assets.files()
    imported = {name for text in files.values() for name in re.findall(r"from 'lab/([^']+)'", text)}
    preloaded = set(re.findall(r'href="[^"]+?/[0-9a-f]{12}/([^"]+)"', assets.head() + assets.head("workshop")))
    drawings = {drawing.module for drawing in DRAWINGS.values()}
    assert imported | preloaded | drawings <= files.keys()
    assert {name for name in files if name.endswith("/view.js")} >= {
        f"views/{view['id']}/view.js"
        for view in json.loads(re.search("VIEWS = (.*);", files["site.js"])[1])
        if view["workspace"] not in (None, "learn")
    }
