"""Fine-tune: the form as settings, and what the examples are told to be; a whole file of texts."""

import csv
import dataclasses
import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import gradio as gr
import pytest

from bertviz_lab import FinetuneConfig, InputError, interpret
from bertviz_lab.config.limits import QuestionLimits
from bertviz_lab.config.options import options_of
from bertviz_lab.data.samples.task_samples import TASK_SAMPLES
from bertviz_lab.ui.forms import batch_prediction as whole_file
from bertviz_lab.ui.forms import controls, task_form
from bertviz_lab.ui.forms.finetune import create_finetune, recommend, show_examples, source_of, take_column
from bertviz_lab.ui.forms.texts import OWN
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.state.models import RANDOM
from tests.little import little_folder
from tests.ui.finetuned import RUN, tuned, write_reviews

__all__ = ["tuned"]
NAMES = ("model", "epochs", "batch_size", "eval_share", "task")
VALUES = ("little", 2, 8, 0.25, "auto")


def body(payload: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(payload["value"] if isinstance(payload, dict) else payload)
    return found


def test_every_setting_has_its_place(session: AppState) -> None:
    with gr.Blocks():
        bench = create_finetune(session)
    assert set(bench.names) == {f.name for f in options_of(FinetuneConfig, "page")}
    assert len(bench.inputs) == 3 + len(bench.names)
    values = [component.value for component in bench.inputs[3:]]
    found = task_form.chosen("sentiment", None, None)
    config = task_form.config_from(session, found, bench.names, values)
    told = {"train": ("sample:sentiment",), "threads": session.settings.threads, "model": config.model}
    assert config == FinetuneConfig(**told, **task_form.suited("sentiment"))
    assert Path(config.model).name == "little"


def test_samples_and_files_are_chosen(tmp_path: Path) -> None:
    assert [value for _, value in task_form.choices()] == [*TASK_SAMPLES, OWN]
    for source in (*TASK_SAMPLES, OWN):
        assert task_form.about(source)
    path = write_reviews(tmp_path / "reviews.csv")
    assert task_form.chosen(OWN, [str(path)], None).files == (path,)
    assert task_form.chosen(OWN, str(path), [str(path)]).scored == (path,)
    for files, told in ((None, "Drop a labeled file"), ([str(tmp_path / "gone.csv")], "upload it again")):
        with pytest.raises(InputError, match=told):
            task_form.chosen(OWN, files, None)
    assert source_of("sentiment", [str(path)]) == OWN
    assert source_of("sentiment", None) == "sentiment"


def test_a_sample_that_wants_a_model_of_its_own_gets_it_and_gives_it_back(session: AppState) -> None:
    start_for = partial(task_form.start_for, session)
    assert start_for("town-questions", "little") == "little"  # that model does not come with this page
    for name in ("wiki-mini", "tiny-town"):
        little_folder(session.settings.checkpoints / name)
    assert start_for("town-questions", "wiki-mini") == "tiny-town"
    assert start_for("town-questions", "tiny-town") == "tiny-town"
    assert start_for("topics", "tiny-town") == "wiki-mini"
    assert start_for("topics", "wiki-mini") == "wiki-mini"
    for source in ("topics", "town-questions"):
        for chosen in ("little", RANDOM, "kind-otter-0123456789abcdef"):
            assert start_for(source, chosen) == chosen


def test_what_suits_a_sample_is_filled_in_and_what_was_set_stays() -> None:
    filled = task_form.suited("sentiment")
    advice = controls.advice("", filled)
    for source in (*TASK_SAMPLES, OWN):
        advice, *updates, text_a, text_b, label = recommend(source, advice, *filled.values())
        assert (text_a, text_b, label) == ("", "", "")
        filled |= {name: to for name, to in zip(filled, updates, strict=True) if to != gr.skip()}
        expected = TASK_SAMPLES[source].settings if source in TASK_SAMPLES else {}
        assert {name: filled[name] for name in expected} == dict(expected)
        FinetuneConfig(train=("x.csv",), **filled)
    _, *updates, _, _, _ = recommend("sentiment", advice, *(filled | {"epochs": 7}).values())
    assert updates[task_form.SUITED.index("epochs")] == gr.skip()


def test_a_mistake_in_the_form_is_told_in_the_words_of_the_page(session: AppState) -> None:
    found = task_form.chosen("topics", None, None)
    for name, value, told in (
        ("epochs", 0, '"Epochs" must lie between'),
        ("learning_rate", "fast", '"Peak learning rate" must be a number'),
        ("model", "../../etc", "choose another one from the list"),
    ):
        with pytest.raises(InputError, match=told):
            task_form.config_from(session, found, (name,), (value,))
    assert task_form.config_from(session, found, ("model",), (RANDOM,)).model == "random"
    names = ("epochs", "batch_size", "learning_rate", "grid")
    assert task_form.config_from(session, found, names, (9, 8, 0.1, "small")).epochs == FinetuneConfig.epochs


def test_the_examples_are_shown_with_their_guess_and_in_numbers(session: AppState, tmp_path: Path) -> None:
    path = write_reviews(tmp_path / "reviews.csv")
    preview, told, *columns = show_examples(session, NAMES, OWN, [str(path)], None, *VALUES)
    roles = {column["name"]: column["role"] for column in body(preview)["columns"]}
    assert roles == {"text": "a", "label": "label"}
    facts = dict(body(told)["items"])
    assert int(facts["Training examples"]) + int(facts["Held-out examples"]) == 60
    assert facts["Labels"] == "2"
    assert ("label", "label") in columns[2]["choices"]
    for source, files, message in ((OWN, None, "Drop a labeled file"), (OWN, [str(tmp_path)], "no longer")):
        preview, told, *_ = show_examples(session, NAMES, source, files, None, *VALUES)
        assert message in body(preview)["message"]
        assert told == ""


def test_columns_that_cannot_be_used_are_shown_as_chosen_so_that_others_can_be(
    session: AppState, tmp_path: Path
) -> None:
    path = tmp_path / "same.csv"
    path.write_text("text,label,same\n" + "".join(f"day {n},{'ab'[n % 2]},1\n" for n in range(40)), encoding="utf-8")
    for chosen, told, expected in (
        ({"label": "same"}, "one class", {"text": "a", "label": "", "same": "label"}),
        ({"label": "gone"}, "no column", {"text": "a", "label": "", "same": ""}),
        ({"text_a": "label", "label": "label"}, "different columns", {"text": "", "label": "a", "same": ""}),
    ):
        names, values = (*NAMES, *chosen), (*VALUES, *chosen.values())
        preview, facts, charts, *_ = show_examples(session, names, OWN, [str(path)], None, *values)
        assert {column["name"]: column["role"] for column in body(preview)["columns"]} == expected
        assert told in body(facts)["note"]
        assert (body(facts)["tone"], charts) == ("error", "")


def test_a_pressed_column_becomes_the_label() -> None:
    def pressed(**data: str) -> gr.EventData:
        return gr.EventData(None, data)

    same = gr.skip()
    assert take_column(pressed(name="topic"), "label") == (same, same, "topic")
    assert take_column(pressed(name="label"), "label") == ("label", same, "")
    assert take_column(pressed(), "c") == (same, same, "")


def predicted(*asked: Any) -> tuple[Any, str]:
    """What the page is told at last of a whole file."""
    *_, last = whole_file.predict_file(*asked)
    return last


def test_a_file_of_more_text_than_twenty_questions_is_refused_with_what_would_do(
    tuned: AppState, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "texts.txt"
    path.write_text("the red cat sat\n" * 1000, encoding="utf-8")
    checkpoint = tuned.models.open(RUN)
    little = dataclasses.replace(checkpoint, limits=QuestionLimits(operations=10_000_000))
    monkeypatch.setattr(tuned.models, "open", lambda name: little)
    update, told = predicted(tuned, RUN, str(path))
    assert not update["visible"]
    assert re.match(r"These 1,000 texts are too much for this page .* it takes about \d{3} of", body(told)["text"])


def test_a_whole_file_is_ranked_by_its_similarity_to_a_query(tuned: AppState, tmp_path: Path) -> None:
    path = tmp_path / "texts.txt"
    path.write_text("the red cat sat\nan old house by the river\n=1+1\n", encoding="utf-8")
    texts = ["the red cat sat", "an old house by the river", "=1+1"]
    for model in ("little", RUN):
        update, told = predicted(tuned, model, str(path), " an old house ")
        with Path(update["value"]).open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        hits = interpret.semantic_search(tuned.models.open(model), "an old house", texts)
        assert [row["text"].removeprefix("'") for row in rows] == [hit.text for hit in hits]
        assert [float(row["cosine"]) for row in rows] == pytest.approx([hit.cosine for hit in hits], abs=1e-4)
        assert [int(row["row"]) for row in rows] == [hit.index + 1 for hit in hits]
        assert body(told)["text"].startswith(
            f"3 texts ranked by {tuned.models.open(model).name}. Nearest: “{hits[0].text}”"
        )
    assert "Upload a file" in body(predicted(tuned, RUN, "", "cat")[1])["text"]


@pytest.mark.parametrize(("query", "doing"), [("", "Predicting"), ("an old house", "Embedding")])
def test_it_is_told_how_many_texts_of_a_file_are_done(
    tuned: AppState, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str, doing: str
) -> None:
    path = tmp_path / "texts.txt"
    path.write_text("".join(f"the red cat sat on number {n}\n" for n in range(5)), encoding="utf-8")
    whole, _ = predicted(tuned, RUN, str(path), query)
    table = Path(whole["value"]).read_text(encoding="utf-8")
    monkeypatch.setattr(whole_file, "_AT_ONCE", 2)
    *parts, (last, _) = whole_file.predict_file(tuned, RUN, str(path), query)
    told = [body(message)["text"] for _, message in parts]
    assert told == ["Reading the texts …", *(f"{doing}: {done} of 5 texts." for done in (0, 2, 4))]
    assert not any(update["visible"] for update, _ in parts)
    assert Path(last["value"]).read_text(encoding="utf-8") == table


def test_a_search_on_a_shared_page_may_cost_twenty_questions(
    tuned: AppState, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "texts.txt"
    path.write_text("".join(f"the red cat sat on number {n}\n" for n in range(300)), encoding="utf-8")
    checkpoint = tuned.models.open(RUN)
    for operations, sentence in ((30_000_000, "300 texts ranked"), (1_000_000, "These 300 texts are too much")):
        little = dataclasses.replace(checkpoint, limits=QuestionLimits(operations=operations))
        monkeypatch.setattr(tuned.models, "open", lambda name, little=little: little)
        assert body(predicted(tuned, RUN, str(path), "the cat")[1])["text"].startswith(sentence)


def test_a_whole_file_comes_back_as_a_table(tuned: AppState, tmp_path: Path) -> None:
    path = tmp_path / "texts.txt"
    path.write_text("the red cat sat\n\n=1+1\n", encoding="utf-8")
    update, told = predicted(tuned, RUN, str(path))
    assert "2 predictions" in body(told)["text"]
    with Path(update["value"]).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    (first, *_) = interpret.classify(tuned.models.open(RUN), "the red cat sat").labels
    assert (rows[0]["row"], rows[0]["label"]) == ("1", first.label)
    assert float(rows[0][f"p({first.label})"]) == pytest.approx(first.score, abs=1e-3)
    assert rows[1]["text"] == "'=1+1"
    table = tmp_path / "texts.csv"
    table.write_text("text,number\nthe red cat,1\n,2\n-0.5,3\n", encoding="utf-8")
    update, told = predicted(tuned, RUN, str(table))
    assert '1 dropped: the text is empty ("texts.csv" row 3).' in body(told)["text"]
    with Path(update["value"]).open(encoding="utf-8", newline="") as file:
        assert [row["text"] for row in csv.DictReader(file)] == ["the red cat", "-0.5"]
    long = tmp_path / "long.txt"
    long.write_text("cat " * 20_000, encoding="utf-8")
    assert "more than 50,000 characters" in body(predicted(tuned, RUN, str(long))[1])["text"]
    empty = tmp_path / "empty.txt"
    empty.write_bytes(b"")
    for model, file, message in ((RUN, empty, "is empty"), ("little", path, "fine-tuned")):
        update, told = predicted(tuned, model, str(file))
        assert not update["visible"]
        assert message in body(told)["text"]
