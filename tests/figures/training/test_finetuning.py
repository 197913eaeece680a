"""Charts of fine-tuning and its data say what the reports say."""

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bertviz_lab.data.formats.read import read_task
from bertviz_lab.figures.training import finetuning as figure
from bertviz_lab.figures.training.data import (
    balance_payload,
    examples_payload,
    label_item,
    lengths_payload,
    preview_payload,
    words_item,
)
from bertviz_lab.metrics.classification import calibration, classification_report
from bertviz_lab.metrics.entities import entity_report
from bertviz_lab.training.finetuning.setup import seed_statistics
from tests.charts import shown
from tests.data.support import written
from tests.ui.components import tuned
from tests.ui.components.tuned import task_events

TRUTH, SAID = np.array([0, 0, 0, 1, 1, 2]), np.array([0, 0, 1, 1, 0, 2])
REPORT = classification_report(TRUTH, SAID, ["bad", "good", "so-so"])


def results(task: str, metric: str, *names: str, **baselines: float) -> Any:
    """The trials of a run, as its report has them."""
    rows = [row for row in task_events(task, names) if row["event"] == "TrialDone"]
    of_trial = ("event", "name", "trial", "step", "best_step", "seconds", "tokens")
    scores = [{key: value for key, value in row.items() if key not in of_trial} for row in rows]
    same = {"learning_rate": 1e-3, "batch_size": 32, "epochs": 1}
    trials = [
        {**row, **same, "scores": of_row, "seed": place, "random": row["name"] == "random weights"}
        for place, (row, of_row) in enumerate(zip(rows, scores, strict=True))
    ]
    means = seed_statistics(trials)
    return SimpleNamespace(task=task, metric=metric, trials=trials, baselines=baselines, seed_statistics=means)


def test_confusion_counts_in_cells_and_table_and_shades_by_share_of_the_row() -> None:
    body = shown(figure.confusion_payload(REPORT))
    assert body["values"] == [[2, 1, 0], [1, 1, 0], [0, 0, 1]]
    shades = np.asarray(body["figure"]["data"][0]["z"])
    assert (shades**2).sum(axis=1) == pytest.approx(1)
    assert (np.sign(shades) == [[1, -1, 0], [-1, 1, 0], [0, 0, 1]]).all()
    assert "4 of 6 are correct: accuracy 66.7%" in body["sentence"]
    assert body["details"][0][1] == "bad, predicted as good: 1 (33.3% of all that are bad)"
    assert body["details"][0][0].startswith("bad, correct: 2")


def test_reliability_leaves_empty_bins_out_and_tells_counts_and_error() -> None:
    probabilities = np.array([[0.95, 0.05], [0.93, 0.07], [0.55, 0.45]])
    result = calibration(probabilities, np.array([0, 1, 0]))
    body = shown(figure.reliability_payload(result))
    assert [(row[0], row[-1]) for row in body["table"]["rows"]] == [("50–60%", 1), ("90–100%", 2)]
    assert body["series"][0]["details"][1] == "90–100% confidence: 50.0% of 2 are correct"
    assert [series["dashed"] for series in body["series"]] == [False, True]
    assert f"Expected calibration error: {result.ece:.1%}" in body["sentence"]
    assert "It is overconfident" in body["sentence"]


def lengths(cut: int, max_length: int) -> SimpleNamespace:
    about = {"median": 8.0, "longest": 20, "cut": cut, "max_length": max_length}
    return SimpleNamespace(edges=(1, 9, 17, 25), counts=(4, 2, 1), **about)


def test_lengths_that_are_cut_are_marked_and_told() -> None:
    body = shown(lengths_payload(lengths(1, 16)))
    assert body["places"] == ["1–8", "9–16", "17–24"]
    assert (body["marked"], body["keys"][1][0]) == ([False, False, True], "longer than 16 tokens")
    assert "1 of 7 (14.3%) are longer than the max sequence length of 16 tokens" in body["sentence"]
    fits = shown(lengths_payload(lengths(0, 24)))
    assert (fits["marked"], fits["keys"]) == ([False] * 3, [])
    assert "fit into the max sequence length of 24 tokens" in fits["sentence"]


def balance(train: int = 40, held_out: int = 4, counted: str = "examples") -> SimpleNamespace:
    """The report on examples of two labels, or on their words."""
    classes = [SimpleNamespace(label="bad", train=30, held_out=1), SimpleNamespace(label="good", train=10, held_out=3)]
    return SimpleNamespace(classes=classes, counted=counted, train_counted=train, held_counted=held_out)


def test_balance_compares_shares_and_tells_counts() -> None:
    body = shown(balance_payload(balance()))
    assert [series["values"] for series in body["series"]] == [[0.75, 0.25], [0.25, 0.75]]
    assert body["series"][0]["texts"] == ["75.0% (30)", "25.0% (10)"]
    assert body["table"]["rows"] == [["bad", 0.75, 0.25, 30, 1], ["good", 0.25, 0.75, 10, 3]]
    assert "most frequent is bad: 75.0%" in body["sentence"]


