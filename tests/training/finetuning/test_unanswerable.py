"""No answer is predicted where the data have unanswerable questions (SQuAD 2.0), never where not (1.1)."""

import json
import math
from dataclasses import replace

import pytest
import torch
import transformers

from bertviz_lab.interpret import answer_question
from bertviz_lab.model import BertForQuestionAnswering
from bertviz_lab.training.checkpoints.checkpoint import load_checkpoint
from bertviz_lab.training.finetuning.predict import evaluate_task, predict_with
from tests.little import little_checkpoint
from tests.training.finetuning.support import examples, finish, write

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


def test_a_model_that_would_refuse_is_scored_by_its_spans_where_every_question_has_an_answer(tmp_path):
    checkpoint = refusing()
    spans = [p.best[0][0] for p in predict_with(checkpoint, QUESTIONS)[0]]
    assert [p.label for p in predict_with(checkpoint, QUESTIONS)[0]] == [""] * 16
    told = [p.label for p in predict_with(checkpoint, ANSWERABLE)[0]]
    assert told == [span for span, question in zip(spans, QUESTIONS, strict=True) if question.answers]
    truth = [
        replace(q, answers=(replace(q.answers[0], text=text, start=q.passage.index(text)),))
        for q, text in zip(ANSWERABLE, told, strict=True)
    ]
    scores = evaluate_task(checkpoint, [write(tmp_path / "right.json", tuple(truth))], "qa")
    assert scores["exact_match"] == scores["f1"] == 1.0


@pytest.mark.parametrize(("rows", "may"), [(QUESTIONS, True), (ANSWERABLE, False)])
def test_the_saved_model_says_whether_no_answer_may_be_predicted(rows, may, files, tmp_path):
    data = str(write(tmp_path / "data.json", rows))
    finish(files.config("qa", train=(data,), eval=(data,), epochs=1), tmp_path / "run")
    checkpoint = load_checkpoint(tmp_path / "run" / "model")
    assert checkpoint.config.handle_impossible_answer is may
    assert transformers.AutoConfig.from_pretrained(tmp_path / "run" / "model").handle_impossible_answer is may
    scores = json.loads((tmp_path / "run" / "report.json").read_text())["scores"]
    assert ("no_answer_accuracy" in scores) is may


def test_a_model_of_answerable_questions_never_predicts_no_answer():
    question, passage = QUESTIONS[0].question, QUESTIONS[0].passage
    for trained_on_unanswerable in (None, True, False):
        checkpoint = refusing(handle_impossible_answer=trained_on_unanswerable)
        refuses = trained_on_unanswerable is not False
        assert (answer_question(checkpoint, question, passage).text == "") is refuses
        assert answer_question(checkpoint, question, passage, threshold=math.inf).text
        unlabelled = [replace(q, answers=()) for q in QUESTIONS]
        assert all((p.label == "") is refuses for p in predict_with(checkpoint, unlabelled)[0])
