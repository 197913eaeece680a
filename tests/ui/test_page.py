import json
import subprocess
import sys
from pathlib import Path

import pytest

from bertviz_lab import InputError
from bertviz_lab.cli.main import main
from bertviz_lab.ui.app import build, launch_options
from bertviz_lab.ui.server.api import NAMES
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.state.app_state import AppState

ROOT = Path(__file__).parents[2]


def test_nothing_but_the_endpoints_is_public(settings: Settings) -> None:
    functions = build(settings).fns.values()
    assert sorted(f.api_name for f in functions) == sorted(NAMES)
    assert {f.api_visibility for f in functions} == {"public"}


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
