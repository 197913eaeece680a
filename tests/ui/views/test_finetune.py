"""Fine-tune: the form as settings, and what the examples are told to be; a whole file of texts."""

import csv
import dataclasses
import io
import json
from functools import partial
from pathlib import Path

import pytest

from bertviz_lab import FinetuneConfig, InputError, interpret
from bertviz_lab.config.limits import QuestionLimits
from bertviz_lab.config.options import options_of
from bertviz_lab.data.samples.task_samples import TASK_SAMPLES
from bertviz_lab.ui.forms import OWN, Source, chosen_source
from bertviz_lab.ui.server.uploads import UploadedFile
from bertviz_lab.ui.server.visitors import NOBODY
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.state.models import RANDOM
from bertviz_lab.ui.views.batch import view as batch
from bertviz_lab.ui.views.finetune import view
from bertviz_lab.ui.views.finetune.view import advise, check, form
from tests.little import little_folder
from tests.ui.finetuned import RUN, tuned, write_reviews

__all__ = ["tuned"]
VALUES = {"model": "little", "epochs": 2, "batch_size": 8, "eval_share": 0.25, "task": "auto"}


def own(path: Path) -> UploadedFile:
    return UploadedFile(path, path.name, path.stat().st_size)


def chosen(source: str, *files: list[UploadedFile]) -> Source:
    return chosen_source("labeled", TASK_SAMPLES, source, *files)


def test_every_setting_has_its_place(session: AppState) -> None:
    drawn = {field["name"]: field for group in form(session, NOBODY)["groups"] for field in group["fields"]}
    assert set(drawn) == {f.name for f in options_of(FinetuneConfig, "page")}
    source = chosen("sentiment", [], [])
    config = view.config_from(session, source, {name: field["value"] for name, field in drawn.items()})
    given = {"train": ("sample:sentiment",), "threads": session.settings.threads, "model": config.model}
    assert config == FinetuneConfig(**given, **view.suited("sentiment"))
    assert Path(config.model).name == "little"


def test_samples_and_files_are_chosen(session: AppState, tmp_path: Path) -> None:
    assert [value for value, _ in form(session, NOBODY)["sources"]] == [*TASK_SAMPLES, OWN]
    file = own(write_reviews(tmp_path / "reviews.csv"))
    assert chosen(OWN, [file], [file]).scored == (file.path,)
    with pytest.raises(InputError, match="Drop a labeled file"):
        chosen(OWN, [], [])


def test_a_sample_that_wants_a_model_of_its_own_gets_it_and_gives_it_back(session: AppState) -> None:
    start_for = partial(view.start_for, session)
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


def test_what_suits_a_sample_is_recommended(session: AppState) -> None:
    for source in (*TASK_SAMPLES, OWN):
        values = advise(session, source, "little")["values"]
        expected = TASK_SAMPLES[source].settings if source in TASK_SAMPLES else {}
        assert {name: values[name] for name in expected} == dict(expected)
        FinetuneConfig(train=("x.csv",), **values)


def test_a_mistake_in_the_form_is_told_in_the_words_of_the_page(session: AppState) -> None:
    found = chosen("topics", [], [])
    for name, value, told in (
        ("epochs", 0, '"Epochs" must lie between'),
        ("learning_rate", "fast", '"Peak learning rate" must be a number'),
        ("model", "../../etc", "choose another one from the list"),
    ):
        with pytest.raises(InputError, match=told):
            view.config_from(session, found, {name: value})
    assert view.config_from(session, found, {"model": RANDOM}).model == "random"
    grid = {"epochs": 9, "batch_size": 8, "learning_rate": 0.1, "grid": "small"}
    assert view.config_from(session, found, grid).epochs == FinetuneConfig.epochs


def test_the_examples_are_shown_with_what_was_inferred_and_in_numbers(session: AppState, tmp_path: Path) -> None:
    answer = check(session, OWN, [own(write_reviews(tmp_path / "reviews.csv"))], [], VALUES)
    assert {c["name"]: c["role"] for c in json.loads(answer["preview"])["columns"]} == {"text": "a", "label": "label"}
    facts = dict(json.loads(answer["facts"])["items"])
    assert int(facts["Training examples"]) + int(facts["Held-out examples"]) == 60
    assert facts["Labels"] == "2"
    assert json.loads(answer["facts"])["note"].startswith('60 examples; columns text_a = "text", label = "label".')
    assert ["label", "label"] in answer["columns"]["label"]


def test_columns_that_cannot_be_used_are_shown_as_chosen_so_that_others_can_be(
    session: AppState, tmp_path: Path
) -> None:
    path = tmp_path / "same.csv"
    path.write_text("text,label,same\n" + "".join(f"day {n},{'ab'[n % 2]},1\n" for n in range(40)), encoding="utf-8")
    for chosen, message, expected in (
        ({"label": "same"}, "one class", {"text": "a", "label": "", "same": "label"}),
        ({"label": "gone"}, "no column", {"text": "a", "label": "", "same": ""}),
        ({"text_a": "label", "label": "label"}, "different columns", {"text": "", "label": "a", "same": ""}),
    ):
        answer = check(session, OWN, [own(path)], [], VALUES | chosen)
        assert {c["name"]: c["role"] for c in json.loads(answer["preview"])["columns"]} == expected
        facts = json.loads(answer["facts"])
        assert message in facts["note"]
        assert (facts["tone"], "charts" in answer) == ("error", False)


