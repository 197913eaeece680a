"""A fine-tuned model in use: here, and in `transformers`."""

import csv
import io
import json
import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
import transformers

from bertviz_lab import BertForPreTraining, Checkpoint, InputError, evaluate, load_checkpoint
from bertviz_lab.data.examples import LabelledText, Question, write_examples
from bertviz_lab.interpret import answer_question
from bertviz_lab.model import BertForQuestionAnswering
from bertviz_lab.training.finetuning.predict import csv_text, evaluate_task, predict_with, task_of, task_with
from tests.little import little_checkpoint
from tests.training.finetuning.support import TASKS, Files, examples, finish, labels_of, write

AUTO = {
    "classification": transformers.AutoModelForSequenceClassification,
    "multilabel": transformers.AutoModelForSequenceClassification,
    "regression": transformers.AutoModelForSequenceClassification,
    "tokens": transformers.AutoModelForTokenClassification,
    "qa": transformers.AutoModelForQuestionAnswering,
}


@pytest.fixture(scope="module")
def tuned(files: Files, tmp_path_factory):
    """The model folder of a short run on each task, made when it is asked for."""

    @cache
    def of(task: str):
        folder = tmp_path_factory.mktemp(f"run-{task}")
        finish(files.config(task, epochs=3), folder)
        return folder / "model"

    return of


def opened(tuned, task: str) -> Checkpoint:
    return load_checkpoint(tuned(task))


@pytest.mark.parametrize("task", TASKS)
def test_transformers_opens_the_folder_and_computes_the_same(task, tuned):
    model, info = AUTO[task].from_pretrained(tuned(task), output_loading_info=True)
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    ours = opened(tuned, task)
    ids = torch.tensor([ours.tokenizer.encode("the red cat sat", "on the mat near a river").ids])
    with torch.inference_mode():
        theirs, mine = model.eval()(ids), ours.model(ids)
    for name in ("start_logits", "end_logits") if task == "qa" else ("logits",):
        torch.testing.assert_close(getattr(mine, name), getattr(theirs, name), atol=1e-5, rtol=0)
    if task in ("classification", "multilabel", "tokens"):
        assert model.config.id2label == dict(enumerate(labels_of(examples(task))))
    problems = {"regression": "regression", "multilabel": "multi_label_classification"}
    assert model.config.problem_type == problems.get(task)


