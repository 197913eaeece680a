from pathlib import Path

import pytest

from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.state.app_state import AppState
from tests.ui.pages import event_loops, little_settings, measured_once, nothing_ahead

__all__ = ["event_loops", "measured_once", "nothing_ahead"]


@pytest.fixture(autouse=True)
def upload_folder(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """What a test writes into its temporary folder counts as uploaded."""
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path_factory.getbasetemp()))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return little_settings(tmp_path)


@pytest.fixture
def session(settings: Settings) -> AppState:
    return AppState(settings)
