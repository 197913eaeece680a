from pathlib import Path

import pytest

from bertviz_lab.ui.session import Session
from bertviz_lab.ui.settings import Settings
from tests.ui.pages import event_loops, little_settings

__all__ = ["event_loops"]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return little_settings(tmp_path)


@pytest.fixture
def session(settings: Settings) -> Session:
    return Session(settings)
