"""The sentences that a model was trained on, and the same run without some of them."""

from pathlib import Path

import pytest

from bertviz_lab import InputError, Tokenizer
from bertviz_lab.config import PretrainConfig
from bertviz_lab.data.pretraining.split import split_corpus
from bertviz_lab.data.pretraining.tokenized_corpus import TokenizedCorpus
from bertviz_lab.data.samples import SAMPLES
from bertviz_lab.training.runs.training_text import read_training_text, without_sentences
from tests.little import little_folder
from tests.training.support import finish, short_run, write_text

CHECKPOINTS = Path(__file__).parents[3] / "checkpoints"


def test_a_shipped_model_of_a_sample_has_the_sentences_of_its_training_documents() -> None:
    tokenizer = Tokenizer.load(CHECKPOINTS / "tiny-town")
    text = read_training_text(CHECKPOINTS / "tiny-town", tokenizer)
    assert text.config.steps == 12_000
    sentences = {sentence.lower() for document in SAMPLES["tiny-town"].documents() for sentence in document.sentences}
    decoded = {tokenizer.decode(ids) for ids in text.sentences[:500]}
    assert decoded <= {sentence for sentence in sentences}
    assert 0.85 * 32_499 < text.counts.sum() < 0.95 * 32_499  # a tenth is held out
    assert len({ids.tobytes() for ids in text.sentences}) == len(text.sentences)
    assert text.learning_rate(1) < text.learning_rate(1500)
    with pytest.raises(InputError, match="text that this model was trained on is not here"):
        read_training_text(CHECKPOINTS / "wiki-mini", tokenizer)


def test_a_run_is_trained_again_without_some_of_its_sentences(tmp_path: Path) -> None:
    config = short_run(write_text(tmp_path / "text.txt"), vocab_size=90)
    finish(config, tmp_path / "run")
    tokenizer = Tokenizer.load(tmp_path / "run" / "tokenizer")
    text = read_training_text(tmp_path / "run", tokenizer)
    training, _ = split_corpus(TokenizedCorpus.open(tmp_path / "run" / "corpus"), min_documents=2)
    assert text.counts.sum() == sum(end - start for start, end in training.spans.tolist())
    left_out = tuple(tokenizer.decode(ids) for ids in text.sentences[:2])
    again = without_sentences(text.config, tmp_path / "run" / "tokenizer", left_out, 3)
    assert (again.steps, again.seed) == (3, config.seed)
    finish(again, tmp_path / "again")
    assert Tokenizer.load(tmp_path / "again" / "tokenizer").fingerprint == tokenizer.fingerprint
    rest = read_training_text(tmp_path / "again", tokenizer)
    kept = {ids.tobytes() for ids in rest.sentences}
    assert not {ids.tobytes() for ids in text.sentences[:2]} & kept
    before = TokenizedCorpus.open(tmp_path / "run" / "corpus")
    after = TokenizedCorpus.open(tmp_path / "again" / "corpus")
    assert after.documents == before.documents
    assert before.sentences - after.sentences >= text.counts[:2].sum()


def test_the_text_of_a_fine_tuning_or_a_stream_is_not_here(tmp_path: Path) -> None:
    folder = little_folder(tmp_path / "little")
    with pytest.raises(InputError, match="is not here"):
        read_training_text(folder, Tokenizer.load(folder))
    with pytest.raises(InputError, match="leave `streaming` out"):
        PretrainConfig(corpus=("a.jsonl",), streaming=True, without=("The cat sat.",))
