"""The loss near the beginning and far from it is that of the same masked words."""

from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks import length
from benchmarks.corpus import Text
from bertviz_lab import load_checkpoint


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = "The river runs through the old town and reaches the sea . " * 90
    articles = [f"Article {number} is about a river.\n{long}\n\n" for number in range(4)]
    (tmp_path / "valid.txt").write_text("".join(articles) + "A short one.\n", encoding="utf-8")
    monkeypatch.setattr(length, "find_text", lambda: Text("made up", tmp_path, tmp_path / "valid.txt"))


@pytest.mark.usefixtures("text")
def test_only_articles_that_fill_both_windows_are_read() -> None:
    assert length.passages(load_checkpoint("wiki-tiny").tokenizer).shape == (4, length.PASSAGE)


@pytest.mark.usefixtures("text")
def test_the_same_words_have_a_loss_at_both_places() -> None:
    near, far = length.losses(load_checkpoint("wiki-tiny"))
    assert near.shape == far.shape == (4, 100)
    assert 0.1 < np.isfinite(near).mean() < 0.2
    assert np.array_equal(np.isfinite(near), np.isfinite(far))
    assert np.nanmin(near) >= 0


@pytest.mark.usefixtures("text")
def test_a_loss_is_that_of_the_word_at_its_place() -> None:
    checkpoint = load_checkpoint("wiki-tiny")
    ids, (near, far) = length.passages(checkpoint.tokenizer), length.losses(checkpoint)
    masked = np.random.default_rng(0).random(ids.shape) < 0.15
    for at, first, loss in ((length.NEAR, length.FAR.start - length.NEAR.start, near), (length.FAR, 0, far)):
        words = torch.from_numpy(ids[0, first : first + length.LENGTH - 2])
        read = words.masked_fill(torch.from_numpy(masked[0, first : first + len(words)]), checkpoint.tokenizer.mask_id)
        window = torch.tensor([[checkpoint.tokenizer.cls_id, *read.tolist(), checkpoint.tokenizer.sep_id]])
        with torch.no_grad():
            surprisal = -checkpoint.model(window).prediction_logits[0].log_softmax(-1)
        place = int(np.flatnonzero(np.isfinite(loss[0]))[0])
        position = at.start + place
        assert loss[0, place] == pytest.approx(float(surprisal[position, words[position - 1]]), rel=1e-3)


@pytest.mark.usefixtures("text")
def test_a_model_that_was_trained_on_short_texts_is_worse_far_from_the_beginning() -> None:
    measured = length.measure("wiki-tiny")
    assert measured["ratio"] > 1.1
    assert "wiki-tiny" in length.table({"text": "made up", "models": [measured]})
