"""Tasks: losses, predictions, scores and baselines; regression targets in any unit."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
import transformers
from sklearn.metrics import accuracy_score, f1_score, log_loss, matthews_corrcoef
from sklearn.utils.class_weight import compute_class_weight
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, mse_loss

from bertviz_lab.data.examples import Answer, LabelledText, LabelledWords, Question
from bertviz_lab.data.tasks.batches import TaskBatches
from bertviz_lab.errors import InputError
from bertviz_lab.training.checkpoints.checkpoint import load_checkpoint
from bertviz_lab.training.checkpoints.checkpoint_manager import latest_checkpoint
from bertviz_lab.training.finetuning.predict import predict_with
from bertviz_lab.training.finetuning.tasks import task_for
from bertviz_lab.training.finetuning.tasks.base import Prediction, write_predictions
from bertviz_lab.training.finetuning.tasks.regression import TargetScaler, head_state
from bertviz_lab.training.loop.early_stopping import is_better
from bertviz_lab.training.runs.events import RunFinished
from bertviz_lab.training.runs.snapshot_reader import open_snapshots
from tests.little import little_checkpoint, little_tokenizer
from tests.training.finetuning.support import (
    TASKS,
    batch_of,
    examples,
    features_of,
    finish,
    labels_of,
    write,
)
from tests.training.support import CPU, identical

TOKENIZER = little_tokenizer()
SEVERAL = task_for("multilabel", ("bad", "good"))


def known(name):
    return task_for(name, labels_of(examples(name)))


def model_of(task, **changes):
    settings = known(task).model_settings(examples(task))
    return little_checkpoint(3, known(task).model_class, num_labels=settings["num_labels"], **changes).model


def predicted(task, model=None, size=64, features=None):
    rows = examples(task, 24)
    batches = TaskBatches(features or features_of(task, TOKENIZER, 24), size, TOKENIZER.pad_id, 0)
    return known(task).predict(model or model_of(task), rows, batches, CPU)


def numbers(prediction: Prediction) -> list[float]:
    found = [*prediction.probabilities, *prediction.certainty, prediction.no_answer, *(b[3] for b in prediction.best)]
    return [*found, float(prediction.label)] if prediction.label.replace(".", "").strip("-").isdigit() else found


@pytest.mark.parametrize("task", TASKS)
def test_the_loss_is_the_mean_over_what_is_asked(task):
    features, model = features_of(task, TOKENIZER, 24), model_of(task)
    losses = []
    with torch.inference_mode():
        for n, ids in enumerate(features.ids):
            segments = (np.arange(len(ids)) >= features.segment_b[n]).astype(int)
            out = model(torch.tensor(ids[None]).long(), None, torch.tensor(segments[None]))
            target = torch.as_tensor(features.targets[n])
            if task == "qa":
                both = zip((out.start_logits, out.end_logits), target, strict=True)
                losses.append(sum(cross_entropy(logits, one[None]) for logits, one in both) / 2)
            elif task == "regression":
                losses.append(mse_loss(out.logits[0, 0], target))
            elif task == "multilabel":
                losses.append(binary_cross_entropy_with_logits(out.logits[0], target))
            elif task == "tokens":
                losses += cross_entropy(out.logits[0], target, reduction="none")[target != -100]
            else:
                losses.append(cross_entropy(out.logits, target[None]))
    assert predicted(task, model)[1] == pytest.approx(float(torch.stack(losses).mean()), rel=1e-5)


@pytest.mark.parametrize("task", TASKS)
def test_padding_and_the_size_of_batches_change_no_prediction(task):
    model = model_of(task, hidden_dropout_prob=0.5).train()
    predictions, loss = predicted(task, model)
    assert predicted(task, model) == (predictions, loss)
    assert model.training
    for size in (1, 7):
        others, other = predicted(task, model, size)
        assert other == pytest.approx(loss, rel=1e-5)
        for one, two in zip(predictions, others, strict=True):
            if task != "regression":
                assert (one.label, one.labels, one.start, one.end) == (two.label, two.labels, two.start, two.end)
            assert numbers(two) == pytest.approx(numbers(one), abs=1e-5)


def test_a_label_that_the_model_does_not_know_counts_for_no_loss_and_is_wrong():
    features = features_of("classification", TOKENIZER, 24)
    predictions, loss = predicted("classification", features=features)
    features.targets[:12] = -100
    others, part = predicted("classification", features=features)
    assert others == predictions
    assert part != loss
    odd = [replace(row, label="odd") for row in examples("classification", 24)]
    scores = known("classification").scores(odd, predictions)
    assert scores["accuracy"] == scores["mcc"] == 0.0
    rows = [LabelledText("x", None, ("a", "odd"), 1), LabelledText("y", None, ("b",), 2)]
    scores = task_for("multilabel", ("a", "b")).scores(rows, [Prediction(labels=("a",)), Prediction(labels=("b",))])
    assert scores == {"micro_f1": 4 / 5, "macro_f1": pytest.approx(2 / 3), "subset_accuracy": 0.5}


@pytest.mark.parametrize("task", [*TASKS, "weighted"])
@pytest.mark.parametrize("parts", [2, 40])
def test_the_losses_and_gradients_of_parts_add_up(task, parts):
    weights = torch.tensor([0.5, 1.0, 4.0]) if task == "weighted" else None
    task = "classification" if task == "weighted" else task
    model, asked = model_of(task), known(task)
    batch = batch_of(features_of(task, TOKENIZER), TOKENIZER, None if weights is None else weights.numpy())

    def gradients() -> list[torch.Tensor]:
        found = [p.grad.clone() for p in model.parameters()]
        model.zero_grad()
        return found

    whole = asked.loss(asked.logits(model, batch), batch, weights)
    whole.backward()
    wanted, total = gradients(), 0.0
    for index in range(parts):
        part = batch.micro_batch(index, parts)
        loss = asked.loss(asked.logits(model, part), part, weights)
        loss.backward()
        total += float(loss.detach())
    assert total == pytest.approx(float(whole.detach()), rel=1e-5)
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(wanted, gradients(), strict=True))


def test_weighted_losses_are_those_of_torch():
    weights, task = torch.tensor([0.5, 1.0, 4.0]), known("classification")
    batch = batch_of(features_of("classification", TOKENIZER), TOKENIZER, weights.numpy())
    logits = task.logits(model_of("classification"), batch)
    torch.testing.assert_close(task.loss(logits, batch, weights), cross_entropy(logits[0], batch.targets, weights))
    batch, weights = batch_of(features_of("multilabel", TOKENIZER), TOKENIZER), torch.tensor([0.5, 4.0])
    (logits,) = SEVERAL.logits(model_of("multilabel"), batch)
    expected = binary_cross_entropy_with_logits(logits, batch.targets, pos_weight=weights)
    torch.testing.assert_close(SEVERAL.loss((logits,), batch, weights), expected)


@pytest.mark.parametrize("task", ["classification", "tokens"])
def test_balanced_weights_are_those_of_scikit_learn(task):
    features = features_of(task, TOKENIZER)
    every = np.concatenate(features.targets) if task == "tokens" else features.targets
    asked = every[every != -100]
    expected = compute_class_weight("balanced", classes=np.unique(asked), y=asked)
    np.testing.assert_allclose(known(task).class_weights(features), expected, rtol=1e-6)
    assert np.isfinite(task_for(task, (*known(task).labels, "odd")).class_weights(features)).all()


def test_several_labels_are_weighted_and_begin_by_their_frequencies():
    features = features_of("multilabel", TOKENIZER)
    positives = features.targets.sum(0)
    np.testing.assert_allclose(SEVERAL.class_weights(features), (16 - positives) / positives, rtol=1e-6)
    model = model_of("multilabel")
    SEVERAL.start_head(model, features)
    np.testing.assert_allclose(model.classifier.bias.detach().sigmoid(), features.targets.mean(0), rtol=1e-5)


def test_probabilities_of_several_labels_are_torch_s_and_do_not_overflow():
    logits = np.array([[0.3, -2.0], [900.0, -900.0]], dtype=np.float32)
    sigmoids = [p.probabilities for p in SEVERAL.predictions((), None, [(row,) for row in logits])]
    np.testing.assert_allclose(sigmoids, torch.tensor(logits).sigmoid().numpy(), atol=1e-7)


def test_classes_are_scored_as_scikit_learn_does():
    rows, task = examples("classification", 24), known("classification")
    predictions, loss = predicted("classification")
    truth, said = [row.label for row in rows], [p.label for p in predictions]
    macro = f1_score(truth, said, average="macro")
    expected = {"accuracy": accuracy_score(truth, said), "f1": macro, "macro_f1": macro}
    assert task.scores(rows, predictions) == pytest.approx({**expected, "mcc": matthews_corrcoef(truth, said)})
    shares = np.array([p.probabilities for p in predictions])
    assert loss == pytest.approx(log_loss(truth, shares, labels=task.labels), rel=1e-5)
    assert [task.labels[int(n)] for n in shares.argmax(1)] == said


def test_labels_that_mark_no_entities_are_scored_word_by_word():
    rows = [LabelledWords(("a", "b", "c"), ("DET", "NOUN", "VERB"), 1), LabelledWords(("d",), ("NOUN",), 2)]
    said = [Prediction(labels=("DET", "VERB", "VERB")), Prediction(labels=("NOUN",))]
    truth, other = ["DET", "NOUN", "VERB", "NOUN"], ["DET", "VERB", "VERB", "NOUN"]
    expected = {"accuracy": 0.75, "macro_f1": f1_score(truth, other, average="macro")}
    assert task_for("tokens", ("DET", "NOUN", "VERB")).scores(rows, said) == pytest.approx(expected)


def test_answers_are_scored_by_their_texts():
    rows, task = examples("qa", 8), task_for("qa")
    right = [Prediction(q.answers[0].text, best=((q.answers[0].text, 0, 1, 1.0),), no_answer=-1.0) for q in rows[:7]]
    scores = task.scores(rows, [*right, Prediction(no_answer=5.0, best=(("cat", 0, 3, 0.1),))])
    assert (scores["exact_match"], scores["f1"], scores["no_answer_accuracy"]) == (1.0, 1.0, 1.0)
    wrong = task.scores(rows, [*right, Prediction("cat", no_answer=-5.0, best=(("cat", 0, 3, 0.1),))])
    assert (wrong["exact_match"], wrong["no_answer_accuracy"]) == (7 / 8, 0.0)
    same_id = [Question("1", "who", f"the {animal}", (Answer(animal, 4),), 1) for animal in ("cat", "dog")]
    said = [Prediction("dog", best=(("dog", 4, 7, 1.0),), no_answer=-1.0)] * 2
    assert task.scores(same_id, said)["exact_match"] == 0.5


def test_the_baselines_are_the_commonest_labels_the_mean_and_no_answer():
    train, held, task = examples("classification", 16), examples("classification", 9), known("classification")
    truth, found = [row.label for row in held], task.baselines(train, held)
    assert (found["accuracy"], found["mcc"]) == (truth.count("good") / len(truth), 0.0)
    assert found["macro_f1"] == pytest.approx(f1_score(truth, ["good"] * 9, average="macro", zero_division=0))
    shares = [[row.label for row in train].count(name) / 16 for name in task.labels]
    assert found["loss"] == pytest.approx(log_loss(truth, [shares] * 9, labels=task.labels))

    train, held = examples("multilabel", 15), examples("multilabel", 9)
    found, truth = SEVERAL.baselines(train, held), np.array([[n in e.label for n in SEVERAL.labels] for e in held])
    assert found["micro_f1"] == pytest.approx(f1_score(truth, [[0, 1]] * 9, average="micro", zero_division=0))
    shares = np.tile(np.mean([[name in row.label for name in SEVERAL.labels] for row in train], axis=0), (9, 1))
    assert found["loss"] == pytest.approx(np.mean([log_loss(truth[:, n], shares[:, n]) for n in (0, 1)]))

    train, held = examples("regression", 16), examples("regression", 7)
    mean = np.mean([row.label for row in train])
    loss = pytest.approx(np.mean([(r.label - mean) ** 2 for r in held]))
    assert task_for("regression").baselines(train, held) == {"spearman": 0.0, "pearson": 0.0, "loss": loss}

    rows = examples("tokens")
    every, found = [label for row in rows for label in row.labels], known("tokens").baselines(rows, rows)
    assert (found["accuracy"], found["f1"]) == (pytest.approx(every.count("O") / len(every)), 0.0)
    assert task_for("qa").baselines(examples("qa"), examples("qa")) == {"exact_match": 2 / 16, "f1": 2 / 16}


@pytest.mark.parametrize(("metric", "better", "worse"), [("loss", 1.0, 2.0), ("f1", 2.0, 1.0)])
def test_a_lower_loss_and_a_higher_score_are_better(metric, better, worse):
    assert is_better(better, worse, metric)
    assert not is_better(worse, worse, metric)
    assert not is_better(worse, better, metric)
    assert not is_better(math.nan, worse, metric)
    assert is_better(worse, math.nan, metric)


def test_predictions_are_written_a_line_each_whatever_the_text_holds(tmp_path):
    texts = ["a\u2028b", "a\x85b\x0bc", "\ud800", "日本", "a\nb"]
    rows = [LabelledText(text, None, text, n) for n, text in enumerate(texts)]
    path = tmp_path / "predictions.jsonl"
    write_predictions(path, rows, [Prediction(label=text) for text in texts])
    lines = path.read_text().splitlines()
    assert [json.loads(line)["prediction"]["label"] for line in lines] == texts
    assert [json.loads(line)["example"]["text_a"] for line in lines] == texts
    assert [file.name for file in tmp_path.iterdir()] == ["predictions.jsonl"]


def rescaled(path, scale=1.0, offset=0.0, outlier=None, count=32):
    """The examples of a regression in another unit; the fifth may be an outlier."""
    rows = [replace(row, label=row.label * scale + offset) for row in examples("regression", count)]
    if outlier is not None:
        rows[4] = replace(rows[4], label=outlier)
    return str(write(path, tuple(rows)))


def predicted_by(folder):
    """The numbers predicted_by for the first eight examples."""
    return np.array([float(p.label) for p in predict_with(load_checkpoint(folder), examples("regression", 8))[0]])


def test_a_single_target_of_a_million_neither_ends_the_run_nor_spoils_the_model(files, tmp_path):
    train = rescaled(tmp_path / "train.tsv", outlier=1e6)
    options = {"epochs": 24, "learning_rate": 5e-3, "dropout": 0.0, "metric": "loss"}
    config = files.config("regression", train=(train,), **options)
    events = finish(config, tmp_path / "run")
    assert isinstance(events[-1], RunFinished)
    assert events[-1].reason == "finished"
    scores = json.loads((tmp_path / "run" / "report.json").read_text())["scores"]
    assert scores["spearman"] > 0.9
    assert scores["mae"] < 0.3, "targets lie between 10 and 11.5"


@pytest.mark.parametrize(("scale", "offset"), [(1e4, 5e6), (1e-4, 0.0)])
def test_training_is_the_same_in_every_unit_and_predictions_come_back_in_it(scale, offset, files, tmp_path):
    for name, unit in (("plain", (1.0, 0.0)), ("other", (scale, offset))):
        data = rescaled(tmp_path / f"{name}.tsv", *unit)
        options = {"train": (data,), "eval": (data,), "epochs": 6, "learning_rate": 5e-3, "dropout": 0.0}
        finish(files.config("regression", **options), tmp_path / name)
    plain, other = (predicted_by(tmp_path / name / "model") for name in ("plain", "other"))
    np.testing.assert_allclose((other - offset) / scale, plain, rtol=2e-3)
    assert np.abs(plain - 10.75).max() < 1.5


def test_a_regression_model_predicts_its_unit_everywhere_and_is_fine_tuned_further(files, tmp_path):
    data = rescaled(tmp_path / "data.tsv", 1000.0)
    config = files.config("regression", train=(data,), eval=(data,))
    finish(config, tmp_path / "run")
    for folder in (tmp_path / "run" / "model", latest_checkpoint(tmp_path / "run")):
        model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        rows = examples("regression", 8)
        with torch.inference_mode():
            told = [float(model(**tokenizer(row.text_a, return_tensors="pt")).logits) for row in rows]
        np.testing.assert_allclose(told, predicted_by(folder), rtol=1e-4)
        assert 8_000 < np.mean(told) < 13_000
    past = open_snapshots(tmp_path / "run")
    first, _ = predict_with(past.open(past.steps()[0]), examples("regression", 8))
    assert 8_000 < np.mean([float(p.label) for p in first]) < 13_000
    finish(replace(config, model=str(tmp_path / "run" / "model")), tmp_path / "again", should_stop=lambda: True)
    told = [predicted_by(folder) for folder in (tmp_path / "run" / "model", latest_checkpoint(tmp_path / "again"))]
    np.testing.assert_allclose(*told, rtol=1e-4)


@pytest.mark.parametrize("outlier", [1e6, -1e6, 1e30])
def test_mean_and_deviation_are_those_of_the_targets_without_the_outlier(outlier):
    targets = np.random.default_rng(0).normal(50.0, 10.0, 100)
    scaler = TargetScaler.fit([*targets, outlier])
    assert scaler.mean == pytest.approx(50.0, abs=3)
    assert 7 < scaler.std < 13


@pytest.mark.parametrize("targets", [[3.0], [3.0, 3.0, 3.0], [0.0] * 99 + [5.0]])
def test_equal_targets_have_a_deviation_to_divide_by(targets):
    scaler = TargetScaler.fit(targets)
    assert np.isfinite(scaler.standardize(np.array(targets))).all()


@pytest.mark.parametrize(
    ("targets", "message"),
    [([1.0, 2.0, 1e39], "beyond 3.4e38"), ([1.7e9 + n for n in range(20)], "Subtract the same number")],
)
def test_targets_that_32_bits_cannot_hold_are_refused(targets, message):
    with pytest.raises(InputError, match=message):
        TargetScaler.fit(targets)


def test_the_head_is_bit_for_bit_the_same_after_it_predicted_the_original_unit():
    head = torch.nn.Linear(8, 1)
    before = head_state(head)
    with TargetScaler(3.7, 0.123).original_unit(head):
        assert not identical(head_state(head), before)
    assert identical(head_state(head), before)
