"""The loss by position is that of masked tokens, and of nothing else."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks import length
from benchmarks.corpus import Text
from bertviz_lab import load_checkpoint


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = "The river runs through the old town and reaches the sea . " * 60
    articles = [f"Article {number} is about a river.\n{long}\n\n" for number in range(4)]
    (tmp_path / "valid.txt").write_text("".join(articles) + "A short one.\n", encoding="utf-8")
    monkeypatch.setattr(length, "find_text", lambda: Text("made up", tmp_path, tmp_path / "valid.txt"))


@pytest.mark.usefixtures("text")
def test_only_texts_that_fill_every_position_are_read() -> None:
    assert length.passages(load_checkpoint("wiki-tiny").tokenizer).shape == (4, length.LENGTH)


@pytest.mark.usefixtures("text")
def test_a_share_of_the_tokens_has_a_loss_and_special_tokens_have_none() -> None:
    loss = length.losses(load_checkpoint("wiki-tiny"))
    assert 0.12 < np.isfinite(loss).mean() < 0.18
    assert np.isnan(loss[:, [0, -1]]).all()
    assert np.nanmin(loss) >= 0


@pytest.mark.usefixtures("text")
def test_a_model_that_was_trained_on_short_texts_is_worse_far_from_the_beginning() -> None:
    measured = length.measure("wiki-tiny")
    assert measured["ratio"] > 1.1
    assert measured["near"] == pytest.approx(np.nanmean(length.losses(load_checkpoint("wiki-tiny"))[:, 50:150]))
    assert "wiki-tiny" in length.table({"text": "made up", "models": [measured]})
