"""Predictions: masked tokens, words masked by a click, the next sentence, and tasks of fine-tuned models."""

import json
from typing import Any

import pytest

from bertviz_lab import (
    BertForMaskedLM,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
    InputError,
    Tokenizer,
    interpret,
    save_checkpoint,
)
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views.predictions.view import QUESTIONS
from tests.charts import shown
from tests.little import little_checkpoint, little_folder

TEXT = "the red cat sat on the mat"
A, B = "the red cat sat", "she gave him the book"
LIST = {"top_k": 5, "word": ""}


def ask(session: AppState, name: str, text_a: str = TEXT, text_b: str = "", model: str = "", **more: Any) -> Any:
    texts = {"model": model, "text_a": text_a, "text_b": text_b}
    answer = QUESTIONS[name].ask(session, texts | more)
    return shown(answer) if isinstance(answer, str) else answer


def test_the_likeliest_tokens_are_those_of_fill_mask_for_both_texts(session: AppState) -> None:
    masks = ask(session, "mlm", "the [MASK] cat", "she [MASK] him", **LIST)["masks"]
    truth = interpret.fill_mask(session.models.open(), "the [MASK] cat", 5, "she [MASK] him").masks
    shown = [[candidate["token"] for candidate in mask["candidates"]] for mask in masks]
    assert shown == [[candidate.token for candidate in mask.candidates] for mask in truth]


def test_a_word_of_ones_own_has_its_rank(session: AppState) -> None:
    text = "the red [MASK] sat on the mat"
    asked = ask(session, "mlm", text, top_k=5, word=" cat ")["masks"][0]["asked"]
    truth = interpret.fill_mask(session.models.open(), text, word="cat").masks[0].asked
    assert truth is not None
    assert asked["rank"] == truth.rank
    with pytest.raises(InputError, match="not one token"):
        ask(session, "mlm", text, top_k=5, word="unbelievably long")


def test_a_text_without_a_masked_token_is_shown_to_be_clicked(session: AppState) -> None:
    payload = ask(session, "mlm", TEXT, **LIST)
    assert payload["masks"] == []
    assert [column["surface"] for column in payload["columns"]].count("the") == 2


@pytest.mark.parametrize(("algorithm", "token"), [("bpe", "ĠcafÃ©"), ("bpe", "cafÃ©"), ("wordpiece", "café")])
def test_what_is_filled_in_is_the_word_and_not_the_bytes_of_its_token(
    session: AppState, algorithm: Any, token: str
) -> None:
    tokenizer = Tokenizer.train(["café the café est fermé"] * 200, vocab_size=400, algorithm=algorithm, lowercase=False)
    checkpoint = little_checkpoint(kind=BertForMaskedLM, tokenizer=tokenizer)
    checkpoint.model.mlm.bias.data[tokenizer.id(token)] = 100
    save_checkpoint(checkpoint, session.settings.checkpoints / "french")
    assert ask(session, "guesses", "the [MASK] est fermé [MASK]", model="french") == ["café", "café"]


def test_the_strip_of_surprisal_says_whether_its_tokens_are_in_the_places_of_the_input(session: AppState) -> None:
    count = len(session.models.open().tokenizer.encode(TEXT))
    assert [ask(session, "surprisal", positions=count + more)["linked"] for more in (0, 1)] == [True, False]


def test_masked_tokens_are_filled_jointly(session: AppState) -> None:
    text = "the [MASK] cat [MASK] on the mat"
    best = interpret.joint_fill(session.models.open(), text, beams=8).joint[0]
    assert " · ".join(best.tokens) in json.dumps(ask(session, "joint", text), ensure_ascii=False)


def test_a_second_model_stands_beside_the_first(session: AppState) -> None:
    little_folder(session.settings.checkpoints / "other", seed=1)
    for other, name in (("before", "before training"), ("other", "other")):
        assert ask(session, "compare", "the red [MASK] sat", other=other)["title"].endswith(f"and {name}")
    with pytest.raises(InputError, match="no such"):
        ask(session, "compare", "the red [MASK] sat", other="no such")


def test_the_next_sentence_is_predicted(session: AppState) -> None:
    verdict = ask(session, "nsp", A, B)
    assert ("not next" in verdict["title"]) == (interpret.next_sentence(session.models.open(), A, B).is_next <= 0.5)


@pytest.mark.parametrize(
    ("kind", "mlm", "nsp", "task"),
    [
        (None, True, True, False),
        (BertForMaskedLM, True, False, False),
        (BertModel, False, False, False),
        (BertForSequenceClassification, False, False, True),
        (BertForTokenClassification, False, False, True),
        (BertForQuestionAnswering, False, False, True),
    ],
)
def test_which_parts_there_are_depends_on_the_heads(
    session: AppState, kind: type | None, mlm: bool, nsp: bool, task: bool
) -> None:
    model = "little" if kind is None else little_folder(session.settings.checkpoints / "other", kind=kind).name
    heads = QUESTIONS["heads"].ask(session, {"model": model})
    assert (heads["mlm"], heads["nsp"], bool(heads["task"])) == (mlm, nsp, task)
    if not task:
        with pytest.raises(InputError, match="not been fine-tuned"):
            ask(session, "task", model=model)
    for name, able, more in (("mlm", mlm, LIST), ("nsp", nsp, {})):
        if not able:
            with pytest.raises(InputError, match=r"no (masked-LM|next-sentence) head"):
                ask(session, name, "the [MASK] cat", B, model, **more)


def test_each_kind_of_fine_tuned_model_has_its_own_drawing(session: AppState) -> None:
    folder = session.settings.checkpoints
    little_folder(folder / "labels", kind=BertForSequenceClassification)
    little_folder(folder / "words", kind=BertForTokenClassification)
    little_folder(folder / "answers", kind=BertForQuestionAnswering)
    truth = interpret.classify(session.models.open("labels"), A)
    assert ask(session, "task", A, model="labels")["title"] == f"Predicted label: {truth.labels[0].label}"
    assert ask(session, "task", A, model="words")["title"] == "Entities"
    best = interpret.answer_question(session.models.open("answers"), "who sat", A)
    assert f"{best.no_answer_probability:.1%}" in ask(session, "task", "who sat", A, model="answers")["sentence"]
    with pytest.raises(InputError, match="Type"):
        ask(session, "task", "who sat", "", model="answers")
