"""Runs that go on: from their own checkpoint, to the last bit, and from another model."""

import shutil
import time

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from bertviz_lab.config import PretrainConfig
from bertviz_lab.errors import InputError
from bertviz_lab.model import BertForMaskedLM, BertForPreTraining
from bertviz_lab.training.checkpoints.checkpoint import load_checkpoint, save_checkpoint
from bertviz_lab.training.loop.loop import StepOutput
from bertviz_lab.training.pretraining.objective import PretrainingTask
from bertviz_lab.training.pretraining.pretrain import pretrain
from bertviz_lab.training.pretraining.setup import begin_with_frequencies
from bertviz_lab.training.runs.events import CheckpointSaved, EvalDone, Preparing, StepDone
from bertviz_lab.training.runs.run_folder import read_config
from tests.little import little_checkpoint
from tests.model.support import MASKED_LM
from tests.training.support import after, checkpoint_of, finish, identical, resumes_exactly, short_run, started, weights


@pytest.mark.parametrize(
    "changes",
    [
        {"dropout": 0.1},
        {"optimizer": "adamw", "dropout": 0.1},
        {"objective": "mlm", "whole_word": True, "batch_size": 64},  # several epochs
        {"position_embeddings": False, "segment_embeddings": False, "bidirectional": False, "layers": 3},
    ],
    ids=["dropout", "adamw", "epochs", "ablated"],
)
def test_half_a_run_and_the_other_half_are_the_whole_run_to_the_last_bit(changes, text, tmp_path):
    config = short_run(text, **changes)
    whole = finish(config, tmp_path / "whole")
    # The clock, and how often it is looked at, must not matter.
    often = short_run(text, **changes, eval_every=0.1, checkpoint_every=0.1)
    first = finish(often, tmp_path / "halves", should_stop=after(6))
    assert (first[-1].reason, first[-1].step) == ("stopped", 6)
    second = finish(often, tmp_path / "halves", resume=True)
    assert (second[-1].reason, second[-1].step) == ("finished", 12)
    assert started(second).step == 6
    assert not any(isinstance(event, Preparing) for event in second)

    assert identical(weights(tmp_path / "whole" / "model"), weights(tmp_path / "halves" / "model"))
    last = "checkpoints/step-00000012/optimizer.safetensors"
    assert identical(load_file(tmp_path / "whole" / last), load_file(tmp_path / "halves" / last))
    scores = [[e.metrics for e in events if isinstance(e, EvalDone)][-1] for events in (whole, second)]
    assert scores[0] == scores[1]
    assert whole[-2].tokens == second[-2].tokens


def slow_down(monkeypatch) -> None:
    """Steps of at least 30 ms, so that a checkpoint every 100 ms comes between them."""
    original = PretrainingTask.training_step

    def slow(self, model, batch, measure) -> StepOutput:
        time.sleep(0.03)
        return original(self, model, batch, measure)

    monkeypatch.setattr(PretrainingTask, "training_step", slow)


def test_a_run_that_was_killed_goes_on_from_its_last_checkpoint_to_the_same_model(
    text, tmp_path, monkeypatch, report_always
):
    slow_down(monkeypatch)
    config = short_run(text, dropout=0.1, checkpoint_every=0.1)
    finish(config, tmp_path / "whole")
    killed = pretrain(config, tmp_path / "killed")
    saved = 0
    for event in killed:
        if isinstance(event, CheckpointSaved):
            saved = event.step
        if saved and isinstance(event, StepDone) and event.step > saved:
            break
    killed.close()  # as if the process had died, some steps after its checkpoint
    assert 0 < saved < 12
    rest = finish(config, tmp_path / "killed", resume=True)
    assert started(rest).step == saved
    assert identical(weights(tmp_path / "whole" / "model"), weights(tmp_path / "killed" / "model"))


def test_a_run_without_a_checkpoint_begins_again_with_its_corpus(text, tmp_path):
    config = short_run(text)
    killed = pretrain(config, tmp_path / "run")
    for event in killed:
        if isinstance(event, StepDone):
            break
    killed.close()
    events = finish(config, tmp_path / "run", resume=True)
    assert [event.stage for event in events if isinstance(event, Preparing)] == ["resume"]
    assert started(events).step == 0
    finish(config, tmp_path / "fresh")
    assert identical(weights(tmp_path / "fresh" / "model"), weights(tmp_path / "run" / "model"))


def test_a_new_run_in_the_folder_of_another_never_resumes_on_its_corpus(text, tmp_path):
    finish(short_run(text), tmp_path)
    shutil.rmtree(tmp_path / "checkpoints")
    other = short_run(tmp_path / "not-there.txt")
    for resume in (False, True):
        with pytest.raises(InputError, match="There is no file"):
            finish(other, tmp_path, resume=resume)


def test_a_finished_run_can_be_given_more_steps(text, tmp_path):
    finish(short_run(text), tmp_path)
    events = finish(short_run(text, steps=15), tmp_path, resume=True)
    assert [started(events).step, events[-1].step] == [12, 15]


@pytest.mark.parametrize("name", ["ids.bin", "sentence_ends.bin", "frequencies.npy", "corpus.json"])
def test_a_byte_of_the_prepared_text_that_changed_is_one_sentence(name, text, tmp_path):
    config = short_run(text)
    finish(config, tmp_path, should_stop=after(3))
    path = tmp_path / "corpus" / name
    content = path.read_bytes()
    for place in (0, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x40]) + content[place + 1 :])
        with pytest.raises(InputError, match=r"The prepared text of this run is damaged \(.*corpus"):
            finish(config, tmp_path, resume=True)
    path.write_bytes(content)
    assert finish(config, tmp_path, resume=True)[-1].step == 12


