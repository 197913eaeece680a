"""A model on GLUE: each task is trained and scored once, whatever interrupts it; the dev sets decide nothing."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from bertviz_lab import InputError
from bertviz_lab.training.finetuning.glue import GlueRun, glue_results, plan_glue, run_glue
from bertviz_lab.training.runs.events import FinalTestDone, RunFinished, StepDone
from tests.data.tasks.glue_files import rows, write_archive_file
from tests.little import little_folder
from tests.training.support import after, identical, weights

SETTINGS = {"epochs": 2, "batch_size": 8, "learning_rate": 2e-3, "precision": "fp32", "threads": 1}


@pytest.fixture
def model(tmp_path: Path) -> str:
    return str(little_folder(tmp_path / "little"))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """CoLA and MRPC only."""
    folder = tmp_path / "data"
    for title in ("CoLA", "MRPC"):
        write_archive_file(folder / title / "train.tsv", title, rows(title, 40))
        write_archive_file(folder / title / "dev.tsv", title, rows(title, 12, 40))
    return folder


def plan(model: str, data: Path, out: Path, seeds=(0,), **changes: object) -> list[GlueRun]:
    return plan_glue(model, data, out, seeds, SETTINGS | changes)[0]


def finish(runs: list[GlueRun], out: Path, **options) -> list[tuple[str, object]]:
    return [(run.name, event) for run, event in run_glue(runs, out, **options)]


def test_each_task_and_seed_is_scored_on_its_published_set(model: str, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    runs = plan(model, data, out, seeds=(3, 4))
    assert [run.name for run in runs] == ["CoLA, seed 3", "CoLA, seed 4", "MRPC, seed 3", "MRPC, seed 4"]
    finish(runs, out)
    body = json.loads((out / "glue.json").read_text())
    assert body == glue_results(runs)
    assert list(body["tasks"]) == ["cola", "mrpc"]
    assert body["unfinished"] == []
    mrpc = body["tasks"]["mrpc"]["dev"]
    assert mrpc["examples"] == {"train": 40, "dev": 12}
    assert mrpc["seeds"] == [3, 4]
    assert list(mrpc["scores"]) == ["f1", "accuracy"]
    assert mrpc["mean"]["f1"] == pytest.approx(sum(mrpc["scores"]["f1"]) / 2)
    assert mrpc["deviation"]["f1"] == pytest.approx(abs(mrpc["scores"]["f1"][0] - mrpc["scores"]["f1"][1]) / 2**0.5)
    cola = body["tasks"]["cola"]["dev"]["mean"]["mcc"]
    assert body["average"] == pytest.approx((cola + (mrpc["mean"]["f1"] + mrpc["mean"]["accuracy"]) / 2) / 2)


def test_the_dev_set_decides_nothing(model: str, data: Path, tmp_path: Path) -> None:
    runs = {}
    for name in ("right", "wrong"):
        (run, _) = plan(model, data, tmp_path / name)
        events = finish([run], tmp_path / name)
        assert not [event for _, event in events if isinstance(event, FinalTestDone)]
        runs[name] = run
        wrong = [type(row)(row.texts, 1 - row.label) for row in rows("CoLA", 12, 40)]
        write_archive_file(data / "CoLA" / "dev.tsv", "CoLA", wrong)
    assert identical(*(weights(run.folder / "model") for run in runs.values()))
    right, wrong = (run.scores["dev"]["scores"]["mcc"] for run in runs.values())
    assert right == pytest.approx(-wrong)
    assert json.loads((runs["right"].folder / "report.json").read_text())["metric"] == "mcc"


def test_what_is_finished_is_not_repeated(model: str, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    finish(plan(model, data, out), out)
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file() and path.parent != out}
    assert finish(plan(model, data, out), out) == []
    assert before == {path: path.stat().st_mtime_ns for path in before}
    events = finish(plan(model, data, out, seeds=(0, 1)), out)
    assert {name for name, _ in events} == {"CoLA, seed 1", "MRPC, seed 1"}, "another seed is added to them"
    assert not list(out.rglob("checkpoints")), "nothing is left to resume"


def test_an_interrupted_suite_ends_with_the_same_models(model: str, data: Path, tmp_path: Path) -> None:
    finish(plan(model, data, tmp_path / "whole"), tmp_path / "whole")
    out = tmp_path / "halves"
    runs = plan(model, data, out)
    stopped = finish(runs, out, should_stop=after(3))
    assert isinstance(stopped[-1][1], RunFinished)
    assert stopped[-1][1].reason == "stopped"
    assert glue_results(runs)["unfinished"] == ["CoLA, seed 0", "MRPC, seed 0"]
    assert glue_results(runs)["average"] is None
    _kill_while_training(run_glue(plan(model, data, out), out))
    finish(plan(model, data, out), out)
    for task in ("cola", "mrpc"):
        assert identical(*(weights(tmp_path / name / task / "seed-0" / "model") for name in ("whole", "halves")))
    assert (out / "glue.json").read_text() == (tmp_path / "whole" / "glue.json").read_text()


def _kill_while_training(events: Iterator[tuple[GlueRun, object]]) -> None:
    """Leave it at a step of its second task, with nothing saved of that."""
    for run, event in events:
        if isinstance(event, StepDone) and run.files.task.name == "mrpc":
            events.close()  # type: ignore[attr-defined]  # a generator
            return
    raise AssertionError("the second task was not reached")


def test_results_of_another_model_are_kept_apart(model: str, data: Path, tmp_path: Path) -> None:
    plan(model, data, tmp_path / "out")
    other = str(little_folder(tmp_path / "other", seed=1))
    with pytest.raises(InputError, match="holds the results of another model; name another --out"):
        plan(other, data, tmp_path / "out")
    Path(model).joinpath("model.safetensors").write_bytes(Path(other).joinpath("model.safetensors").read_bytes())
    with pytest.raises(InputError, match="another model"):
        plan(model, data, tmp_path / "out")
