"""The page is built, refuses what it cannot serve, and its modules and rules are served once."""

import gzip
import json
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from bertviz_lab import InputError
from bertviz_lab.cli.main import main
from bertviz_lab.ui.app import build, launch_options
from bertviz_lab.ui.components.standalone import DRAWINGS
from bertviz_lab.ui.server import assets
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.view import Workspace
from bertviz_lab.ui.views import VIEWS
from tests.ui.pages import little_settings, serve

ROOT = Path(__file__).parents[2]


def test_the_page_stays_light(settings: Settings) -> None:
    page = build(settings).get_config_file()
    assert [part["type"] for part in page["components"] if part["type"] != "api"] == ["html"]
    assert len(json.dumps(page)) <= 40_000  # bytes: Gradio never compresses them


def test_a_folder_that_cannot_be_written_is_told_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        build(Settings(runs_dir=tmp_path / "file", checkpoints=tmp_path))


def test_the_page_is_built_before_any_heavy_library_is_imported(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from bertviz_lab.ui.app import build, launch_options;"
        "from bertviz_lab.ui.settings import Settings; from bertviz_lab.ui.state.app_state import AppState;"
        f"s = Settings(runs_dir=Path({str(tmp_path)!r})); build(s); launch_options(AppState(s));"
        "heavy = ('torch', 'transformers', 'plotly', 'datasets', 'sklearn', 'matplotlib');"
        "print([m for m in heavy if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_nothing_is_reported_kept_or_published(settings: Settings) -> None:
    options = launch_options(AppState(settings))
    assert options["run_history"] is False
    assert options["enable_monitoring"] is False
    assert options["share"] is False


@pytest.mark.parametrize(
    ("host", "environment", "shared"),
    [
        ("127.0.0.1", {}, False),
        ("localhost", {}, False),
        ("0.0.0.0", {}, True),
        ("127.0.0.1", {"SPACE_ID": "a/b"}, True),
    ],
)
def test_a_page_that_strangers_reach_is_a_shared_one(
    host: str, environment: dict, shared: bool, tmp_path: Path
) -> None:
    settings = Settings.for_host(host, tmp_path, 2, environment)
    assert settings.shared is shared
    assert settings.threads >= 1


def test_a_number_of_runs_that_cannot_work_is_refused() -> None:
    with pytest.raises(InputError, match="--max-runs"):
        Settings(max_runs=0)


@pytest.mark.parametrize("arguments", [["--auth", "nobody"], ["--max-runs", "0"], ["--port", "not-a-port"]])
def test_the_command_refuses_what_it_cannot_do(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = main(["app", *arguments])
    except SystemExit as ended:  # of argparse
        code = ended.code
    assert code == 2
    assert "Traceback" not in capsys.readouterr().err


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


def test_every_view_is_declared_with_a_workspace_and_a_slot_that_the_page_has() -> None:
    assert {view.workspace for view in VIEWS} == {*get_args(Workspace), None}
    assert {view.slot for view in VIEWS} == {0, 1}
    folders = {path.parent.name for path in (ROOT / "bertviz_lab/ui/views").glob("*/view.py")}
    assert {view.id for view in VIEWS} == folders


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
