"""What a fine-tuning came to, read back from its folder."""

from pathlib import Path

import numpy as np
import pytest

from bertviz_lab.data.examples import Answer, LabelledText, LabelledWords, Question
from bertviz_lab.errors import InputError
from bertviz_lab.interpret.corpora.results import Results, read_results
from bertviz_lab.training.finetuning.tasks import task_for
from bertviz_lab.training.finetuning.tasks.base import Prediction
from tests.little import little_folder
from tests.training.finetuning.support import TASKS, Files, finish


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A short run on each task, made when it is asked for."""
    folder = tmp_path_factory.mktemp("runs")
    little_folder(folder / "little")
    files = Files(folder)

    def of(task: str) -> Path:
        if not (folder / task).is_dir():
            finish(files.config(task, seeds=2), folder / task)
        return folder / task

    return of


def results(task, examples, predictions, labels=(), metric="accuracy") -> Results:
    return Results(task, tuple(labels), metric, "m", {}, {}, (), (), 1, 5, tuple(examples), tuple(predictions))


def texts(*triples) -> Results:
    """Of (true label, said label, probability)."""
    rows = [LabelledText("word " * (4 + 5 * n), None, true, n) for n, (true, _, _) in enumerate(triples)]
    said = [
        Prediction(label=label, probabilities=(p, 1 - p) if label == "a" else (1 - p, p)) for _, label, p in triples
    ]
    return results("classification", rows, said, ("a", "b"))


@pytest.mark.parametrize("task", TASKS)
def test_a_run_is_read_back(task, run) -> None:
    read = read_results(str(run(task)))
    assert read.task == task
    assert len(read.examples) == len(read.predictions) == 11
    assert (read.train_count, read.planned, len(read.trials), read.start) == (16, 2, 2, "little")
    told = task_for(task, read.labels).scores(read.examples, read.predictions)
    assert told == {name: read.scores[name] for name in told}
    assert read.metric in read.baselines
    assert sum(part.count for part in read.slices() if part.kind == "length") == 11
    assert sorted(read.picked()) == list(range(11))


def test_several_labels_are_scored_label_by_label_and_by_what_they_have_in_common() -> None:
    truth = [("a", "b"), ("b",), (), ("a", "odd")]
    said = [("a", "b"), ("a",), (), ("a",)]
    rows = [LabelledText(f"text {n}", None, labels, n) for n, labels in enumerate(truth)]
    predictions = [Prediction(labels=labels, probabilities=(0.7, 0.2)) for labels in said]
    shown = results("multilabel", rows, predictions, ("a", "b"), "micro_f1")
    assert shown.example_scores.tolist() == [1.0, 0.0, 1.0, 0.5]
    assert [scores.label for scores in shown.report.per_class] == ["a", "b", "(unknown to the model)"]
    assert shown.report.micro_f1 == pytest.approx(2 * 3 / (4 + 5))
    assert shown.picked() == [1, 3, 0, 2]
    with pytest.raises(InputError, match="classification only"):
        shown.calibration()


@pytest.mark.parametrize("spoil", ["report.json", "predictions.jsonl", "examples/held_out.jsonl"])
def test_before_the_first_trial_has_ended_there_are_no_results(spoil, run, tmp_path) -> None:
    import shutil

    shutil.copytree(run("regression"), tmp_path / "run")
    (tmp_path / "run" / spoil).unlink()
    with pytest.raises(InputError, match="when the first trial has finished"):
        read_results(tmp_path / "run")


def test_the_report_of_words_is_by_entities_where_labels_mark_them(run) -> None:
    found = read_results(run("tokens"))
    assert found.report.f1 == pytest.approx(found.scores["f1"])
    assert found.words_report.accuracy == pytest.approx(found.scores["accuracy"])
    rows = [LabelledWords(("a", "b"), ("DET", "NEW"), 1)]
    plain = results("tokens", rows, [Prediction(labels=("DET", "NOUN"), certainty=(0.5, 1.0))], ("DET", "NOUN"))
    assert plain.report.per_class == plain.words_report.per_class
    assert plain.report.labels == ("DET", "NOUN", "NEW")
    assert read_results(run("qa")).report is None


def test_the_surest_mistakes_and_the_largest_errors_come_first() -> None:
    found = texts(("a", "a", 0.9), ("a", "b", 0.6), ("b", "a", 0.8), ("b", "b", 0.55))
    assert found.example_scores.tolist() == [1.0, 0.0, 0.0, 1.0]
    assert found.confidences.tolist() == [0.9, 0.6, 0.8, 0.55]
    assert found.picked() == [2, 1, 0, 3]
    assert found.picked("a", "b") == [1]
    assert found.picked("b", "b") == [3]
    rows = [LabelledText("a", None, float(n), n) for n in range(4)]
    found = results("regression", rows, [Prediction(label=str(said)) for said in (0.5, 1.0, 9.0, 2.0)], metric="loss")
    assert found.example_scores.tolist() == [-0.5, 0.0, -7.0, -1.0]
    assert found.picked() == [2, 3, 0, 1]
    assert not found.confidences.any()
    assert np.isfinite([part.score for part in found.slices()]).all()


def test_a_label_that_the_model_does_not_know_has_a_row_and_a_slice() -> None:
    found = texts(("a", "a", 0.9), ("c", "b", 0.6), ("d", "a", 0.8))
    assert found.report.labels == ("a", "b", "(unknown to the model)")
    assert found.picked("(unknown to the model)", "b") == [1]
    parts = {part.name: (part.count, part.score) for part in found.slices() if part.kind == "label"}
    assert parts == {"a": (1, 1.0), "(unknown to the model)": (2, 0.0)}


def test_words_and_answers_are_right_in_part() -> None:
    row = LabelledWords(("a", "b", "c", "d"), ("O", "O", "B-X", "O"), 1)
    said = Prediction(labels=("O", "B-X", "B-X", "O"), certainty=(1.0, 0.5, 0.5, 1.0))
    words = results("tokens", [row], [said], ("B-X", "O"), "loss")
    assert (words.example_scores[0], words.confidences[0]) == (0.75, 0.75)
    asked = Question("a", "who", "the red cat", (Answer("red cat", 4),), 1)
    answered = results("qa", [asked], [Prediction("cat", best=(("cat", 8, 11, 0.7),))], metric="f1")
    assert answered.example_scores[0] == pytest.approx(2 / 3)
    assert answered.confidences[0] == 0.7
    assert results("qa", [asked], [Prediction()]).confidences[0] == 0.0


def test_parts_by_length_hold_the_texts_of_that_length() -> None:
    found = texts(*[("a", "a", 0.9)] * 15)  # 4, 9, 14 ... 74 words
    counts = {part.name: part.count for part in found.slices() if part.kind == "length"}
    assert counts == {"up to 8 words": 1, "up to 16 words": 2, "up to 32 words": 3, "up to 64 words": 7, "longer": 2}
