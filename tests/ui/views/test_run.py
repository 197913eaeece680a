"""One run: what it is, its curves, the results of a fine-tuning, and its download."""

import dataclasses
import io
import json
import shutil
import urllib.error
import urllib.request
import zipfile
from pathlib import Path
from typing import Any

import pytest

from bertviz_lab import InputError, interpret
from bertviz_lab.data.examples import LabelledText
from bertviz_lab.interpret import Results, read_results
from bertviz_lab.jobs.retention import bytes_below
from bertviz_lab.training.finetuning.tasks.base import Prediction
from bertviz_lab.training.runs.run_folder import RunState, write_state
from bertviz_lab.training.runs.summary import RunNotes
from bertviz_lab.ui.guard.passwords import hash_password
from bertviz_lab.ui.server.downloads import zip_model
from bertviz_lab.ui.server.visitors import NOBODY, Visitor
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views.run.results import confusion_view, listed_view, verdict
from bertviz_lab.ui.views.run.view import QUESTIONS
from bertviz_lab.ui.views.runs.view import QUESTIONS as RUNS
from tests.charts import shown
from tests.ui.finetuned import RUN, tuned
from tests.ui.pages import OWNER, little_settings, serve
from tests.ui.state.test_models import RUN as PRETRAINED
from tests.ui.state.test_models import make_run

__all__ = ["tuned"]


def ask(session: AppState, name: str, visitor: Visitor = NOBODY, **arguments: Any) -> Any:
    """The answer to a question, payloads read."""
    answer = QUESTIONS[name].ask(session, arguments, visitor)
    return shown(answer) if isinstance(answer, str) and answer.startswith("{") else answer


def about(session: AppState, run_id: str, visitor: Visitor = NOBODY) -> dict[str, Any]:
    return ask(session, "about", visitor, run_id=run_id)


def test_a_model_is_used_outside_by_lines_that_name_its_folder_or_its_download(
    session: AppState, tmp_path: Path
) -> None:
    make_run(session)
    folder = session.models.locate(PRETRAINED)[0]
    (folder / "README.md").write_text("---\npipeline_tag: fill-mask\n---\n", encoding="utf-8")
    assert f'model="{folder}")' in ask(session, "use", run_id=PRETRAINED)
    assert f"pretrain --init-from {folder} " in ask(session, "use", run_id=PRETRAINED)
    shared = AppState(little_settings(tmp_path, shared=True))
    assert "--model little --out onnx" in ask(shared, "use", run_id="little")


def test_words_gained_are_a_chart_for_their_owner(session: AppState) -> None:
    folder = make_run(session)
    assert not about(session, PRETRAINED)["gained"]
    words = [
        {"piece": "fever", "parts": ["fe", "##ver"], "count": 7},
        {"piece": "##itis", "parts": ["##it", "##i", "##s"], "count": 5},
    ]
    (folder / "report.json").write_text(json.dumps({"added_vocabulary": words}), encoding="utf-8")
    assert about(session, PRETRAINED)["gained"]
    payload = json.loads(QUESTIONS["gained"].ask(session, {"run_id": PRETRAINED}, NOBODY))
    assert payload["groups"] == ["##itis", "fever"]
    assert payload["series"] == [["tokens saved", [10, 7]]]
    assert ["was", ["##it ##i ##s", "fe ##ver"]] in payload["extra_columns"]
    assert "2 new pieces, which save 17 tokens" in ask(session, "gained", run_id=PRETRAINED)["sentence"]


def test_what_can_be_done_with_a_run_depends_on_its_state(session: AppState) -> None:
    folder = make_run(session)
    session.runs.annotate(PRETRAINED, RunNotes("baseline", ("a",), "first"))
    finished = about(session, PRETRAINED)
    assert (finished["name"], finished["tags"], finished["note"]) == ("baseline", ("a",), "first")
    assert (finished["can_stop"], finished["can_resume"], finished["saved"]) == (False, False, True)
    assert finished["said"].endswith(f"It is in {folder / 'model'}.")
    for status, can_stop, can_resume in (("waiting", True, False), ("stopped", False, True), ("failed", False, True)):
        write_state(folder, RunState(status))
        now = about(session, PRETRAINED)
        assert (now["can_stop"], now["can_resume"]) == (can_stop, can_resume)
    shipped = about(session, "little")
    assert (shipped["shipped"], shipped["snapshots"], shipped["pretraining"]) == (True, False, False)
    for unknown in ("gone", "../x", ""):
        with pytest.raises(InputError, match="There is no run"):
            about(session, unknown)


