"""From a labelled file to a model that one understands: real files, fine-tuned and looked into with real clicks."""

import csv
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from bertviz_lab import load_checkpoint
from bertviz_lab.interpret import answer_question, classify, label_words, read_results, semantic_search
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views.run.results import MOST_LISTED
from tests.browser import PageLog, at_rest, data_table, eventually, fill_in, reload
from tests.ui.pages import Served, serve

TRAINING = 240_000  # milliseconds until a short training on a busy machine has ended


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A page with the models that come with the lab."""
    with serve(Settings(runs_dir=tmp_path_factory.mktemp("tuning") / "runs", max_runs=2)) as served:
        yield served


def tab(page: Page, name: str) -> None:
    """A tab of Train."""
    page.get_by_role("tab", name="Train", exact=True).click()
    page.get_by_role("tab", name=name, exact=True).click()


def unfold(page: Page, part: str) -> None:
    page.locator(f"#{part} summary").first.click()


def upload(page: Page, train: Path, scored: Path | None = None) -> None:
    """Choose the smallest model and bring a file of one's own, and wait until it was read."""
    tab(page, "Fine-tune")
    expect(page.locator("#examples-facts")).to_contain_text("Training examples", timeout=TRAINING)
    page.locator("#tuning-model-input").select_option("wiki-tiny")
    page.locator("#examples-files input[type=file]").set_input_files(train)
    expect(page.locator("#examples-preview")).to_contain_text(train.name, timeout=TRAINING)
    if scored is not None:
        page.locator("#examples-scored input[type=file]").set_input_files(scored)
    expect(page.locator("#examples-facts")).to_contain_text("Training examples", timeout=TRAINING)


def set_number(page: Page, name: str, value: str) -> None:
    field = page.locator(f"#tuning-{name} input, #tuning-{name} textarea").first
    field.fill(value)
    field.press("Tab")


def fact(page: Page, what: str, value: str) -> None:
    """Data set statistics show it."""
    expect(page.locator("#examples-facts")).to_contain_text(re.compile(rf"{what}\s*{value}"), timeout=TRAINING)


def tune(page: Page, session: AppState) -> str:
    """Press the button and wait for the end; the run's id."""
    before = set(session.runs.ids())
    page.locator("#tune").click()
    eventually(page, lambda: len(session.runs.ids()) > len(before), 30)
    (run_id,) = set(session.runs.ids()) - before
    expect(page.locator("#finetune-chart")).to_contain_text(run_id.rsplit("-", 1)[0], timeout=TRAINING)
    expect(page.locator("#finetune-chart .stage")).to_contain_text("Finished", timeout=TRAINING)
    page.locator("#finetune-progress").get_by_role("tab", name="Results").click()
    expect(page.locator("#finetune-summary")).to_contain_text("held-out examples after training on", timeout=TRAINING)
    return run_id


def open_in_explore(page: Page, session: AppState, run_id: str) -> None:
    """Press the button, and wait until the model's own example stands there."""
    page.locator("#finetune-explore").click()
    expect(page.locator("#model-picker")).to_have_value(run_id)
    ((text, _), *_) = session.task_examples(run_id)
    expect(page.locator("#text-a")).to_have_value(text, timeout=TRAINING)


def ask(page: Page, text_a: str, text_b: str = "") -> None:
    """Type into the input bar of Explore."""
    fill_in((page.locator("#text-a"), text_a), (page.locator("#text-b"), text_b))
    page.locator("#text-a").press("Enter")


def report_of(session: AppState, run_id: str) -> dict[str, Any]:
    return json.loads((session.runs.folder(run_id) / "report.json").read_text(encoding="utf-8"))


def model_of(session: AppState, run_id: str) -> Any:
    return load_checkpoint(session.runs.folder(run_id) / "model")