def test_the_share_of_a_label_among_several_is_that_of_the_examples_which_have_it() -> None:
    body = shown(balance_payload(balance(32)))
    assert body["series"][0]["texts"] == ["93.8% (30)", "31.2% (10)"]
    assert body["sentence"].startswith("2 labels on 32 training examples and 4 held out.")
    assert "examples, which may have several labels" in body["note"]
    assert "on 40 training words" in shown(balance_payload(balance(counted="words")))["sentence"]


def test_seeds_are_summed_up_and_stand_beside_the_baselines() -> None:
    names = ("seed 0", "seed 1", "seed 2", "random weights")
    run = results("classification", "accuracy", *names, accuracy=0.51, loss=0.69)
    body = shown(figure.trials_payload(run))
    scores = [trial["accuracy"] for trial in run.trials]
    assert body["groups"] == ["seed 0", "seed 1", "seed 2", "random weights", "mean of 3 seeds",
                              "majority-class baseline"]  # fmt: skip
    values = body["series"][0]["values"]
    assert values == pytest.approx([*scores, np.mean(scores[:3]), 0.51])
    spread = 100 * np.std(scores[:3], ddof=1)
    assert body["series"][0]["texts"][4].endswith(f"± {spread:.1f} points")
    assert "Majority-class baseline: 51.0%" in body["sentence"]


def test_trials_have_names_and_scores_and_random_weights_are_never_the_best() -> None:
    run = results("tokens", "f1", "seed 0")
    body, (trial,) = shown(figure.trials_payload(run)), run.trials
    assert (body["title"], body["table"]["header"]) == ("Result", ["", "F1 of entities", "best_step", "accuracy"])
    assert body["table"]["rows"][0][2:] == [trial["best_step"], trial["accuracy"]]
    assert shown(figure.trials_payload(results("tokens", "accuracy", "seed 0")))["names"] == ["accuracy"]
    body = shown(figure.trials_payload(results("qa", "f1", "", "random weights", f1=0.0)))
    assert body["groups"] == ["this run", "random weights", "no-answer baseline"]
    assert "Best" not in body["sentence"]
    three = shown(figure.trials_payload(results("qa", "f1", "seed 0", "seed 1", "random weights")))
    assert "Best on held-out examples: seed 1," in three["sentence"]


def test_labels_and_entities_have_three_scores_each() -> None:
    body = shown(figure.per_class_payload(REPORT))
    assert body["names"] == ["precision", "recall", "F1"]
    assert [row[-1] for row in body["table"]["rows"]] == [3, 2, 1]
    assert body["sentence"].startswith(f"Macro F1 is {REPORT.macro_f1:.1%}. The hardest label is good")
    entities = entity_report([["B-PER", "O", "B-LOC"]], [["B-PER", "O", "B-PER"]])
    chart = shown(figure.per_class_payload(entities))
    assert chart["groups"] == ["LOC", "PER"]
    assert f"F1 {entities.f1:.1%}. The hardest entity type is LOC" in chart["sentence"]


def test_slices_of_two_kinds_are_told_apart_and_empty_ones_left_out() -> None:
    def part(kind: str, name: str, count: int, score: float) -> SimpleNamespace:
        return SimpleNamespace(kind=kind, name=name, count=count, score=score)

    parts = [part("length", "short", 8, 0.9), part("label", "bad", 2, 0.5), part("label", "never", 0, 0.0)]
    body = shown(figure.slices_payload(parts, "accuracy"))
    assert body["groups"] == ["length: short", "label: bad"]
    assert body["series"][0]["texts"] == ["90.0% of 8", "50.0% of 2"]
    assert body["sentence"].startswith("Best: length short")
    assert shown(figure.slices_payload(parts[:1], "accuracy"))["groups"] == ["short"]
    assert "message" in shown(figure.slices_payload(parts[2:], "accuracy"))


MANY = [f"label {n}" for n in range(300)]


def test_of_very_many_labels_the_most_confused_are_drawn_and_the_csv_has_all_cells() -> None:
    truth = np.concatenate([np.repeat(np.arange(300), 2), np.full(5, 250), np.full(3, 7)])
    said = np.concatenate([np.repeat(np.arange(300), 2), np.full(5, 260), np.full(3, 9)])
    payload = figure.confusion_payload(classification_report(truth, said, MANY))
    body = shown(payload)
    assert len(body["rows"]) == len(body["columns"]) == 40
    assert {"label 7", "label 9", "label 250", "label 260"} < set(body["rows"])
    assert "with 8 of all 8 errors" in body["sentence"]
    row, column = body["rows"].index("label 250"), body["columns"].index("label 260")
    assert body["values"][row][column] == 5
    assert (body["texts"][row][column], body["texts"][row][row - 1]) == ("5", "")  # zeros would be noise
    assert body["picks"][row][column] == {"row": 250, "column": 260}  # among all labels
    assert body["details"][row][column] == "label 250, predicted as label 260: 5 (71.4% of all that are label 250)"
    assert len(body["csv"]) == 1 + 302
    assert ["label 7", "label 9", 3] in body["csv"]
    assert len(payload) < 400_000
    assert "csv" not in shown(figure.confusion_payload(REPORT))