def table(path, rows) -> str:
    path.write_text("text_a\ttext_b\tlabel\n" + "".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def test_labels_that_are_mostly_unknown_to_the_model_are_refused(tuned, tmp_path):
    checkpoint = opened(tuned, "classification")
    path = table(tmp_path / "a.tsv", [(f"film {n}", "it is", ("Good", "bad", "Bad")[n % 3]) for n in range(9)])
    message = r'does not know \("Bad", "Good", where the model has "bad", "good", "so so"\); write the labels as'
    with pytest.raises(InputError, match=message):
        evaluate_task(checkpoint, [path], "classification")
    kept = tmp_path / "kept.jsonl"
    write_examples(kept, [replace(row, label=row.label.upper()) for row in examples("classification")])
    with pytest.raises(InputError, match="Most examples have labels that the model does not know"):
        evaluate_task(checkpoint, [kept], "classification")


def test_rows_that_are_left_out_and_labels_that_are_unknown_are_told(tuned, tmp_path):
    rows = [(f"film {n}", "it is", ("good", "bad")[n % 2]) for n in range(6)]
    path = table(tmp_path / "a.tsv", [*rows, ("film", "odd one", "odd"), ("no label", "at all", ""), ("too", "short")])
    notes: list[str] = []
    scores = evaluate_task(opened(tuned, "classification"), [path], "classification", on_note=notes.append)
    assert notes == [
        '1 row was left out: it has 2 cells, and most rows have 3, such as "a.tsv" row 10.',
        '1 row was left out: the label is missing (column "label"), such as "a.tsv" row 9.',
        'The model cannot predict the label "odd" (1 time): every such example counts as an error.',
    ]
    assert scores["accuracy"] <= 6 / 7
    assert scores["loss"] > 0


def test_a_model_or_a_file_of_another_task_is_refused(files, tuned, tmp_path):
    with pytest.raises(InputError, match="was fine-tuned for tokens, not for qa"):
        evaluate_task(opened(tuned, "tokens"), [files.held("qa")], "qa")
    with pytest.raises(InputError, match="holds"):
        evaluate_task(opened(tuned, "tokens"), [files.held("qa")], "tokens")
    write_examples(tmp_path / "kept.jsonl", examples("regression"))
    with pytest.raises(InputError, match="holds examples of another task than classification"):
        evaluate_task(opened(tuned, "classification"), [tmp_path / "kept.jsonl"], "classification")
    with pytest.raises(InputError, match="has not been fine-tuned"):
        task_of(little_checkpoint(kind=BertForPreTraining))
    with pytest.raises(InputError, match="A length of 4 tokens is too short"):
        predict_with(opened(tuned, "tokens"), examples("tokens"), max_length=4)


def test_a_table_of_labels_has_a_column_for_each_class(tuned):
    rows = examples("classification", 3)
    checkpoint = opened(tuned, "classification")
    head, *body = task_with(checkpoint).table(rows, predict_with(checkpoint, rows)[0])
    assert head == ["row", "text", "second text", "label", "p(bad)", "p(good)", "p(so so)"]
    assert [line[:3] for line in body] == [[row.row, row.text_a, row.text_b] for row in rows]
    for line in body:
        assert sum(line[4:]) == pytest.approx(1, abs=1e-3)
        assert line[3] == ("bad", "good", "so so")[int(np.argmax(line[4:]))]


def test_tables_of_numbers_words_and_answers(tuned):
    number, tokens, qa = (opened(tuned, task) for task in ("regression", "tokens", "qa"))
    single = [LabelledText("the cat", None, 0.0, 7)]
    said, _ = predict_with(number, single)
    assert list(task_with(number).table(single, said)) == [
        ["row", "text", "number"],
        [7, "the cat", float(said[0].label)],
    ]
    rows = examples("tokens", 2)
    head, *body = task_with(tokens).table(rows, predict_with(tokens, rows)[0])
    assert head == ["row", "word", "label", "probability"]
    assert [line[1] for line in body] == [word for row in rows for word in row.words]
    asked = [Question("a", "what", "the cat sat", (), 4)]
    head, line = task_with(qa).table(asked, predict_with(qa, asked)[0])
    assert dict(zip(head, line, strict=True)) | {"answer": 0, "start": 0, "end": 0} == {
        "row": 4, "question": "what", "answer": 0, "start": 0, "end": 0, "passage": "the cat sat"
    }  # fmt: skip


def test_a_table_of_several_labels_names_those_that_reach_their_threshold(tuned):
    model = opened(tuned, "multilabel")
    (threshold,) = model.config.decision_thresholds
    rows = examples("multilabel")
    head, *body = task_with(model).table(rows, predict_with(model, rows)[0])
    assert head == ["row", "text", "labels", "p(bad)", "p(good)"]
    for line in body:
        shares = dict(zip(("bad", "good"), line[3:], strict=True))
        assert line[2] == "|".join(label for label, share in shares.items() if share >= threshold)
    assert len({line[2] for line in body}) > 1


def test_no_cell_of_a_table_is_a_formula_to_a_spreadsheet() -> None:
    formulas = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "＝1+1"]
    others = ["a=b", "-1.5", "+", -2.5, "well ;-)"]
    table = csv_text([[*formulas, ";=1", *others], ["=label()"]])
    rows = list(csv.reader(io.StringIO(table)))
    assert rows == [[*(f"'{formula}" for formula in formulas), ";'=1", *map(str, others)], ["'=label()"]]


QUESTIONS = examples("qa", 16)
ANSWERABLE = tuple(question for question in QUESTIONS if question.answers)


def refusing(**shape):
    """A model for which no answer is always the likeliest: [CLS] has the largest logits."""
    checkpoint = little_checkpoint(kind=BertForQuestionAnswering, initializer_range=0.02, **shape)
    head = checkpoint.model.get_submodule("answer")
    cls = checkpoint.model.bert(input_ids=torch.tensor([[checkpoint.tokenizer.cls_id]])).last_hidden_state[0, 0]
    with torch.no_grad():
        head.weight.copy_(1e3 * cls.expand(2, -1))
    return checkpoint