def test_sst2_from_the_file_to_the_reasons_for_a_mistake(
    page: Page, served: Served, shared_data: Path, tmp_path: Path
) -> None:
    address, session = served
    page.goto(address)
    upload(page, shared_data / "sst2_glue" / "train.tsv", shared_data / "sst2_glue" / "dev.tsv")
    fact(page, "Held-out examples", "872")
    page.get_by_text("Parsing options", exact=True).click()
    set_number(page, "max_train_examples", "800")
    fact(page, "Training examples", "800")
    set_number(page, "epochs", "3")
    page.get_by_label("Random-weights baseline").check()
    run_id = tune(page, session)

    # The scores are those of the report, beside guessing and random weights.
    found = report_of(session, run_id)
    summary = page.locator("#finetune-summary")
    expect(summary).to_contain_text(f"{found['scores']['accuracy']:.1%}")
    expect(summary).to_contain_text(f"{found['guess']['accuracy']:.1%}")
    assert [trial["random"] for trial in found["trials"]] == [False, True]
    expect(page.locator("#finetune-trials")).to_contain_text("random weights")

    # A cell of the confusion matrix, its examples, one of them, and what its answer rests on.
    results = read_results(session.runs.folder(run_id))
    truth, said = results.report.labels[0], results.report.labels[1]  # type: ignore[union-attr]
    wrong = results.picked(truth, said)
    assert wrong
    data_table(page.locator("#finetune-confusion")).locator("[data-item='1']").click()
    expect(page.locator("#finetune-list")).to_contain_text(f"{truth}, predicted as {said}")
    items = page.locator("#finetune-list [role=option]")
    expect(items).to_have_count(min(len(wrong), MOST_LISTED))  # how many are wrong depends on the processor
    expect(items.first).to_contain_text(results.examples[wrong[0]].text_a.split()[0])
    items.first.click()
    strip = page.locator("#finetune-attribution")
    expect(strip).to_contain_text(f"{said} rather than {truth}", timeout=TRAINING)
    page.locator("#finetune-attention > summary").click()
    expect(page.locator("#finetune-attention-grid")).to_contain_text("After fine-tuning minus before", timeout=TRAINING)
    for part, words in (("labels", "precision"), ("calibration", "Expected calibration error"), ("slices", "length")):
        page.locator(f"#finetune-{part} > summary").click()
        expect(page.locator(f"#finetune-{part}-chart")).to_contain_text(words, timeout=TRAINING)
    page.locator("#finetune-all").click()
    expect(page.locator("#finetune-list")).to_contain_text("errors first")

    # The model answers in Explore as it does in Python, one text or a whole file.
    open_in_explore(page, session, run_id)
    expect(page.locator("#model-facts")).to_contain_text("BertForSequenceClassification")
    ask(page, "a wonderful , moving film")
    (first, *_) = classify(model_of(session, run_id), "a wonderful , moving film").labels
    expect(page.locator("#task-labels")).to_contain_text(f"Predicted label: {first.label}")
    expect(page.locator("#task-labels")).to_contain_text(f"{first.score:.1%}")
    texts = tmp_path / "reviews.txt"
    texts.write_text("a wonderful , moving film\n=1+1 is dull\n", encoding="utf-8")
    page.locator("#tab-batch").click()
    page.locator("#try-file input[type=file]").set_input_files(texts)
    expect(page.locator("#try-file-message")).to_contain_text("2 predictions", timeout=TRAINING)
    with page.expect_download(timeout=TRAINING) as waiting:
        page.locator("#try-file-table").click()
    with Path(waiting.value.path()).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["label"] for row in rows][:1] == [first.label]
    assert rows[1]["text"] == "'=1+1 is dull"  # no spreadsheet computes it

    # Downloaded, `transformers` says the same.
    tab(page, "Fine-tune")
    items.first.click()
    page.locator("#finetune-bring").click()
    expect(page.locator("#text-a")).to_have_value(results.examples[results.picked()[0]].text_a)
    tab(page, "Fine-tune")
    with page.expect_download(timeout=TRAINING) as waiting:
        page.locator("#finetune-download").click()
    with zipfile.ZipFile(waiting.value.path()) as archive:
        archive.extractall(tmp_path / "model")
    from transformers import pipeline

    (folder,) = (tmp_path / "model").iterdir()
    (theirs,) = pipeline("text-classification", model=str(folder), device=-1)("a wonderful , moving film")
    assert theirs["label"] == first.label
    assert theirs["score"] == pytest.approx(first.score, abs=1e-4)


