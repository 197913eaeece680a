"""What `publish` refuses before it exports anything, and what a page carries. Pages are opened in tests/e2e."""

import re
from pathlib import Path

import pytest

from bertviz_lab.browser import site
from bertviz_lab.browser.lessons import recorded_lessons
from bertviz_lab.errors import InputError
from bertviz_lab.ui.state.app_state import AppState
from tests.little import little_folder
from tests.ui.pages import little_settings


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


def test_a_model_without_lessons_gets_none(tmp_path: Path) -> None:
    assert recorded_lessons(AppState(little_settings(tmp_path)), ["little"], site.PUBLISHED) == {}


def test_modules_of_the_worker_import_those_before_them() -> None:
    """A single file gives each module its address before those that import it."""
    known: set[str] = set()
    for name in site._WORKER:
        imported = re.findall(r" from '\./([\w.]+)\.js';", site.engine_source(f"engine/{name}.js"))
        assert set(imported) <= known, name
        known.add(name)


def test_vendored_libraries_have_their_licences() -> None:
    folder = Path(site.__file__).parent / "vendor"
    assert {"LICENSE.onnxruntime", "LICENSE.tokenizers", "README.md"} <= {path.name for path in folder.iterdir()}
    assert sum(path.stat().st_size for path in folder.iterdir()) < 5_000_000
