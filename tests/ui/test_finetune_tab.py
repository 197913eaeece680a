"""Fine-tune and Try it: the form as settings, what the examples are told to be, results, and answers."""

import csv
import dataclasses
import json
from functools import partial
from pathlib import Path
from typing import Any

import gradio as gr
import pytest

from bertviz_lab import BertForSequenceClassification, BertForTokenClassification, FinetuneConfig, InputError, interpret
from bertviz_lab.data.samples.task_samples import TASK_SAMPLES
from bertviz_lab.interpret import read_results
from bertviz_lab.training.finetuning.finetune import finetune
from bertviz_lab.training.runs.run_folder import record
from bertviz_lab.ui import options, task_form
from bertviz_lab.ui.app_state import AppState
from bertviz_lab.ui.components.chips import chip_items
from bertviz_lab.ui.header import create_header
from bertviz_lab.ui.models import RANDOM
from bertviz_lab.ui.tabs import results, try_it, whole_file
from bertviz_lab.ui.tabs.finetune import create_finetune, recommend, show_examples, source_of, take_column
from bertviz_lab.ui.texts import OWN
from tests.little import little_checkpoint, little_folder
from tests.ui.pages import little_settings
from tests.ui.test_models import RUN as PRETRAINED
from tests.ui.test_models import make_run
from tests.ui.test_page_events import story

RUN = "sharp-otter-0123456789abcdef"
NAMES = ("model", "epochs", "batch_size", "eval_share", "task")
VALUES = ("little", 2, 8, 0.25, "auto")