def test_the_precision_of_a_run_is_written_before_its_first_step_and_kept(text, tmp_path, monkeypatch):
    monkeypatch.setattr("bertviz_lab.training.loop.hardware.cpu_multiplies_bf16", lambda: True)
    config = short_run(text, precision="auto")
    finish(config, tmp_path, should_stop=after(0))
    assert read_config(tmp_path).precision == "bf16"
    shutil.rmtree(tmp_path / "checkpoints")
    monkeypatch.setattr("bertviz_lab.training.loop.hardware.cpu_multiplies_bf16", lambda: False)  # another machine
    assert started(finish(config, tmp_path, resume=True)).precision == "bf16"
    assert read_config(tmp_path).resumed_with(precision="auto").precision == "bf16"


def test_it_keeps_tokenizer_shape_and_weights_and_measures_before_and_after(text, tmp_path):
    finish(short_run(text, vocab_size=90), tmp_path / "first")
    source = tmp_path / "first" / "model"
    events = finish(short_run(text, init_from=str(source), preset="mini", steps=3), tmp_path / "second")
    scores = [event for event in events if isinstance(event, EvalDone)]
    assert [scores[0].step, scores[-1].step] == [0, 3]
    assert scores[0].metrics["mlm_loss"] != scores[-1].metrics["mlm_loss"]
    found = load_checkpoint(tmp_path / "second" / "model")
    given = load_checkpoint(source)
    assert found.tokenizer.fingerprint == given.tokenizer.fingerprint
    assert (found.config.hidden_size, found.config.vocab_size) == (given.config.hidden_size, given.config.vocab_size)
    assert not identical(weights(source), weights(tmp_path / "second" / "model"))
    assert any("Continues pretraining first," in note for note in started(events).notes)
    assert "continued from first" in found.card
    assert "--init-from first" in found.card
    assert str(tmp_path) not in found.card, "where a person keeps files is nobody's business"
    assert not any("causal_loss" in e.metrics for e in events if isinstance(e, StepDone))


def test_a_run_from_a_model_is_gone_on_with_from_its_own_checkpoint(text, tmp_path):
    finish(short_run(text), tmp_path / "first")
    config = short_run(text, init_from=str(tmp_path / "first" / "model"), dropout=0.1)
    assert resumes_exactly(config, tmp_path, steps=6)


def test_what_does_not_fit_is_refused_before_anything_is_trained(text, tmp_path, tokenizer):
    source = save_checkpoint(checkpoint_of(MASKED_LM, tokenizer), tmp_path / "masked")
    with pytest.raises(InputError, match="reads at most 19 tokens; lower `seq_len`"):
        finish(short_run(text, init_from=str(source), seq_len=64), tmp_path / "run")
    with pytest.raises(InputError, match="brings its model's tokenizer"):
        PretrainConfig(corpus=("a",), init_from="x", tokenizer="y")
    with pytest.raises(InputError, match="no model folder"):
        finish(short_run(text, init_from=str(tmp_path / "none" / "such" / "model")), tmp_path / "other")


@pytest.mark.parametrize("kind", [BertForMaskedLM, BertForPreTraining])
def test_a_model_that_has_learnt_nothing_predicts_frequencies(kind: type) -> None:
    model = little_checkpoint(kind=kind).model.eval()
    counts = np.arange(model.config.vocab_size)
    begin_with_frequencies(model, counts)
    with torch.no_grad():
        model.bert.embeddings.word.weight.zero_()
        out = model(torch.tensor([[5, 6, 7]]))
        probabilities = (out.logits if kind is BertForMaskedLM else out.prediction_logits).softmax(-1)
    expected = torch.from_numpy(counts).clamp(min=1).float()
    assert torch.allclose(probabilities[0, 1], expected / expected.sum(), atol=1e-6)


def test_a_run_from_a_model_keeps_the_biases_and_embeddings_that_it_has_learnt(text, tmp_path) -> None:
    finish(short_run(text, steps=1, unigram_bias=False), tmp_path / "first")
    source = tmp_path / "first" / "model"
    finish(short_run(text, steps=1, learning_rate=1e-7, init_from=str(source)), tmp_path / "further")
    trained, further = (load_checkpoint(folder).model for folder in (source, tmp_path / "further" / "model"))
    assert torch.allclose(trained.mlm.bias, further.mlm.bias, atol=1e-6)
    assert torch.allclose(trained.bert.embeddings.word.weight, further.bert.embeddings.word.weight, atol=1e-6)


def test_word_embeddings_begin_as_vectors_of_the_text_and_special_tokens_at_random(text, tmp_path) -> None:
    models = {}
    for counted in (False, True):
        folder = tmp_path / str(counted)
        finish(short_run(text, steps=1, learning_rate=1e-7, word_vectors=counted), folder)
        models[counted] = load_checkpoint(folder / "model")
    random, counted = (models[kind].model.bert.embeddings.word.weight for kind in (False, True))
    changed = ~torch.isclose(random, counted, atol=1e-5).all(1)
    assert changed.sum() > 20
    assert not changed[sorted(models[True].tokenizer.special_ids)].any()
    sizes = (counted[changed] ** 2).mean(1).sqrt()
    assert torch.allclose(sizes, random.std().expand_as(sizes), rtol=0.25)
    cosines = torch.cosine_similarity(random[changed], counted[changed])
    assert 0.3 < cosines.mean() < 0.6  # a part of them stays random
