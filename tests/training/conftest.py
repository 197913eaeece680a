"""A text, a tokenizer of few tokens, and one thread: for models so small, more would only wait for each other."""

from pathlib import Path

import pytest

from bertviz_lab.config import PRESETS
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.training.checkpoints.checkpoint import save_checkpoint
from tests.little import little_folder
from tests.model.conftest import one_thread, same_random_stream_every_time
from tests.model.support import PRETRAINING
from tests.training.finetuning.support import Files
from tests.training.support import checkpoint_of, write_text

__all__ = ["one_thread", "same_random_stream_every_time"]


@pytest.fixture(scope="package")
def tokenizer() -> Tokenizer:
    """At most 53 tokens, as many as the small models of the tests have."""
    return Tokenizer.train(["one two three four five six seven eight nine ten"] * 3, vocab_size=53)


@pytest.fixture(scope="package")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty documents of six sentences."""
    return write_text(tmp_path_factory.mktemp("text") / "town.txt")


@pytest.fixture(autouse=True)
def _tiny_is_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PRESETS, "tiny", (2, 32, 2))


@pytest.fixture
def report_always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Report every step."""
    monkeypatch.setattr("bertviz_lab.training.loop.loop._report_due", lambda window, progress: True)


@pytest.fixture
def folder(tokenizer: Tokenizer, tmp_path: Path) -> Path:
    """A good checkpoint to be spoilt."""
    return save_checkpoint(checkpoint_of(PRETRAINING, tokenizer), tmp_path / "model")


@pytest.fixture(scope="package")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """A little model, and labelled examples of each task."""
    folder = tmp_path_factory.mktemp("labelled")
    little_folder(folder / "little")
    return Files(folder)