def test_the_newest_run_of_a_kind_is_shown_until_one_is_chosen(tuned: AppState, session: AppState) -> None:
    assert ask(tuned, "current", OWNER, kind="finetune") == RUN
    assert ask(tuned, "current", kind="") == RUN
    assert ask(tuned, "current", kind="pretrain") == ""  # no model ships with a log of pretraining
    assert ask(session, "current", kind="pretrain") == ""
    log = session.settings.checkpoints / "little" / "training.jsonl"
    log.write_text('{"event": "RunStarted", "step": 0, "objective": "mlm"}\n', encoding="utf-8")
    session = AppState(session.settings)
    assert ask(session, "current", kind="pretrain") == "little"
    assert ask(session, "current", kind="finetune") == ""


def test_a_run_is_followed_and_a_shipped_model_is_replayed(tuned: AppState) -> None:
    assert ask(tuned, "curves", run_id=RUN)["run_id"] == RUN
    first = ask(tuned, "follow", run_id=RUN, start=0)
    assert first["state"]["status"] == "finished"
    assert first["rows"]
    assert ask(tuned, "follow", run_id=RUN, start=first["next"])["rows"] == []
    assert ask(tuned, "follow", run_id="gone", start=0) is None
    with pytest.raises(InputError, match="start: input should be less than"):
        ask(tuned, "follow", run_id=RUN, start=2**63)  # more than a file can have
    with pytest.raises(InputError, match="without a log"):
        ask(tuned, "curves", run_id="little")
    (tuned.settings.checkpoints / "little" / "training.jsonl").write_text(
        '{"event": "RunStarted", "step": 0, "objective": "mlm"}\n', encoding="utf-8"
    )
    assert [row["event"] for row in ask(tuned, "curves", run_id="little")["rows"]] == ["RunStarted"]


def test_a_run_s_probes_are_a_chart_where_it_was_asked_some(tuned: AppState, session: AppState) -> None:
    assert ask(tuned, "probes", run_id=RUN) is None
    log = session.settings.checkpoints / "little" / "training.jsonl"
    log.write_text(
        '{"event": "ProbesDone", "step": 5, "probes": "english", "right": {"tense": 0.75}}\n', encoding="utf-8"
    )
    body = ask(session, "probes", run_id="little")
    assert (body["title"], body["rows"], body["columns"]) == ("Minimal-pair probes", ["75% tense"], ["5"])
    with pytest.raises(InputError):
        ask(session, "probes", run_id="gone")


def test_settings_are_told_without_the_folders_of_the_machine(tuned: AppState) -> None:
    items = dict(ask(tuned, "settings", run_id=RUN)["items"])
    assert items["Epochs"] == "2"
    assert items["Start from"] == "little"
    assert "Model size" not in items, "the model to start from has its own"
    assert str(tuned.settings.runs_dir.parent) not in json.dumps(items)


def test_a_shared_page_names_no_folder_of_its_machine(tmp_path: Path) -> None:
    session = AppState(little_settings(tmp_path, shared=True))
    folder = make_run(session)
    write_state(folder, RunState("failed", message=f"Cannot write {folder / 'model'}."))
    (folder / "events.jsonl").write_text(
        json.dumps({"event": "RunFinished", "step": 7, "reason": "failed", "path": str(folder / "model")}) + "\n",
        encoding="utf-8",
    )
    run = {"run_id": PRETRAINED}
    answers = [
        *(QUESTIONS[name].ask(session, run, OWNER) for name in ("about", "curves", "settings")),
        QUESTIONS["follow"].ask(session, run | {"start": 0}, OWNER),
        RUNS["glances"].ask(session, {"runs": [PRETRAINED]}, OWNER),
        RUNS["table"].ask(session, {}, OWNER),
    ]
    assert answers[-2][PRETRAINED]["status"] == "failed"
    assert str(tmp_path) not in repr(answers)


