"""From a text to a model: the whole run, whole or in parts, and what goes wrong with it clearly."""

import json
import math
import os
import shutil
import threading
from dataclasses import replace

import pytest
import torch
import transformers

from bertviz_lab import interpret
from bertviz_lab.config import PretrainConfig
from bertviz_lab.config.family_notes import differences
from bertviz_lab.data.pretraining.tokenized_corpus import TokenizedCorpus
from bertviz_lab.errors import InputError
from bertviz_lab.model import BertForMaskedLM, BertForPreTraining
from bertviz_lab.model.encoder import set_gradient_checkpointing
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.training.checkpoints.checkpoint import load_checkpoint
from bertviz_lab.training.loop.loop import StepOutput
from bertviz_lab.training.pretraining.evaluate import FULL_EVAL, eval_batches, evaluate_text
from bertviz_lab.training.pretraining.objective import PretrainingTask
from bertviz_lab.training.pretraining.pretrain import pretrain
from bertviz_lab.training.pretraining.setup import build_data
from bertviz_lab.training.runs.events import EvalDone, Preparing, RunFinished, RunStarted, StepDone
from tests.model.support import small_config
from tests.training.support import (
    SHARED_RUN,
    after,
    finish,
    identical,
    launch,
    logged,
    resumes_exactly,
    same,
    short_run,
    started,
    time_limit,
    weights,
    write_text,
)

#: What every run of two layers says.
STACKED = (
    "The word embeddings begin as word vectors of the text: tokens with the same neighbors are alike.",
    "Progressive stacking: 1 of 2 layers is trained at first, all from 80% of the run on.",
)


def test_a_run_goes_from_a_text_to_a_model_that_transformers_opens(text, tmp_path):
    folder = tmp_path / "run"
    events = finish(short_run(text), folder)
    kinds = [type(event) for event in events]
    stages = [event.stage for event in events if isinstance(event, Preparing)]
    assert list(dict.fromkeys(stages)) == ["read", "vocabulary", "tokenize"]
    assert kinds.index(RunStarted) == len(stages)
    assert kinds[-1] is RunFinished
    assert events[-1].reason == "finished"
    assert events[-1].path == str(folder / "model")

    loaded = load_checkpoint(folder / "model")
    assert type(loaded.model) is BertForPreTraining
    assert loaded.report.missing == loaded.report.unexpected == ()
    assert loaded.tokenizer.fingerprint == Tokenizer.load(folder / "tokenizer").fingerprint
    theirs = transformers.AutoModelForPreTraining.from_pretrained(folder / "model").eval()
    ids = torch.tensor([loaded.tokenizer.encode("the cat sat on [MASK].").ids])
    assert torch.allclose(loaded.model(ids).prediction_logits, theirs(ids).prediction_logits, atol=1e-5)


def test_what_is_announced_is_what_is_trained(text, tmp_path):
    events = finish(short_run(text), tmp_path)
    event = started(events)
    tokenizer = Tokenizer.load(tmp_path / "tokenizer")
    model = load_checkpoint(tmp_path / "model").model
    assert event.vocab_size == tokenizer.vocab_size <= 120
    assert event.parameters == sum(parameter.numel() for parameter in model.parameters())
    assert (event.total_steps, event.time_budget, event.objective) == (12, None, "mlm+nsp")
    assert (event.precision, event.device, event.threads) == ("fp32", "cpu", 1)
    assert event.notes == STACKED
    counts = TokenizedCorpus.open(tmp_path / "corpus").counts(tokenizer.vocab_size)
    share = counts[counts > 0] / counts.sum()
    assert event.baselines["mlm_loss"] == pytest.approx(math.log(tokenizer.vocab_size))
    assert event.baselines["nsp_loss"] == pytest.approx(math.log(2))
    assert event.baselines["unigram_entropy"] == pytest.approx(-float((share * [math.log(p) for p in share]).sum()))
    assert event.baselines["unigram_accuracy"] == pytest.approx(counts.max() / counts.sum())
    assert event.baselines["unigram_entropy"] < event.baselines["mlm_loss"]


