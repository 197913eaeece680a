"""Fine-tuning with a teacher: what it makes of the examples, and that the student follows it."""

import json
from dataclasses import replace

import pytest
import torch
from torch.nn.functional import cosine_similarity, mse_loss

from bertviz_lab.data.examples import read_examples
from bertviz_lab.errors import InputError
from bertviz_lab.training.checkpoints.checkpoint import load_checkpoint, save_checkpoint
from bertviz_lab.training.finetuning import setup
from bertviz_lab.training.finetuning.predict import predict_with
from bertviz_lab.training.finetuning.tasks import task_for
from bertviz_lab.training.finetuning.tasks.embeddings import relation_loss
from bertviz_lab.training.finetuning.teacher import teacher_outputs
from bertviz_lab.training.loop.hardware import choose_hardware
from tests.little import little_folder, little_tokenizer
from tests.training.finetuning.embeddings.support import config_for
from tests.training.finetuning.support import batch_of, examples, features_of, finish, labels_of
from tests.training.support import resumes_exactly, weights

TEACHABLE = ("classification", "multilabel")


@pytest.fixture(scope="module")
def teachers(files, tmp_path_factory) -> dict[str, str]:
    """A teacher of each task, with a hidden size that no student here has."""
    folder = tmp_path_factory.mktemp("teachers")
    little_folder(folder / "start", hidden_size=16)
    finish(config_for(files, folder, "pairs", model=str(folder / "start"), epochs=1), folder / "embeddings")
    for task in (*TEACHABLE, "tokens"):
        finish(files.config(task, model=str(folder / "start")), folder / task)
    return {task: str(folder / task / "model") for task in ("embeddings", "tokens", *TEACHABLE)}


@pytest.mark.parametrize("task", TEACHABLE)
def test_a_teacher_gives_each_example_its_logits_in_the_order_of_the_student_s_labels(task, teachers) -> None:
    rows = examples(task)
    labels = labels_of(rows)[::-1]
    outputs = teacher_outputs(teachers[task], rows, task_for(task, labels), 48, choose_hardware("fp32", 1))
    probabilities = outputs.softmax(-1) if task == "classification" else outputs.sigmoid()
    predictions, _ = predict_with(load_checkpoint(teachers[task]), rows, max_length=48)
    expected = torch.tensor([p.probabilities[::-1] for p in predictions])
    torch.testing.assert_close(probabilities, expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("task", ["classification", "embeddings"])
def test_a_student_comes_nearer_to_its_teacher_than_without_it(task, files, teachers, tmp_path) -> None:
    def distance(name: str, **options) -> float:
        options |= {"epochs": 8, "learning_rate": 2e-3, "dropout": 0.0}
        embeds = task == "embeddings"
        config = config_for(files, tmp_path, "pairs", **options) if embeds else files.config(task, **options)
        finish(config, tmp_path / name)
        hardware, rows = choose_hardware("fp32", 1), read_examples(tmp_path / name / "examples" / "train.jsonl")
        kind = task_for(task, () if embeds else load_checkpoint(tmp_path / name / "model").config.labels)
        theirs, own = (
            teacher_outputs(model, rows, kind, 48, hardware)
            for model in (teachers[task], str(tmp_path / name / "model"))
        )
        if embeds:
            return float(relation_loss(own.flatten(0, 1), theirs.flatten(0, 1)))
        return float(mse_loss(own, theirs))

    assert distance("taught", teacher=teachers[task]) < 0.9 * distance("alone")


def test_a_run_that_goes_on_does_not_ask_its_teacher_again(files, teachers, tmp_path, monkeypatch) -> None:
    config = files.config("classification", teacher=teachers["classification"])
    finish(config, tmp_path / "whole")
    finish(config, tmp_path / "torn", should_stop=lambda: True)
    monkeypatch.setattr(setup, "teacher_outputs", None)
    finish(config, tmp_path / "torn", resume=True)
    whole, torn = (json.loads((tmp_path / name / "report.json").read_text())["scores"] for name in ("whole", "torn"))
    assert torn == whole


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
        ("tokens", teachers["tokens"], "words and answers have their own tokens"),
        ("classification", files.model, "has not been fine-tuned"),
    ):
        with pytest.raises(InputError, match=message):
            finish(files.config(task, teacher=teacher), tmp_path / "run")
        assert not (tmp_path / "run" / "checkpoints").exists()
