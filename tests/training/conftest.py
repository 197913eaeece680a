"""A text, a tokenizer of few tokens, and one thread: for models so small, more would only wait for each other."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from bertviz_lab.config import PRESETS
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.training.checkpoints.checkpoint import save_checkpoint
from tests.little import little_folder
from tests.model.support import PRETRAINING
from tests.training.finetuning.support import Files
from tests.training.support import checkpoint_of, write_text


@pytest.fixture(scope="package", autouse=True)
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(autouse=True)
def _same_random_stream_every_time() -> None:
    torch.manual_seed(0)


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
def folder(tokenizer: Tokenizer, tmp_path: Path) -> Path:
    """A good checkpoint to be spoilt."""
    return save_checkpoint(checkpoint_of(PRETRAINING, tokenizer), tmp_path / "model")


@pytest.fixture(scope="package")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """A little model, and labelled examples of each task."""
    folder = tmp_path_factory.mktemp("labelled")
    little_folder(folder / "little")
    return Files(folder)