def test_the_results_are_those_of_the_report(tuned: AppState) -> None:
    results = read_results(tuned.runs.folder(RUN))
    facts = dict(ask(tuned, "summary", run_id=RUN)["items"])
    assert facts["Accuracy"] == f"{results.scores['accuracy']:.1%}"
    assert facts["Majority-class baseline"] == f"{results.baselines['accuracy']:.1%}"
    assert facts["Random-weights baseline"] == f"{results.trials[1]['scores']['accuracy']:.1%}"
    assert "random weights" in json.dumps(ask(tuned, "trials", run_id=RUN))
    assert ask(tuned, "confusion", run_id=RUN)["title"] == "Confusion matrix"
    for chart, word in (("calibration", "calibration"), ("labels", "bad"), ("slices", "length")):
        assert word in json.dumps(ask(tuned, chart, run_id=RUN))
    items = ask(tuned, "examples", run_id=RUN)["items"]
    assert len(items) == len(results.examples)
    rights = [item["right"] for item in items]
    assert rights == sorted(rights)  # mistakes first
    rows = ask(tuned, "table", run_id=RUN)
    lines = (tuned.settings.runs_dir.parent / "reviews.csv").read_text(encoding="utf-8").splitlines()
    assert {row["file"] for row in rows} == {"reviews.csv"}
    assert [lines[row["row"] - 1] for row in rows] == [f"{row['text']},{row['truth']}" for row in rows]
    assert [item["row"]["row"] for item in items] == [row["row"] for row in rows]


def test_the_first_sentence_names_score_baseline_and_the_most_frequent_error(tuned: AppState) -> None:
    def sentence(truth: list[str], said: list[str], baseline: float, score: float) -> str:
        examples = tuple(LabelledText(f"text {n}", None, label, n) for n, label in enumerate(truth))
        predictions = tuple(Prediction(label=label, probabilities=(0.7, 0.3)) for label in said)
        return verdict(
            Results(
                *("classification", ("bad", "good"), "accuracy", "m", {"accuracy": score}, {"accuracy": baseline}),
                *((), (), 1, 5, examples, predictions),
            )
        )

    assert sentence(["good", "good", "bad", "bad"], ["bad", "bad", "good", "bad"], 0.5, 0.25) == (
        "Accuracy 25.0%, 25.0 points below the majority-class baseline (50.0%). "
        "Most frequent error: good predicted as bad, 2 times."
    )
    assert "the same as the majority-class baseline (100.0%)." in sentence(["bad"], ["bad"], 1.0, 1.0)
    assert ask(tuned, "summary", run_id=RUN)["lead"] == verdict(read_results(tuned.runs.folder(RUN)))


def test_an_example_is_opened_in_explore_by_its_whole_text(tuned: AppState) -> None:
    results = read_results(tuned.runs.folder(RUN))
    assert ask(tuned, "texts", run_id=RUN, example=1) == [results.examples[1].text_a, ""]  # type: ignore[union-attr]


def test_a_cell_of_the_confusion_matrix_has_its_examples(tuned: AppState) -> None:
    results = read_results(tuned.runs.folder(RUN))
    for row, truth in enumerate(("bad", "good")):
        for column, predicted in enumerate(("bad", "good")):
            items = ask(tuned, "examples", run_id=RUN, row=row, column=column)["items"]
            assert len(items) == results.report.confusion[row, column]  # type: ignore[union-attr]
            assert {(item["row"]["truth"], item["row"]["predicted"]) for item in items} <= {(truth, predicted)}
    with pytest.raises(InputError, match="no such cell"):
        ask(tuned, "examples", run_id=RUN, row=9, column=0)


def test_several_labels_have_scores_per_label_and_no_confusion_matrix() -> None:
    truth, said = [("a", "b"), ("b",), ()], [("b", "a"), ("a",), ()]
    examples = tuple(LabelledText(f"text {n}", None, labels, n) for n, labels in enumerate(truth))
    predictions = tuple(Prediction(labels=labels, probabilities=(0.7, 0.2)) for labels in said)
    results = Results(
        "multilabel", ("a", "b"), "micro_f1", "m", {}, {}, (), (), 1, 5, examples=examples, predictions=predictions
    )
    drawn = shown(confusion_view(results))
    assert drawn["title"] == "Metrics per label"
    assert "micro F1 66.7%" in drawn["sentence"]
    items = shown(listed_view(results, [0, 1, 2]))["items"]
    assert [(item["row"]["truth"], item["row"]["predicted"], item["right"]) for item in items] == [
        ("a, b", "a, b", True),
        ("b", "a", False),
        ("no label", "no label", True),
    ]