@pytest.mark.parametrize(("rows", "may"), [(QUESTIONS, True), (ANSWERABLE, False)])
def test_the_saved_model_says_whether_no_answer_may_be_predicted(rows, may, files, tmp_path):
    data = str(write(tmp_path / "data.json", rows))
    finish(files.config("qa", train=(data,), eval=(data,), epochs=1), tmp_path / "run")
    checkpoint = load_checkpoint(tmp_path / "run" / "model")
    assert checkpoint.config.handle_impossible_answer is may
    assert transformers.AutoConfig.from_pretrained(tmp_path / "run" / "model").handle_impossible_answer is may
    scores = json.loads((tmp_path / "run" / "report.json").read_text())["scores"]
    assert ("no_answer_accuracy" in scores) is may


def test_the_no_answer_threshold_is_chosen_on_the_validation_set_and_saved(files, tmp_path):
    data = str(write(tmp_path / "data.json", QUESTIONS))
    unanswerable = [question for question in QUESTIONS if not question.answers]
    chosen = {}
    for recall in (None, 0.5, 1.0):
        run = tmp_path / f"run-{recall}"
        finish(files.config("qa", train=(data,), eval=(data,), epochs=1, no_answer_recall=recall), run)
        checkpoint = load_checkpoint(run / "model")
        scores = json.loads((run / "report.json").read_text())["scores"]
        said, _ = predict_with(checkpoint, QUESTIONS)
        assert task_with(checkpoint).scores(QUESTIONS, said).items() <= scores.items()
        withheld = sum(not p.label for p, question in zip(said, QUESTIONS, strict=True) if not question.answers)
        line = "No answer is predicted where its score"
        assert (line in (run / "model" / "README.md").read_text()) is (recall is not None)
        chosen[recall] = checkpoint.config.null_score_diff_threshold, withheld / len(unanswerable)
    assert chosen[None][0] is None
    assert chosen[0.5][0] > chosen[1.0][0]
    assert (0.5 <= chosen[0.5][1] < 1) & (chosen[1.0][1] == 1)
    assert transformers.AutoConfig.from_pretrained(run / "model").null_score_diff_threshold == chosen[1.0][0]


def test_a_no_answer_recall_needs_unanswerable_questions_in_both_sets(files, tmp_path):
    mixed, all_answered = (
        str(write(tmp_path / f"{name}.json", rows)) for name, rows in (("mixed", QUESTIONS), ("answered", ANSWERABLE))
    )
    for train, held_out, name in ((mixed, all_answered, "validation"), (all_answered, mixed, "training")):
        config = files.config("qa", train=(train,), eval=(held_out,), epochs=1, no_answer_recall=0.5)
        with pytest.raises(InputError, match=f"the {name} set has none"):
            finish(config, tmp_path / name)


def test_what_a_model_answers_follows_its_no_answer_threshold():
    question, passage = QUESTIONS[0].question, QUESTIONS[0].passage
    checkpoint = refusing()
    margin = answer_question(checkpoint, question, passage).no_answer
    assert margin > 0
    for step in (-0.5, 0.5):
        config = checkpoint.config.replace(null_score_diff_threshold=margin + step)
        moved = replace(checkpoint, config=config)
        answer = answer_question(moved, question, passage)
        assert (answer.threshold, bool(answer.text)) == (margin + step, step > 0)
        (said,), _ = predict_with(moved, [replace(QUESTIONS[0], answers=())])
        assert said.label == answer.text


def test_a_model_of_answerable_questions_never_predicts_no_answer():
    question, passage = QUESTIONS[0].question, QUESTIONS[0].passage
    for trained_on_unanswerable in (None, True, False):
        checkpoint = refusing(handle_impossible_answer=trained_on_unanswerable)
        refuses = trained_on_unanswerable is not False
        assert (answer_question(checkpoint, question, passage).text == "") is refuses
        assert answer_question(checkpoint, question, passage, threshold=math.inf).text
        unlabelled = [replace(q, answers=()) for q in QUESTIONS]
        assert all((p.label == "") is refuses for p in predict_with(checkpoint, unlabelled)[0])


@pytest.mark.parametrize("label", [-1, 2, "no class"])
def test_a_label_that_the_model_lacks_is_not_scored(label):
    with pytest.raises(ValueError, match=f"The model has no label {label!r}; its labels are negative, positive"):
        evaluate("sentiment-mini", ["a fine film"], [label])