def test_several_labels_are_learnt_from_the_sample_and_a_file_is_searched(
    page: Page, served: Served, tmp_path: Path
) -> None:
    address, session = served
    page.goto(address)
    tab(page, "Fine-tune")
    expect(page.locator("#examples-facts")).to_contain_text("Training examples", timeout=TRAINING)
    page.locator("#examples-source").get_by_text("Guest book (multi-label)").click()
    fact(page, "Task", "Multi-label classification")
    page.locator("#tuning-model-input").select_option("wiki-tiny")
    set_number(page, "epochs", "2")
    run_id = tune(page, session)
    scores = report_of(session, run_id)["scores"]
    expect(page.locator("#finetune-summary")).to_contain_text(f"{scores['micro_f1']:.1%}")
    expect(page.locator("#finetune-confusion")).to_contain_text("Metrics per label")
    expect(page.locator("#finetune-confusion")).to_contain_text("cleanliness")
    expect(page.locator("#finetune-slices")).to_be_visible()
    for part in ("labels", "calibration"):  # the first are shown above, the other is of one probability a prediction
        expect(page.locator(f"#finetune-{part}")).to_be_hidden()

    # The texts of a file, by their similarity to a query.
    open_in_explore(page, session, run_id)
    texts = tmp_path / "guests.txt"
    texts.write_text("the eggs were cold\na train passed all night\n", encoding="utf-8")
    page.locator("#tab-batch").click()
    page.locator("#try-file input[type=file]").set_input_files(texts)
    expect(page.locator("#try-file-message")).to_contain_text("2 predictions", timeout=TRAINING)
    page.locator("#try-file-query").fill("cold eggs")
    page.locator("#try-file-query").press("Enter")
    hits = semantic_search(model_of(session, run_id), "cold eggs", texts.read_text().splitlines())
    said = f"Nearest: “{hits[0].text}” ({hits[0].cosine:.2f})"
    expect(page.locator("#try-file-message")).to_contain_text(said, timeout=TRAINING)


def test_three_tasks_are_answered_before_anything_is_trained(page: Page, served: Served) -> None:
    address, session = served
    page.goto(f"{address}?model=sentiment-mini")
    expect(page.locator("#task-labels")).to_contain_text("Predicted label")
    page.locator("#model-picker").select_option("entities-mini")
    expect(page.locator("#model-facts")).to_contain_text("BertForTokenClassification")
    marked = page.locator("#task-marked")
    ((text, _), *_) = session.task_examples("entities-mini")
    expect(page.locator("#text-a")).to_have_value(text)
    entities = label_words(session.models.open("entities-mini"), text).entities
    assert entities
    for entity in entities:
        expect(marked.locator("mark", has_text=text[entity.start : entity.end])).to_contain_text(entity.type)
    page.locator("#model-picker").select_option("answers-town")
    expect(page.locator("#model-facts")).to_contain_text("BertForQuestionAnswering")
    ((question, passage), *_) = session.task_examples("answers-town")
    found = answer_question(session.models.open("answers-town"), question, passage)
    assert found.text
    expect(marked).to_contain_text(f"Answer: “{found.text}”.")


def test_thirty_typed_and_pasted_examples_make_a_classifier(page: Page, served: Served) -> None:
    address, session = served
    page.goto(address)
    tab(page, "Fine-tune")
    unfold(page, "examples-typed")
    page.get_by_label("Text of example 1", exact=True).click()
    for cell in ("a warm and funny film", "good", "dull from start to end", "bad"):
        page.keyboard.type(cell)
        page.keyboard.press("Enter")
    pairs = [("a fine day at the sea", "good"), ("the soup was cold", "bad")]
    rows = [f"{text} {n}\t{label}" for n in range(14) for text, label in pairs]
    page.evaluate(
        "text => { const data = new DataTransfer(); data.setData('text/plain', text);"
        "document.activeElement.dispatchEvent(new ClipboardEvent('paste', {clipboardData: data, bubbles: true})); }",
        "\n".join(rows),
    )
    expect(page.locator("#examples-typed")).to_contain_text("30 examples, 2 labels.", timeout=TRAINING)
    expect(page.locator("#examples-preview")).to_contain_text("typed-examples.csv", timeout=TRAINING)
    fact(page, "Training examples", "27")
    run_id = tune(page, session)
    (predicted, *_) = classify(model_of(session, run_id), "the soup was cold again").labels
    assert predicted.label == "bad"