def test_an_example_has_its_attribution_and_its_change_of_attention(tuned: AppState) -> None:
    assert len(ask(tuned, "attribution", run_id=RUN, example=0)["rows"]) == len(interpret.METHODS)
    assert ask(tuned, "attention", run_id=RUN, example=0)["signed"]
    with pytest.raises(InputError, match="Choose an example"):
        ask(tuned, "attribution", run_id=RUN, example=999)
    for wrong in ("x", -1, None):
        with pytest.raises(InputError):
            ask(tuned, "attribution", run_id=RUN, example=wrong)


def test_a_run_has_the_charts_of_its_task(tuned: AppState, session: AppState) -> None:
    assert about(tuned, RUN)["charts"] == ("labels", "calibration", "slices")
    folder = make_run(session)
    for task, charts in (("multilabel", ("slices",)), ("tokens", ("labels", "slices")), ("qa", ())):
        log = json.dumps({"event": "RunStarted", "step": 0, "objective": task})
        (folder / "events.jsonl").write_text(log + "\n", encoding="utf-8")
        assert about(AppState(session.settings), PRETRAINED)["charts"] == charts
    assert about(session, "little")["charts"] == ()


def test_results_of_a_run_without_any_are_one_sentence(session: AppState) -> None:
    make_run(session)
    assert about(session, PRETRAINED)["results"] == ""
    with pytest.raises(InputError, match="available when"):
        ask(session, "summary", run_id=PRETRAINED)


def test_a_download_has_the_whole_model_of_a_run_also_where_that_is_deleted_meanwhile(session: AppState) -> None:
    make_run(session)
    session.runs.annotate(PRETRAINED, RunNotes("../my run"))
    name, pieces = zip_model(session, PRETRAINED, NOBODY)
    assert name == "my-run.zip"
    folder, _ = session.models.locate(PRETRAINED)
    names = sorted(f"my-run/{path.name}" for path in folder.iterdir())
    shutil.rmtree(folder)
    with zipfile.ZipFile(io.BytesIO(b"".join(pieces))) as archive:
        assert sorted(archive.namelist()) == names
        assert archive.testzip() is None


@pytest.mark.parametrize("name", ["gone", "../checkpoints/little", "google/bert", "/etc", ""])
def test_nothing_else_can_be_downloaded(session: AppState, name: str) -> None:
    with pytest.raises(InputError, match="There is no such"):
        zip_model(session, name, NOBODY)


def test_the_download_route_answers_by_name_and_leaves_nothing_on_disk(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "uploads"))
    with serve(settings) as (address, session):
        make_run(session)
        for name, method in ((PRETRAINED, "HEAD"), (PRETRAINED, "GET"), ("little", "HEAD"), ("little", "GET")):
            asked = urllib.request.Request(f"{address}lab-model/{name}.zip", method=method)
            with urllib.request.urlopen(asked, timeout=30) as answer:
                assert "attachment" in answer.headers["Content-Disposition"]
                content = answer.read()
            assert content == b"" if method == "HEAD" else zipfile.ZipFile(io.BytesIO(content)).testzip() is None
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(f"{address}lab-model/gone.zip", timeout=30)
        with caught.value as refused:
            assert refused.code == 404
    assert bytes_below(tmp_path / "uploads") == 0


def test_without_login_nothing_is_downloaded(settings: Settings) -> None:
    with serve(dataclasses.replace(settings, users={"user": hash_password("word")})) as (address, _):
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(f"{address}lab-model/little.zip", timeout=30)
        with caught.value as refused:
            assert refused.code == 401
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        opener.open(f"{address}login", data=b"username=user&password=word", timeout=30).close()
        with opener.open(f"{address}lab-model/little.zip", timeout=30) as answer:
            assert answer.status == 200