@pytest.mark.parametrize("balanced", [True, False])
def test_pairs_are_scored_beside_their_majority_class(text, tmp_path, balanced):
    """Where one sentence fills the room of two there is no next one: in Google's code such pairs are random."""
    run = short_run(text, seq_len=12, balanced_pairs=balanced)
    event = started(finish(run, tmp_path))
    tokenizer = Tokenizer.load(tmp_path / "tokenizer")
    held_out = build_data(run, tokenizer, TokenizedCorpus.open(tmp_path / "corpus")).held_out
    batches = [batch.next_sentence_label for batch in eval_batches(held_out, FULL_EVAL)]
    random = float(torch.cat([labels for labels in batches if labels is not None]).float().mean())
    assert event.baselines["nsp_majority"] == pytest.approx(max(random, 1 - random))
    entropy = -random * math.log(random) - (1 - random) * math.log(1 - random)
    assert event.baselines["nsp_entropy"] == pytest.approx(entropy)
    assert random == pytest.approx(0.5, abs=0.02) if balanced else random > 0.5 + 0.05
    assert load_checkpoint(tmp_path / "model").config.balanced_pairs is (balanced or None)


def test_the_first_loss_is_that_of_guessing_and_it_falls(text, tmp_path):
    events = finish(short_run(text, steps=60, learning_rate=2e-3, batch_size=16, unigram_bias=False), tmp_path)
    steps = [event for event in events if isinstance(event, StepDone)]
    baselines = started(events).baselines
    assert steps[0].metrics["mlm_loss"] == pytest.approx(baselines["mlm_loss"], rel=0.05)
    assert steps[0].metrics["nsp_loss"] == pytest.approx(baselines["nsp_loss"], abs=0.05)
    assert steps[0].loss == pytest.approx(steps[0].metrics["mlm_loss"] + steps[0].metrics["nsp_loss"], rel=1e-5)
    last = [event for event in events if isinstance(event, EvalDone)][-1]
    scores = {"mlm_loss", "mlm_accuracy", "nsp_loss", "nsp_accuracy", "nsp_accuracy_se", "nsp_majority"}
    assert last.metrics.keys() == scores
    assert last.metrics["mlm_loss"] < steps[0].metrics["mlm_loss"] - 0.5


def test_a_step_without_pairs_has_no_nsp_score(text, tmp_path, monkeypatch):
    """Texts are batched by length, and one without a second is shorter: some batches have no pair."""
    step, seen = PretrainingTask.training_step, []

    def watched(task, model, batch, measure):
        out = step(task, model, batch, measure)
        seen.append((batch.pair_count > 0, {"nsp_loss", "nsp_accuracy"} & out.metrics.keys()))
        return out

    monkeypatch.setattr(PretrainingTask, "training_step", watched)
    finish(short_run(text, single_share=0.8, steps=40), tmp_path)
    assert {has_pairs for has_pairs, _ in seen} == {True, False}
    assert all(bool(scores) == has_pairs for has_pairs, scores in seen)


def test_the_folder_holds_what_is_needed_to_repeat_the_run(text, tmp_path):
    config = short_run(text)
    events = finish(config, tmp_path)
    assert PretrainConfig.from_dict(json.loads((tmp_path / "config.json").read_text())) == config
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["step"] == 12
    assert report["reason"] == "finished"
    assert report["scores"] == [event for event in events if isinstance(event, EvalDone)][-1].metrics
    assert not (tmp_path / "corpus.txt").exists(), "the text itself is not kept"
    hidden = [name for _, _, names in os.walk(tmp_path) for name in names if name.startswith(".")]
    assert not hidden


def test_the_card_states_text_command_and_measured_scores(text, tmp_path):
    events = finish(short_run(text), tmp_path)
    card = load_checkpoint(tmp_path / "model").card
    scores = [event for event in events if isinstance(event, EvalDone)][-1].metrics
    assert f"| MLM accuracy | {scores['mlm_accuracy']:.1%} |" in card
    assert "town.txt" in card
    assert str(text.parent) not in card, "where a person keeps files is nobody's business"
    assert "40 documents, 240 sentences" in card
    assert "--preset tiny" in card
    assert "--steps 12" in card