def test_a_column_is_chosen_by_its_name(page: Page, served: Served, tmp_path: Path) -> None:
    address, _ = served
    path = tmp_path / "two.csv"
    lines = [f"sentence number {n} about things,{'ab'[n % 2]},{'xyz'[n % 3]},1" for n in range(60)]
    path.write_text("words,first,second,same\n" + "\n".join(lines) + "\n", encoding="utf-8")
    page.goto(address)
    upload(page, path)
    preview = page.locator("#examples-preview")
    chosen = preview.locator("th", has=page.locator("text=label"))
    expect(chosen).to_have_count(1, timeout=TRAINING)

    # Two columns may be the label: a run starts once one of them is chosen.
    question = page.locator("#examples-confirm fieldset")
    expect(question).to_contain_text("first")
    page.locator("#tune").click()
    expect(page.locator("#tune-message")).to_contain_text("Confirm how the file is read")
    question.get_by_role("button", name="Yes: ").click()
    expect(question).to_have_count(0, timeout=TRAINING)
    other = "second" if "first" in chosen.inner_text() else "first"
    preview.locator("th", has_text=other).locator("button").click()
    expect(preview.locator("th", has_text=other)).to_contain_text("label", timeout=TRAINING)

    # A column that cannot be the label is told, and another can be chosen.
    preview.locator("th", has_text="same").locator("button").click()
    facts = page.locator("#examples-facts")
    expect(facts).to_contain_text("one class cannot", timeout=TRAINING)
    page.locator("#tune").click()
    expect(page.locator("#tune-message")).to_contain_text("one class cannot")
    expect(preview.locator("th", has_text="same")).to_contain_text("label")
    preview.locator("th", has_text=other).locator("button").click()
    expect(preview.locator("th", has_text=other)).to_contain_text("label", timeout=TRAINING)
    expect(facts).to_contain_text("Training examples")


def test_an_answer_about_one_file_is_not_taken_for_another(page: Page, served: Served, tmp_path: Path) -> None:
    several, single = tmp_path / "several.csv", tmp_path / "single.csv"
    rows = [
        (f"day {n} was {('fine', 'dull')[n % 2]}", ("good", "bad")[n % 2], ("sea", "town", "hill")[n % 3])
        for n in range(60)
    ]
    several.write_text(
        "text,label\n" + "".join(f"{text},{mood};{place}\n" for text, mood, place in rows), encoding="utf-8"
    )
    single.write_text("text,label\n" + "".join(f"{text},{mood}\n" for text, mood, _ in rows), encoding="utf-8")
    page.goto(served[0])
    upload(page, several)
    page.locator("#examples-confirm").get_by_role("button", name="Multi-label classification").click()
    fact(page, "Task", "Multi-label classification")
    page.get_by_role("button", name="Remove several.csv").click()
    page.locator("#examples-files input[type=file]").set_input_files(single)
    fact(page, "Task", "Sequence classification")


def test_it_is_stopped_found_again_and_gone_on_with(page: Page, page_log: PageLog, served: Served) -> None:
    address, session = served
    page.goto(address)
    tab(page, "Fine-tune")
    expect(page.locator("#examples-facts")).to_contain_text("Training examples", timeout=TRAINING)
    set_number(page, "epochs", "200")
    page.locator("#tune").click()
    stage = page.locator("#finetune-chart .stage")
    expect(stage).to_contain_text(re.compile(r"step \d"), timeout=TRAINING)
    reload(page, page_log)
    tab(page, "Fine-tune")
    at_rest(page)  # what comes above would move it out of sight again, and nothing is asked for what nobody sees
    page.locator("#finetune-progress").scroll_into_view_if_needed()
    expect(stage).to_contain_text(re.compile(r"step \d"), timeout=TRAINING)
    page.locator("#finetune-stop").click()
    expect(stage).to_contain_text("Stopped", timeout=TRAINING)
    (run_id, *_) = session.runs.ids()
    step = session.runs.state(run_id).step
    assert step > 0
    page.locator("#finetune-resume").click()
    eventually(page, lambda: session.runs.state(run_id).step > step, 60)
    page.locator("#finetune-stop").click()
    expect(stage).to_contain_text("Stopped", timeout=TRAINING)
