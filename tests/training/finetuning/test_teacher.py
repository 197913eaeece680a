"""Fine-tuning with a teacher: what it makes of the examples, and that the student follows it."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity, mse_loss

from bertviz_lab.data.examples import read_examples
from bertviz_lab.data.tasks.batches import Limits, encode_examples
from bertviz_lab.errors import InputError
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.training.checkpoints.checkpoint import load_checkpoint, save_checkpoint
from bertviz_lab.training.finetuning import setup
from bertviz_lab.training.finetuning.predict import predict_with, teacher_outputs
from bertviz_lab.training.finetuning.tasks import task_for
from bertviz_lab.training.finetuning.tasks.base import FinetuningTask
from bertviz_lab.training.finetuning.tasks.embeddings import relation_loss
from bertviz_lab.training.loop.hardware import choose_hardware
from tests.little import little_folder, little_text, little_tokenizer
from tests.training.finetuning.embeddings.support import config_for
from tests.training.finetuning.support import LIMITS, batch_of, examples, features_of, finish, labels_of
from tests.training.support import resumes_exactly, weights

TEACHABLE = ("classification", "multilabel")
WITH_TOKENS = ("tokens", "qa")
#: A student whose tokens are not its teacher's.
_OTHER_TOKENS = Tokenizer.train(little_text().splitlines(), vocab_size=90)


@pytest.fixture(scope="module")
def teachers(files, tmp_path_factory) -> dict[str, str]:
    """A teacher of each task, with a hidden size that no student here has."""
    folder = tmp_path_factory.mktemp("teachers")
    little_folder(folder / "start", hidden_size=16)
    finish(config_for(files, folder, "pairs", model=str(folder / "start"), epochs=1), folder / "embeddings")
    for task in (*TEACHABLE, *WITH_TOKENS, "regression"):
        finish(files.config(task, model=str(folder / "start")), folder / task)
    return {task: str(folder / task / "model") for task in ("embeddings", "regression", *TEACHABLE, *WITH_TOKENS)}


def outputs_of(name: str, rows: tuple, task: FinetuningTask, tokenizer: Tokenizer, limits: Limits = LIMITS) -> Tensor:
    """What a student with this tokenizer follows of a teacher."""
    features = encode_examples(rows, task.name, tokenizer, task.labels, limits)
    return teacher_outputs(name, rows, features, task, limits, choose_hardware("fp32", 1))


@pytest.mark.parametrize("task", TEACHABLE)
def test_a_teacher_gives_each_example_its_logits_in_the_order_of_the_student_s_labels(task, teachers) -> None:
    rows = examples(task)
    labels = labels_of(rows)[::-1]
    outputs = outputs_of(teachers[task], rows, task_for(task, labels), _OTHER_TOKENS)
    probabilities = outputs.softmax(-1) if task == "classification" else outputs.sigmoid()
    predictions, _ = predict_with(load_checkpoint(teachers[task]), rows, max_length=48)
    expected = torch.tensor([p.probabilities[::-1] for p in predictions])
    torch.testing.assert_close(probabilities, expected, atol=1e-5, rtol=0)


def test_a_teacher_gives_each_word_its_logits_at_the_first_of_the_student_s_pieces(teachers) -> None:
    rows = examples("tokens")
    labels, limits = labels_of(rows)[::-1], replace(LIMITS, max_length=16)  # long sentences have several rows
    features = encode_examples(rows, "tokens", _OTHER_TOKENS, labels, limits)
    outputs = outputs_of(teachers["tokens"], rows, task_for("tokens", labels), _OTHER_TOKENS, limits)
    assert len(features) > len(rows)
    own: dict[int, list[str]] = {}
    for owner, word_starts, row in zip(features.examples, features.word_starts, outputs, strict=True):
        own.setdefault(owner, []).extend(labels[place] for place in row[word_starts].argmax(-1))
    predictions, _ = predict_with(load_checkpoint(teachers["tokens"]), rows, max_length=16)
    assert [tuple(own[n]) for n in range(len(rows))] == [prediction.labels for prediction in predictions]


def test_a_teacher_shows_where_its_answer_is_among_the_student_s_tokens(teachers) -> None:
    rows, limits = examples("qa"), replace(LIMITS, max_length=64)  # a passage is one row
    features = encode_examples(rows, "qa", _OTHER_TOKENS, (), limits)
    outputs = outputs_of(teachers["qa"], rows, task_for("qa"), _OTHER_TOKENS, limits)
    torch.testing.assert_close(outputs.float().sum(-1), torch.ones(len(features), 2), atol=2e-3, rtol=0)
    teacher = load_checkpoint(teachers["qa"])
    read = encode_examples(rows, "qa", teacher.tokenizer, (), limits)
    own = outputs_of(teachers["qa"], rows, task_for("qa"), teacher.tokenizer, limits)
    compared = 0
    for window, theirs, shares, their_shares in zip(features.windows, read.windows, outputs, own, strict=True):
        passage = slice(theirs.passage_start, theirs.passage_end)  # the little teacher is sure of no answer
        starts, ends = (their_shares[:, passage].argmax(-1) + theirs.passage_start).tolist()
        for side, place in enumerate((starts, ends)):
            character = theirs.span(place, place)[side] - side
            token = int(np.searchsorted(window.spans[:, 0], character, side="right")) - 1
            assert window.spans[token, 0] <= character < window.spans[token, 1]
            assert shares[side, window.passage_start + token] >= their_shares[side, place] - 1e-3
            compared += 1
    assert compared == 2 * len(rows)


@pytest.mark.parametrize("task", ["classification", "embeddings", *WITH_TOKENS])
def test_a_student_comes_nearer_to_its_teacher_than_without_it(task, files, teachers, tmp_path) -> None:
    def distance(name: str, **options) -> float:
        options |= {"epochs": 8, "learning_rate": 2e-3, "dropout": 0.0}
        embeds = task == "embeddings"
        config = config_for(files, tmp_path, "pairs", **options) if embeds else files.config(task, **options)
        finish(config, tmp_path / name)
        rows = read_examples(tmp_path / name / "examples" / "train.jsonl")
        student = load_checkpoint(tmp_path / name / "model")
        kind = task_for(task, student.config.labels if task in ("classification", "tokens") else ())
        theirs, own = (
            outputs_of(model, rows, kind, student.tokenizer).float()
            for model in (teachers[task], str(tmp_path / name / "model"))
        )
        if embeds:
            return float(relation_loss(own.flatten(0, 1), theirs.flatten(0, 1)))
        return float(mse_loss(own, theirs) if task == "qa" else mse_loss(own.softmax(-1), theirs.softmax(-1)))

    assert distance("taught", teacher=teachers[task]) < 0.9 * distance("alone")


def test_a_run_that_goes_on_does_not_ask_its_teacher_again(files, teachers, tmp_path, monkeypatch) -> None:
    config = files.config("classification", teacher=teachers["classification"])
    finish(config, tmp_path / "whole")
    finish(config, tmp_path / "torn", should_stop=lambda: True)
    monkeypatch.setattr(setup, "teacher_outputs", None)
    finish(config, tmp_path / "torn", resume=True)
    whole, torn = (json.loads((tmp_path / name / "report.json").read_text())["scores"] for name in ("whole", "torn"))
    assert torn == whole


@pytest.mark.parametrize("task", WITH_TOKENS)
def test_the_loss_of_a_task_with_tokens_is_least_where_the_student_predicts_what_its_teacher_does(task) -> None:
    features = features_of(task, little_tokenizer())
    batch, kind = batch_of(features, little_tokenizer()), task_for(task, labels_of(examples(task)))
    width = batch.input_ids.shape[1]
    if task == "qa":
        own = torch.randn(len(features), 2, width).masked_fill(~batch.attention_mask[:, None], -torch.inf)
        theirs = torch.nn.functional.pad(own.softmax(-1), (0, 3))  # as wide as the longest row of all
        parts = [part.requires_grad_() for part in own.unbind(1)]
    else:
        own = torch.randn(len(features), width, len(kind.labels))
        theirs, parts = torch.nn.functional.pad(own, (0, 0, 0, 3)), [own.clone().requires_grad_()]
    for shift, still in ((0.0, True), (1.0, False)):
        logits = tuple(
            part + shift * torch.linspace(0, 1, part.shape[1]).view(-1, *[1] * (part.dim() - 2)) for part in parts
        )
        if task == "tokens":
            logits = tuple(part + shift * torch.arange(part.shape[-1]) for part in logits)
        gradients = torch.autograd.grad(kind.teacher_loss(logits, theirs, batch), parts)
        assert (max(float(gradient.abs().max()) for gradient in gradients) < 1e-6) is still


@pytest.mark.parametrize("task", TEACHABLE)
def test_the_loss_is_least_where_the_student_predicts_what_its_teacher_does(task) -> None:
    features = features_of(task, little_tokenizer())
    batch, theirs = batch_of(features, little_tokenizer()), torch.randn(16, 3 if task == "classification" else 2)
    for shift, still in ((0.0, True), (1.0, False)):
        own = (theirs + shift * torch.randn(theirs.shape)).requires_grad_()
        kind = task_for(task, labels_of(examples(task)))
        (gradient,) = torch.autograd.grad(kind.teacher_loss((own,), theirs, batch), own)
        assert (float(gradient.abs().max()) < 1e-6) is still


def test_relations_are_those_to_the_other_texts_of_a_batch_for_any_two_widths() -> None:
    own, theirs = torch.randn(5, 8), torch.randn(5, 3)
    expected = 0.0
    for text in range(5):
        others = [other for other in range(5) if other != text]
        shares = [
            (20 * cosine_similarity(vectors[text][None], vectors[others])).softmax(-1) for vectors in (own, theirs)
        ]
        expected += float((shares[1] * (shares[1] / shares[0]).log()).sum()) / 5
    assert float(relation_loss(own, theirs)) == pytest.approx(expected, rel=1e-4)
    assert float(relation_loss(own, 3 * own)) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("task", ["classification", "embeddings"])
def test_a_run_with_a_teacher_resumes_to_the_same_model(task, files, teachers, tmp_path) -> None:
    options = {"teacher": teachers[task]}
    config = config_for(files, tmp_path, "pairs", **options) if task == "embeddings" else files.config(task, **options)
    assert resumes_exactly(config, tmp_path, steps=3, run=finish)


def test_micro_batches_follow_a_teacher_as_the_whole_batch_does(files, teachers, tmp_path) -> None:
    config = files.config(teacher=teachers["classification"], dropout=0.0, epochs=1)
    finish(config, tmp_path / "whole")
    finish(replace(config, gradient_accumulation_steps=2), tmp_path / "parts")
    for name, tensor in weights(tmp_path / "whole" / "model").items():
        torch.testing.assert_close(weights(tmp_path / "parts" / "model")[name], tensor, atol=2e-4, rtol=1e-3)
    scored = config_for(files, tmp_path, "scores", teacher=teachers["embeddings"], gradient_accumulation_steps=2)
    with pytest.raises(InputError, match="or with a teacher, are compared with the rest of their batch"):
        finish(scored, tmp_path / "split")


def test_a_teacher_of_something_else_is_refused_before_training(files, teachers, tmp_path) -> None:
    renamed = load_checkpoint(teachers["classification"])
    other = replace(renamed, config=renamed.config.replace(id2label=("a", "b", "c")))
    save_checkpoint(other, tmp_path / "other")
    for task, teacher, message in (
        (
            "classification",
            teachers["multilabel"],
            "was fine-tuned for multilabel; these examples are for classification",
        ),
        (
            "classification",
            str(tmp_path / "other"),
            "predicts a, b, c; the labels of these examples are bad, good, so so",
        ),
        ("regression", teachers["regression"], "a number has none"),
        ("classification", files.model, "has not been fine-tuned"),
    ):
        with pytest.raises(InputError, match=message):
            finish(files.config(task, teacher=teacher), tmp_path / "run")
        assert not (tmp_path / "run" / "checkpoints").exists()
