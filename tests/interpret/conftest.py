"""A shipped model that has learnt a small world."""

import pytest

from bertviz_lab import Checkpoint, load_checkpoint


@pytest.fixture(scope="session")
def town() -> Checkpoint:
    return load_checkpoint("tiny-town")