def test_the_same_seed_trains_the_same_model_and_another_seed_another(text, tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        finish(short_run(text, seed=seed, steps=4, dropout=0.1), tmp_path / name)
    a, b, c = (weights(tmp_path / name / "model") for name in "abc")
    assert identical(a, b)
    assert not identical(a, c)


def nan_at(step: int, monkeypatch) -> None:
    """From the `step`-th forward pass on, the loss is no number."""
    taken = [0]
    original = PretrainingTask.training_step

    def spoilt(self, model, batch, measure) -> StepOutput:
        taken[0] += 1
        out = original(self, model, batch, measure)
        return StepOutput(out.loss * float("nan"), out.metrics) if taken[0] >= step else out

    monkeypatch.setattr(PretrainingTask, "training_step", spoilt)


@pytest.fixture
def new_threads():
    before = set(threading.enumerate())
    return lambda: [thread.name for thread in set(threading.enumerate()) - before]


def test_no_thread_is_left_when_a_run_is_finished_stopped_abandoned_or_broken(text, tmp_path, monkeypatch, new_threads):
    finish(short_run(text), tmp_path / "finished")
    assert new_threads() == []
    finish(short_run(text), tmp_path / "stopped", should_stop=after(3))
    assert new_threads() == []
    run = pretrain(short_run(text), tmp_path / "abandoned")
    next(event for event in run if isinstance(event, StepDone))
    assert new_threads() == ["prefetch_0"]
    run.close()
    assert new_threads() == []
    nan_at(3, monkeypatch)
    with pytest.raises(InputError, match="infinite or NaN"):
        finish(short_run(text), tmp_path / "broken")
    assert new_threads() == []


@pytest.mark.parametrize(
    ("documents", "sentences", "note"), [(1, 40, "sentence pairs are left out"), (30, 1, "no sentence has a next one")]
)
def test_a_text_without_pairs_trains_masked_words_only_and_says_so(documents, sentences, note, tmp_path):
    text = write_text(tmp_path / "text.txt", documents, sentences)
    events = finish(short_run(text, steps=3), tmp_path / "run")
    event = started(events)
    assert event.objective == "mlm"
    assert "nsp_loss" not in event.baselines
    assert note in event.notes[0]
    assert event.notes[1:] == STACKED, "the end of a single document is held out"
    assert type(load_checkpoint(tmp_path / "run" / "model").model) is BertForMaskedLM
    assert all("nsp_loss" not in e.metrics for e in events if isinstance(e, (StepDone, EvalDone)))


def test_a_text_too_short_to_hold_some_of_it_out_is_scored_on_what_it_is_trained_on(tmp_path):
    text = write_text(tmp_path / "short.txt", documents=2, sentences=3)
    events = finish(short_run(text, steps=3), tmp_path / "run")
    assert any("also trained on" in note for note in started(events).notes)
    assert events[-1].reason == "finished"


@pytest.mark.parametrize("objective", ["mlm+sop", "mlm+nsp"])
def test_sentence_pairs_that_only_training_text_has_are_trained_on_and_not_scored(objective, tmp_path):
    # 30 documents, of which only the first, which stays in training, has a second sentence.
    lines = ["The cat sat on the mat.\nA dog looked at the red house.", *["The old man walked around a tree."] * 29]
    (tmp_path / "text.txt").write_text("\n\n".join(lines))
    with time_limit(60):
        events = finish(short_run(tmp_path / "text.txt", objective=objective, steps=3), tmp_path / "run")
    assert started(events).objective == objective
    assert "not scored" in started(events).notes[0]
    assert type(load_checkpoint(tmp_path / "run" / "model").model) is BertForPreTraining
    scores = [event.metrics for event in events if isinstance(event, EvalDone)]
    assert all("mlm_loss" in metrics and "nsp_loss" not in metrics for metrics in scores)


def test_a_bert_of_sentence_order_says_so_and_is_not_taken_for_one_of_next_sentences(text, tmp_path):
    finish(short_run(text, objective="mlm+sop", steps=2), tmp_path / "sop")
    model = load_checkpoint(tmp_path / "sop" / "model")
    assert (model.config.has_sop, model.config.has_nsp) == (True, False)
    assert interpret.target_kinds(model) == ("token",)
    assert "SOP accuracy" in model.card
    assert "NSP" not in model.card
    with pytest.raises(InputError, match="but on the order of two passages"):
        interpret.next_sentence(model, "The cat sat.", "It slept.")
    with pytest.raises(InputError, match="not pretrained on next-sentence prediction; choose the task mlm"):
        evaluate_text(model, [str(text)], "nsp")
    (note,) = differences(model.config)
    assert "This BERT was pretrained on sentence-order prediction (SOP)" in note
    finish(short_run(text, init_from=str(tmp_path / "sop" / "model"), objective="mlm+nsp", steps=2), tmp_path / "nsp")
    assert load_checkpoint(tmp_path / "nsp" / "model").config.has_nsp


def test_a_run_without_its_prepared_text_is_not_resumed_and_keeps_its_checkpoints(text, tmp_path):
    finish(short_run(text, keep_checkpoints=3), tmp_path / "run", should_stop=after(6))
    finish(short_run(text, keep_checkpoints=3), tmp_path / "run", resume=True, should_stop=after(3))
    shutil.rmtree(tmp_path / "run" / "corpus")
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    assert len({path.parent for path in before if path.parent.parent.name == "checkpoints"}) == 2
    with pytest.raises(InputError, match=r"^The prepared text of this run, .*corpus, is gone, so step-00000009 cannot"):
        finish(short_run(text, seed=9), tmp_path / "run", resume=True)
    assert {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()} == before


def test_a_run_stopped_before_its_text_was_prepared_starts_over_when_it_is_resumed(text, tmp_path):
    events = list(pretrain(short_run(text), tmp_path / "run", should_stop=lambda: True))
    assert (events[-1].reason, events[-1].path) == ("stopped", "")
    assert finish(short_run(text), tmp_path / "run", resume=True)[-1].reason == "finished"


def losses(events) -> list[float]:
    return [event.loss for event in events if isinstance(event, StepDone)]


@pytest.mark.parametrize("objective", ["mlm+nsp", "mlm", "mlm+sop", "rtd"])
def test_a_step_in_parts_is_the_step_as_a_whole(text, tmp_path, objective, report_always):
    # AdamW, because Muon works in 16 bits, which makes a last digit a third one. Masks differ in number from row to
    # row, so a mean of the parts' means would be another gradient.
    runs = {}
    for parts in (1, 3):
        options = {"objective": objective, "optimizer": "adamw", "batch_size": 7, "short_seq_probability": 0.5}
        config = short_run(text, **options, gradient_accumulation_steps=parts)
        runs[parts] = finish(config, tmp_path / str(parts))
    assert losses(runs[3]) == pytest.approx(losses(runs[1]), abs=1e-5)
    assert same(weights(tmp_path / "1" / "model"), weights(tmp_path / "3" / "model"))
    scores = [[e for e in events if isinstance(e, EvalDone)][-1].metrics for events in runs.values()]
    assert scores[0] == pytest.approx(scores[1], abs=1e-4)


@pytest.mark.slow
def test_two_processes_train_the_model_that_one_trains(text, tmp_path, monkeypatch):
    monkeypatch.undo()  # the processes know the real sizes of models
    ended = tmp_path / "ended"
    launch({**SHARED_RUN, "corpus": text}, tmp_path / "two", 2, "--notify-command", f"echo ended >> {ended}")
    assert ended.read_text() == "ended\n", "one process reports"
    config = short_run(text, **SHARED_RUN)
    events = finish(replace(config, gradient_accumulation_steps=2), tmp_path / "one")
    assert same(weights(tmp_path / "one" / "model"), weights(tmp_path / "two" / "model"))
    first = [loss for _, loss in logged(tmp_path / "two")][:3]
    assert first == pytest.approx(losses(events)[:3], abs=1e-5)
    tokens = {json.loads((tmp_path / name / "report.json").read_text())["tokens"] for name in ("one", "two")}
    assert len(tokens) == 1, "each example is seen once"
    for name in ("one", "two"):  # resumed by another number of processes
        finish(replace(config, steps=9), tmp_path / name, resume=True)
    assert same(weights(tmp_path / "one" / "model"), weights(tmp_path / "two" / "model"), 1e-4)


def test_in_fp16_the_loss_scale_is_saved_and_restored(text, tmp_path):
    assert resumes_exactly(short_run(text, precision="fp16"), tmp_path)
    saved = tmp_path / "whole" / "checkpoints" / "step-00000012" / "trainer.json"
    assert json.loads(saved.read_text())["scale"]["scale"] > 1.0


def test_it_may_be_turned_on_when_a_run_is_resumed(text, tmp_path):
    assert resumes_exactly(short_run(text, dropout=0.1), tmp_path, gradient_checkpointing=True)


def kept_bytes(on: bool) -> int:
    """What a forward pass keeps for the backward pass."""
    config = small_config(num_hidden_layers=6)
    model = BertForPreTraining(config, generator=torch.Generator().manual_seed(0)).train()
    set_gradient_checkpointing(model, on)
    kept: dict[int, int] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    ids = torch.randint(5, config.vocab_size, (8, config.max_position_embeddings))
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        model(ids, labels=ids)
    own = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    return sum(size for place, size in kept.items() if place not in own)


def test_less_is_kept_for_the_backward_pass():
    assert kept_bytes(True) < 0.5 * kept_bytes(False)