def write_reviews(path: Path, count: int = 60) -> Path:
    """Red cats are good and small dogs are bad."""
    lines = [f"the {('red cat', 'small dog')[n % 2]} sat on day {n},{('good', 'bad')[n % 2]}" for n in range(count)]
    path.write_text("text,label\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> AppState:
    """A session with a run that was fine-tuned on the little reviews, with random weights beside."""
    folder = tmp_path_factory.mktemp("tuned")
    session = AppState(little_settings(folder))
    config = FinetuneConfig(
        train=(str(write_reviews(folder / "reviews.csv")),),
        model=str(folder / "checkpoints" / "little"),
        random_baseline=True,
        epochs=2,
        batch_size=8,
        eval_share=0.3,
        threads=1,
        precision="fp32",
    )
    run = folder / "runs" / RUN
    run.mkdir(parents=True)
    for _ in record(finetune(config, run), run):
        pass
    return session


def body(payload: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(payload["value"] if isinstance(payload, dict) else payload)
    return found


def test_every_setting_has_its_place(session: AppState) -> None:
    with gr.Blocks():
        bench = create_finetune(session, create_header(session))
    fields = {f.name for f in dataclasses.fields(FinetuneConfig)}
    assert set(bench.names) == fields - set(options.TUNING_NOT_ON_THE_PAGE)
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
    for files, told in ((None, "Drop a labelled file"), ([str(tmp_path / "gone.csv")], "upload it again")):
        with pytest.raises(InputError, match=told):
            task_form.chosen(OWN, files, None)
    assert source_of("sentiment", [str(path)])[0] == OWN
    assert source_of("sentiment", None)[0] == "sentiment"


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


def test_what_suits_a_sample_is_filled_in() -> None:
    for source in (*TASK_SAMPLES, OWN):
        text_a, text_b, label, *values = recommend(source)
        assert (text_a, text_b, label) == ("", "", "")
        filled = dict(zip(task_form.SUITED, values, strict=True))
        expected = TASK_SAMPLES[source].settings if source in TASK_SAMPLES else {}
        assert {name: filled[name] for name in expected} == dict(expected)
        FinetuneConfig(train=("x.csv",), **filled)


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


def test_the_examples_are_shown_with_their_guess_and_in_numbers(session: AppState, tmp_path: Path) -> None:
    path = write_reviews(tmp_path / "reviews.csv")
    preview, told, *columns = show_examples(session, NAMES, OWN, [str(path)], None, *VALUES)
    roles = {column["name"]: column["role"] for column in body(preview)["columns"]}
    assert roles == {"text": "a", "label": "label"}
    facts = dict(body(told)["items"])
    assert int(facts["Training examples"]) + int(facts["Held-out examples"]) == 60
    assert facts["Labels"] == "2"
    assert ("label", "label") in columns[2]["choices"]
    for source, files, message in ((OWN, None, "Drop a labelled file"), (OWN, [str(tmp_path)], "no longer")):
        preview, told, *_ = show_examples(session, NAMES, source, files, None, *VALUES)
        assert message in body(preview)["message"]
        assert told == ""


def test_a_pressed_column_becomes_the_label() -> None:
    assert take_column({"name": "topic"}, "", "", "label") == ("", "", "topic")
    assert take_column({"name": "label"}, "", "none", "label") == ("label", "none", "")
    assert take_column({}, "a", "b", "c") == ("a", "b", "")


def test_nothing_is_told_of_a_run_that_is_none(session: AppState) -> None:
    make_run(session)
    for run_id in (None, "", "gone", PRETRAINED):
        drawn, summary, shown, *_ = results.draw_results(session, run_id)
        assert drawn == ""
        assert "Press Fine-tune" in body(summary)["note"]
        assert shown["visible"] is False


def test_the_results_are_those_of_the_report(tuned: AppState) -> None:
    found = read_results(tuned.runs.folder(RUN))
    drawn, summary, shown, trials, confusion, listed, *_ = results.draw_results(tuned, RUN)
    assert set(map(str, results.draw_results(tuned, RUN, drawn))) == {str(gr.skip())}  # it stays as it was left
    assert shown["visible"]
    facts = dict(body(summary)["items"])
    assert facts["Accuracy"] == f"{found.scores['accuracy']:.1%}"
    assert facts["Majority-class baseline"] == f"{found.guess['accuracy']:.1%}"
    assert facts["Random-weights baseline"] == f"{found.trials[1]['scores']['accuracy']:.1%}"
    assert "random weights" in body(trials)["groups"]
    assert body(confusion)["rows"] == ["bad", "good"]
    items = body(listed)["items"]
    assert len(items) == len(found.examples)
    rights = [item["right"] for item in items]
    assert rights == sorted(rights)  # mistakes first
    assert (tuned.models.open(RUN).card, tuned.models.tuned(RUN)) != ("", "")


def test_a_cell_has_its_examples_and_an_example_its_reasons(tuned: AppState) -> None:
    found = read_results(tuned.runs.folder(RUN))
    for row, truth in enumerate(("bad", "good")):
        for column, said in enumerate(("bad", "good")):
            listed, button = results.pick_cell(tuned, {"row": row, "column": column}, RUN)
            picked = body(listed)["items"]
            assert len(picked) == found.report.confusion[row, column]  # type: ignore[union-attr]
            assert {(item["truth"], item["predicted"]) for item in picked} <= {(truth, said)}
            assert button["visible"]
    assert results.pick_cell(tuned, {"row": 9, "column": 0}, RUN)[0] == gr.skip()
    strip = json.loads(results.explain(tuned, RUN, "0"))
    assert len(strip["rows"]) == len(interpret.METHODS)
    assert json.loads(results.before_after(tuned, RUN, "0"))["signed"]
    for chosen in ("", "999", "x"):
        with pytest.raises(InputError, match="Choose an example"):
            results.explain(tuned, RUN, chosen)
    assert "calibration" in json.loads(results.confidence(tuned, RUN))["sentence"]
    assert json.loads(results.each_label(tuned, RUN))["groups"] == ["bad", "good"]
    assert json.loads(results.parts_of(tuned, RUN))["groups"]


def test_a_fine_tuned_model_answers_and_another_lets_a_shipped_one_answer(tuned: AppState) -> None:
    marked, verdict = try_it.answer(tuned, RUN, "the red cat sat", "")
    truth = interpret.classify(tuned.models.open(RUN), "the red cat sat").labels
    assert not marked["visible"]
    assert body(verdict)["title"] == f"Predicted label: {truth[0].label}"
    assert body(verdict)["series"][0]["values"] == pytest.approx([label.score for label in truth])
    assert len(json.loads(try_it.words(tuned, RUN, "the red cat sat", ""))["rows"]) == len(interpret.METHODS)
    _, verdict = try_it.answer(tuned, "little", "the red cat sat", "")
    assert "has not been fine-tuned" in body(verdict)["message"]
    little_folder(tuned.settings.checkpoints / "tagger", kind=BertForTokenClassification, num_labels=3)
    try:
        marked, verdict = try_it.answer(tuned, "little", "the red cat sat", "")
        assert "tagger, which comes with the lab, is used instead" in body(marked)["sentence"]
        assert not verdict["visible"]
    finally:
        for path in (tuned.settings.checkpoints / "tagger").iterdir():
            path.unlink()
        (tuned.settings.checkpoints / "tagger").rmdir()


def test_fields_suit_the_model(tuned: AppState) -> None:
    _, payload, first, second, _, verdict = try_it.follow_model(tuned, RUN, "", "", "")
    items = json.loads(payload)["items"]
    held = {e.text_a for e in read_results(tuned.runs.folder(RUN)).examples}  # type: ignore[union-attr]
    assert {item[0] for item in items} <= held
    assert first["value"] == items[0][0]
    assert second["visible"]
    assert verdict["visible"]
    *_, verdict = try_it.follow_model(tuned, RUN, payload, "my own text", "")
    assert "Predicted" in body(verdict)["title"]


def test_models_that_answer_something_else_are_one_click_away(session: AppState) -> None:
    kinds = {"tagger": BertForTokenClassification, "judge": BertForSequenceClassification}
    for name, kind in kinds.items():
        little_folder(session.settings.checkpoints / name, kind=kind, num_labels=3)
    for name, told in (("tagger", "labels for a text (judge)"), ("judge", "entities in a text (tagger)")):
        others, *_ = try_it.follow_model(session, name, "", "", "")
        ((said, other),) = chip_items(others)
        assert said == told
        assert story(session).pick_model({"texts": [said, other]}) == (other, other)
    for texts in (["x", "/etc"], ["x"], [], "x"):
        assert story(session).pick_model({"texts": texts}) == (gr.skip(), gr.skip())


def test_a_whole_file_comes_back_as_a_table(tuned: AppState, tmp_path: Path) -> None:
    path = tmp_path / "texts.txt"
    path.write_text("the red cat sat\n\n=1+1\n", encoding="utf-8")
    update, told = whole_file.predict_file(tuned, RUN, str(path))
    assert "2 predictions" in body(told)["text"]
    with Path(update["value"]).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    (first, *_) = interpret.classify(tuned.models.open(RUN), "the red cat sat").labels
    assert (rows[0]["row"], rows[0]["label"]) == ("1", first.label)
    assert float(rows[0][f"p({first.label})"]) == pytest.approx(first.score, abs=1e-3)
    assert rows[1]["text"] == "'=1+1"
    table = tmp_path / "texts.csv"
    table.write_text("text,number\nthe red cat,1\n,2\n-0.5,3\n", encoding="utf-8")
    update, told = whole_file.predict_file(tuned, RUN, str(table))
    assert '1 dropped: the text is empty ("texts.csv" row 3).' in body(told)["text"]
    with Path(update["value"]).open(encoding="utf-8", newline="") as file:
        assert [row["text"] for row in csv.DictReader(file)] == ["the red cat", "-0.5"]
    long = tmp_path / "long.txt"
    long.write_text("cat " * 20_000, encoding="utf-8")
    assert "more than 50,000 characters" in body(whole_file.predict_file(tuned, RUN, str(long))[1])["text"]
    empty = tmp_path / "empty.txt"
    empty.write_bytes(b"")
    for model, file, message in ((RUN, empty, "is empty"), ("little", path, "fine-tuned")):
        update, told = whole_file.predict_file(tuned, model, str(file))
        assert not update["visible"]
        assert message in body(told)["text"]


def test_the_little_tagger_marks_names(session: AppState) -> None:
    checkpoint = little_checkpoint(kind=BertForTokenClassification, num_labels=3, id2label=("B-CAT", "I-CAT", "O"))
    payload = json.loads(try_it._entities(checkpoint, "", "the red cat sat"))
    truth = interpret.label_words(checkpoint, "the red cat sat")
    assert [(span["start"], span["end"]) for span in payload["spans"]] == [(e.start, e.end) for e in truth.entities]
