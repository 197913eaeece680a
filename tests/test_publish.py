"""What `publish` refuses before it exports anything, and what a page carries. Pages are opened in tests/e2e."""

import json
import re
import shutil
from pathlib import Path

import pytest

from bertviz_lab.browser import site
from bertviz_lab.browser.recorded import recorded_dynamics, recorded_lessons
from bertviz_lab.errors import InputError
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views.dynamics import view
from tests.little import little_folder
from tests.ui.pages import little_settings
from tests.ui.snapshots import little_history


def test_a_taken_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="not an empty folder"):
        site.publish(["little"], tmp_path)
    with pytest.raises(InputError, match=r"ends in \.html"):
        site.publish(["little"], tmp_path / "file", single_file=True)


def test_two_models_of_one_name_are_refused_until_they_are_named(tmp_path: Path) -> None:
    folders = [str(little_folder(tmp_path / place / "mine")) for place in "ab"]
    with pytest.raises(InputError, match="--name mine mine2"):
        site.publish(folders, tmp_path / "page")


def test_a_model_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "_MOST_BYTES", 1000)
    with pytest.raises(InputError, match="choose a smaller model"):
        site.publish([str(little_folder(tmp_path / "little"))], tmp_path / "page")
    assert not (tmp_path / "page").exists()


def test_snapshots_that_are_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="mine has no snapshots"):
        site.publish([str(little_folder(tmp_path / "mine"))], tmp_path / "page", snapshots=3)
    for few in (1, -2):
        with pytest.raises(InputError, match=f"2 or more, or 0 for none, not {few}"):
            site.publish(["tiny-town"], tmp_path / "page", snapshots=few)


def test_training_dynamics_are_those_of_the_lab_at_the_first_the_last_and_snapshots_between(tmp_path: Path) -> None:
    """The model lies in a run's folder; the lab has the same with all of its snapshots."""
    state, run = AppState(little_settings(tmp_path / "lab")), tmp_path / "run"
    little_history(run / "model")
    shutil.copytree(run / "model", state.settings.checkpoints / "mine")
    for name in ("snapshots", "training.jsonl"):
        (run / "model" / name).rename(run / name.replace("training", "events"))
    recorded = recorded_dynamics(run / "model", "mine", 3, tmp_path / "scratch")
    assert recorded
    for history in recorded:
        opening = history["opening"]
        assert opening["steps"] == [0, 2, 20]
        for step in opening["steps"]:
            frame = json.loads(view.QUESTIONS["frame"].ask(state, opening["question"] | {"step": step}))
            assert opening["frames"][step] == frame


def test_a_model_without_lessons_gets_none(tmp_path: Path) -> None:
    assert recorded_lessons(AppState(little_settings(tmp_path)), ["little"], site.PUBLISHED) == {}


def test_modules_of_the_worker_import_those_before_them() -> None:
    """A single file gives each module its address before those that import it."""
    known: set[str] = set()
    for name in site.WORKER:
        imported = re.findall(r" from '\./([\w.]+)\.js';", site.browser_source(f"engine/{name}.js"))
        assert set(imported) <= known, name
        known.add(name)


def test_vendored_libraries_have_their_licences() -> None:
    folder = Path(site.__file__).parent / "vendor"
    assert {"LICENSE.onnxruntime", "LICENSE.tokenizers", "README.md"} <= {path.name for path in folder.iterdir()}
    assert sum(path.stat().st_size for path in folder.iterdir()) < 5_000_000