def test_a_reading_that_is_not_sure_is_confirmed_before_a_run(session: AppState, tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text("date,label\n" + "".join(f"2024-01-{n:02},{'ab'[n % 2]}\n" for n in range(1, 29)), encoding="utf-8")
    files = [own(path)]
    (question,) = check(session, OWN, files, [], VALUES)["confirm"]
    assert (question["option"], question["choices"][0]) == ("text_a", ["date", "Yes: date"])
    assert '"Text column"' in question["sentence"]
    assert "--" not in question["sentence"]
    assert "--" not in json.loads(check(session, OWN, files, [], VALUES)["facts"])["note"]
    with pytest.raises(InputError, match="Confirm how the file is read"):
        view.start(session, NOBODY, OWN, files, [], VALUES)
    assert check(session, OWN, files, [], VALUES | {"text_a": "date"})["confirm"] == []


def predicted(session: AppState, model: str, path: Path, query: str = "") -> tuple[list[dict[str, str]], str]:
    """Return the rows of the table for a file, and the sentence."""
    answer = batch.predict(session, model, own(path), query)
    return list(csv.DictReader(io.StringIO(answer["table"]))), answer["sentence"]


def test_a_whole_file_is_ranked_by_its_similarity_to_a_query(tuned: AppState, tmp_path: Path) -> None:
    path = tmp_path / "texts.txt"
    path.write_text("the red cat sat\nan old house by the river\n=1+1\n", encoding="utf-8")
    texts = ["the red cat sat", "an old house by the river", "=1+1"]
    for model in ("little", RUN):
        rows, sentence = predicted(tuned, model, path, " an old house ")
        hits = interpret.semantic_search(tuned.models.open(model), "an old house", texts)
        assert [row["text"].removeprefix("'") for row in rows] == [hit.text for hit in hits]
        assert [float(row["cosine"]) for row in rows] == pytest.approx([hit.cosine for hit in hits], abs=1e-4)
        assert [int(row["row"]) for row in rows] == [hit.index + 1 for hit in hits]
        assert sentence.startswith(f"3 texts ranked by {tuned.models.open(model).name}. Nearest: “{hits[0].text}”")
        assert "Read as " in sentence
    assert batch.predict(tuned, RUN, None, "cat") is None


@pytest.mark.parametrize("query", ["", "an old house"])
def test_the_share_of_the_texts_that_are_done_is_reported(
    tuned: AppState, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    path = tmp_path / "texts.txt"
    path.write_text("".join(f"the red cat sat on number {n}\n" for n in range(5)), encoding="utf-8")
    whole = predicted(tuned, RUN, path, query)
    shares: list[float] = []
    monkeypatch.setattr(batch, "_AT_ONCE", 2)
    monkeypatch.setattr(batch, "report_progress", shares.append)
    assert predicted(tuned, RUN, path, query) == whole
    assert shares == [0, 0.4, 0.8]


def test_a_search_on_a_shared_page_may_cost_twenty_questions(
    tuned: AppState, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "texts.txt"
    path.write_text("".join(f"the red cat sat on number {n}\n" for n in range(300)), encoding="utf-8")
    checkpoint = tuned.models.open(RUN)
    for operations in (30_000_000, 1_000_000):
        little = dataclasses.replace(checkpoint, limits=QuestionLimits(operations=operations))
        monkeypatch.setattr(tuned.models, "open", lambda name, little=little: little)
        if operations == 30_000_000:
            assert predicted(tuned, RUN, path, "the cat")[1].startswith("300 texts ranked")
    with pytest.raises(InputError, match=r"These 300 texts are too many for this page .* it takes about \d+ of"):
        predicted(tuned, RUN, path, "the cat")


def test_a_whole_file_comes_back_as_a_table(tuned: AppState, tmp_path: Path) -> None:
    path = tmp_path / "texts.txt"
    path.write_text("the red cat sat\n\n=1+1\n", encoding="utf-8")
    rows, sentence = predicted(tuned, RUN, path)
    assert "2 predictions" in sentence
    (first, *_) = interpret.classify(tuned.models.open(RUN), "the red cat sat").labels
    assert (rows[0]["row"], rows[0]["label"]) == ("1", first.label)
    assert float(rows[0][f"p({first.label})"]) == pytest.approx(first.score, abs=1e-3)
    assert rows[1]["text"] == "'=1+1"
    table = tmp_path / "texts.csv"
    table.write_text("text,number\nthe red cat,1\n,2\n-0.5,3\n", encoding="utf-8")
    rows, sentence = predicted(tuned, RUN, table)
    assert '1 row was left out: the text is empty, such as "texts.csv" row 3.' in sentence
    assert [row["text"] for row in rows] == ["the red cat", "-0.5"]
    long = tmp_path / "long.txt"
    long.write_text("cat " * 20_000, encoding="utf-8")
    empty = tmp_path / "empty.txt"
    empty.write_bytes(b"")
    for model, file, message in (
        (RUN, long, "50,000 characters"),
        (RUN, empty, "is empty"),
        ("little", path, "fine-tuned"),
    ):
        with pytest.raises(InputError, match=message):
            predicted(tuned, model, file)
