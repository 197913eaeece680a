"""Evaluation on the page: minimal pairs score as in the package, at a bounded cost, and GLUE's tasks become runs."""

import dataclasses
import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

from bertviz_lab import FinetuneConfig
from bertviz_lab.config.limits import QuestionLimits
from bertviz_lab.data.probes import PROBES, read_minimal_pairs
from bertviz_lab.errors import InputError
from bertviz_lab.interpret import minimal_pairs, score_minimal_pairs
from bertviz_lab.jobs import Runs
from bertviz_lab.training.runs.summary import RunNotes
from bertviz_lab.ui.server.uploads import UploadedFile
from bertviz_lab.ui.server.visitors import NOBODY
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views.evaluate import view
from bertviz_lab.ui.views.evaluate.view import evaluate, glue_runs, suite
from tests.data.tasks.glue_files import rows, write_archive_file
from tests.ui.state.test_models import RUN as PRETRAINED
from tests.ui.state.test_models import make_run


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rows = [
        {"sentence_good": pair.good, "sentence_bad": pair.bad, "linguistics_term": pair.kind}
        for pair in PROBES["english"].pairs[:30]
    ]
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def answer(session: AppState, *files: Path, model: str = "little") -> dict[str, Any]:
    sent = [UploadedFile(path, path.name, path.stat().st_size) for path in files]
    scores: dict[str, Any] = json.loads(evaluate(session, NOBODY, model, sent)["scores"])
    return scores


def test_accuracies_are_those_of_the_package_and_progress_is_reported(
    session: AppState, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shares: list[float] = []
    monkeypatch.setattr(minimal_pairs, "_PAIRS_AT_ONCE", 12)
    monkeypatch.setattr(view, "report_progress", shares.append)
    scores = answer(session, file)
    assert shares == [0.4, 0.8, 1]
    assert scores["note"].startswith("30 pairs scored with little")
    report = score_minimal_pairs(session.models.open("little"), read_minimal_pairs(file))
    expected = [["all", report.accuracy], *([name.replace("_", " "), x] for name, x in report.by_phenomenon.items())]
    assert scores["items"] == [[name, f"{value:.1%}"] for name, value in expected]
    assert len(expected) > 2
    wrong = [score for score in report.scores if score.right < 1]
    assert scores["more"]["title"].endswith(f": {len(wrong)}")
    assert len(scores["more"]["lines"]) == len(wrong)


def test_more_pairs_than_twenty_questions_may_cost_are_refused_with_what_would_do(
    session: AppState, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    little = dataclasses.replace(session.models.open("little"), limits=QuestionLimits(operations=100_000))
    monkeypatch.setattr(session.models, "open", lambda name: little)
    with pytest.raises(InputError, match="These 30 pairs are too many for this page with this model; it takes about "):
        answer(session, file)


def suite_of(session: AppState) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(suite(session, NOBODY) or "{}")
    return body


@pytest.fixture
def glue(tmp_path: Path) -> Path:
    """CoLA and MRPC in a zip, beside a file that is no task's."""
    for title in ("CoLA", "MRPC"):
        write_archive_file(tmp_path / "glue_data" / title / "train.tsv", title, rows(title, 40))
        write_archive_file(tmp_path / "glue_data" / title / "dev.tsv", title, rows(title, 12, 40))
    _written(tmp_path / "glue_data" / "notes.txt", "nothing to train on")
    return Path(shutil.make_archive(str(tmp_path / "glue"), "zip", tmp_path, "glue_data"))


def test_each_task_of_glue_is_queued_as_a_run_with_its_own_files(
    session: AppState, glue: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Runs, "start_queue", lambda runs: None)
    queued = answer(session, glue)
    assert queued["note"] == "Fine-tuning is queued on CoLA, MRPC."
    cola, mrpc = glue_runs(session, NOBODY)
    assert [session.runs.name(run_id) for run_id in (cola, mrpc)] == ["CoLA", "MRPC"]
    config = session.runs.config(mrpc)
    assert isinstance(config, FinetuneConfig)
    folder = session.runs.folder(mrpc)
    assert config.train == (str(folder / "texts" / "train.tsv"),)
    assert config.test == (str(folder / "tested" / "dev.tsv"),)
    assert (config.metric, config.epochs, Path(config.model).name) == ("f1", 5, "little")
    assert [*map(tuple, suite_of(session)["items"])] == [("CoLA, little", "waiting"), ("MRPC, little", "waiting")]
    make_run(session)
    session.runs.annotate(PRETRAINED, RunNotes("", ("GLUE", "rte")))  # by a person, and no run of GLUE
    assert len(suite_of(session)["items"]) == 2
    (folder / "report.json").write_text(json.dumps({"test": None}))  # its model is chosen and not yet tested
    assert suite_of(session)["items"][1] == ["MRPC, little", "waiting"]
    (folder / "report.json").write_text(json.dumps({"test": {"scores": {"f1": 0.8125, "accuracy": None}}}))
    assert suite_of(session)["items"][1] == ["MRPC, little", "F1 81.2%, Accuracy nan%"]


def test_tasks_that_may_not_all_be_started_are_not_started_at_all(session: AppState, glue: Path) -> None:
    session.quota._limits = dataclasses.replace(session.settings.limits, runs_per_visitor=1)
    with pytest.raises(InputError, match="may have 1 run that trains or waits; 0 of yours do, and"):
        answer(session, glue)
    assert glue_runs(session, NOBODY) == []
    assert suite(session, NOBODY) is None


def test_a_zip_without_a_complete_task_of_glue_is_named(session: AppState, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "mine.zip", "w") as archive:
        archive.writestr("CoLA/train.tsv", "gj04\t1\t\tThe cat sat.\n")
    with pytest.raises(InputError, match='mine" holds no complete task of GLUE'):
        answer(session, tmp_path / "mine.zip")


def test_a_zip_of_minimal_pairs_is_scored(session: AppState, file: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "blimp.zip", "w") as archive:
        archive.write(file, "blimp/data/pairs.jsonl")
    scored = answer(session, tmp_path / "blimp.zip")
    assert scored["note"].startswith("30 pairs scored")


def _written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path