def test_of_very_many_labels_the_most_frequent_are_drawn_and_the_table_has_all() -> None:
    counts = np.arange(300) % 299 + 1
    truth = np.repeat(np.arange(300), counts)
    slices = [SimpleNamespace(kind="length", name="up to 8 words", count=5, score=0.5)]
    slices += [SimpleNamespace(kind="label", name=name, count=int(counts[n]), score=0.5) for n, name in enumerate(MANY)]
    report = balance(int(counts.sum()), held_out=0)
    report.classes = [SimpleNamespace(label=name, train=int(counts[n]), held_out=0) for n, name in enumerate(MANY)]
    for payload, first in (
        (figure.per_class_payload(classification_report(truth, truth, MANY)), ["label 298", "label 297"]),
        (figure.slices_payload(slices, "accuracy"), ["length: up to 8 words", "label: label 298"]),
        (balance_payload(report), ["label 298", "label 297"]),
    ):
        body = shown(payload)
        assert {len(trace["x"]) for trace in body["figure"]["data"]} == {40}
        assert len(body["groups"]) == len(body["texts"][0]) >= 300
        assert body["groups"][:2] == first
        assert f" of {len(body['groups'])} are drawn; the CSV has all." in body["sentence"]
    assert "are drawn" not in shown(figure.per_class_payload(REPORT))["sentence"]


def test_columns_are_named_by_their_role_or_number() -> None:
    body = json.loads(preview_payload(tuned.table()))
    assert (body["kind"], [column["role"] for column in body["columns"]]) == ("table", ["", "a", "label", ""])
    assert len(body["rows"][0][1]) < len(tuned.table().rows[0][1])
    assert "with commas as delimiter, with a header row" in body["sentence"]
    bare = replace(tuned.table(), columns=(), text_a="2", label="3", header=False)
    body = json.loads(preview_payload(bare))
    assert {column["name"]: column["role"] for column in body["columns"]} == {"1": "", "2": "a", "3": "label", "4": ""}
    assert "no header row" in body["sentence"]
    assert "message" in json.loads(preview_payload(replace(bare, rows=())))


def test_the_columns_of_triplets_are_all_marked_as_used(tmp_path) -> None:
    rows = "anchor,positive,negative_1,remark\nA cat sleeps.,A cat is asleep.,The bus is late.,seen\n"
    read = read_task(written(tmp_path, "triplets.csv", rows), "embeddings")
    body = json.loads(preview_payload(read.files[0]))
    assert [column["words"] for column in body["columns"]] == ["text A", "text B", "negative", ""]
    chosen = read_task(tmp_path / "triplets.csv", "embeddings", text_b="negative_1")
    assert (chosen.files[0].text_b, chosen.files[0].negatives) == ("negative_1", ())


def test_words_stand_with_their_labels_and_questions_with_their_answers() -> None:
    words = json.loads(preview_payload(*tuned.sentence_data()))
    assert words["sentences"][0][:2] == [["Ada", "B-PER"], ["Lovelace", "I-PER"]]
    questions = json.loads(preview_payload(*tuned.question_data()))
    asked = [["When does it open?", "at nine; nine"], ["Who owns it?", "(not in the passage)"]]
    assert [row[1:] for row in questions["rows"]] == asked


def test_examples_know_whether_they_are_right() -> None:
    items = [*tuned.classified(2), *tuned.tagged(), *tuned.answered(), *tuned.numbers()]
    body = json.loads(examples_payload(items, title="T"))["items"]
    assert [item.get("right") for item in body] == [False, True, False, True, False, True, None, None, None]
    assert body[2]["facts"] == [["", "1 wrong label"]]
    assert body[0]["index"] == 1000


def test_long_texts_are_cut_and_unequal_labels_refused() -> None:
    long = label_item(index=0, text="x" * 5000, truth="a", predicted="a", probability=1.0)
    assert len(json.loads(examples_payload([long], title="T"))["items"][0]["texts"][0]) < 1000
    with pytest.raises(ValueError, match="zip"):
        words_item(0, ("Ada", "lives"), ("O",), ("O", "O"))


def test_marks_are_in_the_order_of_the_text_and_no_answer_needs_no_place() -> None:
    body = shown(tuned.marked(tuned.TEXT, tuned.entities(), title="T"))
    starts = [span["start"] for span in body["spans"]]
    assert starts == sorted(starts)
    assert body["chosen"] is None
    none = {"text": "", "start": 0, "end": 0, "probability": 0.4}
    body = shown(tuned.marked("abc", [], [none], title="T"))
    assert body["alternatives"][0]["text"] == ""
    assert body["chosen"] == 0
