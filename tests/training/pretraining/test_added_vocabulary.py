"""A model that is trained on gains words of the new text: in tokenizer, embeddings, decoder and scores."""

import json
import math
from pathlib import Path

import pytest
import torch
import transformers

from bertviz_lab import load_checkpoint
from bertviz_lab.config import PretrainConfig
from bertviz_lab.errors import InputError
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.training.loop.growth import with_more_tokens
from bertviz_lab.training.pretraining.word_scores import bits_per_character
from bertviz_lab.training.runs.events import EvalDone
from tests.little import little_checkpoint
from tests.training.support import finish, resumes_exactly, short_run, started


@pytest.fixture(scope="module")
def base(text, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("base")
    finish(short_run(text, steps=4), folder)
    return folder / "model"


@pytest.fixture(scope="module")
def medical(text, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("medical") / "medical.txt"
    sentences = text.read_text(encoding="utf-8").replace("baker", "cardiologist").replace("river", "hypertension")
    path.write_text(sentences, encoding="utf-8")
    return path


def test_new_tokens_begin_as_the_mean_of_their_parts():
    model = little_checkpoint().model
    larger = with_more_tokens(model, {len(model.mlm.bias) + 1: [7, 9, 9]}, len(model.mlm.bias) + 2)
    for name in ("bert.embeddings.word.weight", "mlm.bias"):
        old, new = model.get_parameter(name), larger.get_parameter(name)
        assert torch.equal(new[:-2], old)
        assert torch.allclose(new[-1], (old[7] + 2 * old[9]) / 3)
    assert larger.config.vocab_size == len(larger.mlm.bias)


@pytest.mark.training
def test_a_run_gains_the_words_of_its_text_and_is_resumed_exactly(base, medical, tmp_path):
    config = short_run(medical, init_from=str(base), add_vocabulary=10)
    assert config.add_vocabulary == "10"
    assert resumes_exactly(config, tmp_path)
    folder, old = tmp_path / "whole", load_checkpoint(base)
    model = load_checkpoint(folder / "model")
    gained = model.tokenizer.tokens[old.tokenizer.vocab_size :]
    assert {"cardiologist", "hypertension"} <= set(gained)
    rows = json.loads((folder / "report.json").read_text())["added_vocabulary"]
    assert [row["piece"] for row in rows] == [*gained]
    assert all(row["saved"] == row["count"] * (len(row["parts"]) - 1) > 0 for row in rows)
    assert "pieces added to its vocabulary" in model.card

    theirs = transformers.AutoModelForPreTraining.from_pretrained(folder / "model").eval()
    ids = transformers.AutoTokenizer.from_pretrained(folder / "model")(
        "The cardiologist [MASK] hypertension."
    ).input_ids
    assert ids == list(model.tokenizer.encode("The cardiologist [MASK] hypertension.").ids)
    batch = torch.tensor([ids])
    assert torch.allclose(model.model(batch).prediction_logits, theirs(batch).prediction_logits, atol=1e-5)


def test_the_scores_before_and_after_are_bits_per_character_each_with_its_own_vocabulary(base, medical, tmp_path):
    events = finish(short_run(medical, init_from=str(base), add_vocabulary=10, steps=30), tmp_path / "run")
    first, *_, last = (event.metrics["bits_per_character"] for event in events if isinstance(event, EvalDone))
    assert last < first
    assert any("new pieces" in note and "cardiologist" in note for note in started(events).notes)
    plain = finish(short_run(medical, init_from=str(base), steps=1), tmp_path / "plain")
    assert next(event for event in plain if isinstance(event, EvalDone)).metrics["bits_per_character"] > 0


def test_bits_per_character_of_a_uniform_model_are_those_of_its_tokens():
    """Every token costs the logarithm of the vocabulary, so a word costs that for each of its pieces."""
    checkpoint = little_checkpoint()
    for name, parameter in checkpoint.model.named_parameters():
        if name.endswith(("word.weight", "mlm.bias")):
            torch.nn.init.zeros_(parameter)
    word = "the"
    pieces = len(checkpoint.tokenizer.encode(word)) - 2
    expected = pieces * math.log2(checkpoint.config.vocab_size) / len(word)
    assert bits_per_character(checkpoint.model, checkpoint.tokenizer, [word] * 3) == pytest.approx(expected, rel=1e-4)


def test_the_words_of_a_file_are_added(base, medical, tmp_path):
    words = tmp_path / "words.txt"
    words.write_text("Cardiologist\nhypertension crisis\n\n", encoding="utf-8")
    finish(short_run(medical, init_from=str(base), add_vocabulary=str(words), steps=1), tmp_path / "run")
    tokens = Tokenizer.load(tmp_path / "run" / "model").tokens
    assert {*tokens[Tokenizer.load(base).vocab_size :]} == {"cardiologist", "hypertension", "crisis"}
    card = load_checkpoint(tmp_path / "run").card
    assert "--add-vocabulary words.txt" in card
    assert str(tmp_path) not in card


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"add_vocabulary": "100"}, "use `init_from`"),
        ({"add_vocabulary": "0", "init_from": "m"}, "between 1 and 50,000"),
        ({"add_vocabulary": -3, "init_from": "m"}, "between 1 and 50,000"),
        ({"add_vocabulary": "9", "init_from": "m", "teacher": "m"}, "use `init_from`"),
    ],
)
def test_settings_that_add_nothing_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        PretrainConfig(corpus=("a",), **changes)


def test_a_file_that_is_not_there_is_named(base, medical, tmp_path):
    config = short_run(medical, init_from=str(base), add_vocabulary="no-such-file.txt")
    with pytest.raises(InputError, match=r"is a number, or a text file .* 'no-such-file.txt' is neither"):
        finish(config, tmp_path)
