"""The examples of a run are kept in its folder, and GLUE is trained and scored task by task."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bertviz_lab import InputError
from bertviz_lab.config import FinetuneConfig
from bertviz_lab.training.finetuning.glue import GlueRun, glue_results, plan_glue, run_glue
from bertviz_lab.training.finetuning.task_data import load_task_splits, prepare_task_splits, read_task_splits, texts_of
from bertviz_lab.training.runs.events import FinalTestDone
from tests.data.tasks.glue_files import rows, write_archive_file
from tests.little import little_folder
from tests.training.finetuning.support import TASKS, examples, finish, labels_of
from tests.training.support import identical, weights


@pytest.mark.parametrize("task", TASKS)
def test_examples_are_kept_as_they_were_read(task, files, tmp_path):
    prepare_task_splits(files.config(task), tmp_path)
    found = read_task_splits(tmp_path)
    assert found == load_task_splits(files.config(task))[1]
    assert found.task == task
    assert found.labels == (labels_of(examples(task)) if task not in ("regression", "qa") else ())
    assert (len(found.train), len(found.held_out)) == (16, 11)


@pytest.mark.parametrize("task", TASKS)
def test_without_a_file_to_score_on_a_part_is_held_out(task, files):
    _, found = load_task_splits(files.config(task, count=24, eval=(), eval_share=0.25))
    assert len(found.train) + len(found.held_out) == 24
    assert 4 <= len(found.held_out) <= 8
    assert not set(found.train) & set(found.held_out)
    assert any("of 24 examples are held out" in note for note in found.notes)
    assert load_task_splits(files.config(task, count=24, eval=(), eval_share=0.25))[1] == found


def test_a_sample_is_named_and_limits_draw_by_the_seed(files):
    draws = [load_task_splits(files.config(max_train_examples=6, seed=seed))[1].train for seed in (0, 0, 1)]
    assert [len(draw) for draw in draws] == [6, 6, 6]
    assert draws[0] == draws[1] != draws[2]
    assert all(set(draw) <= set(load_task_splits(files.config())[1].train) for draw in draws)
    notes = load_task_splits(files.config(max_train_examples=6))[1].notes
    assert "Of 16 examples 6 are trained on, drawn at random." in notes
    data, found = load_task_splits(FinetuneConfig(train=("sample:sentiment",)))
    assert found.task == data.task == "classification"
    with pytest.raises(InputError, match="no labeled sample"):
        load_task_splits(FinetuneConfig(train=("sample:nothing",)))


@pytest.mark.parametrize(
    ("task", "labels", "odd", "expected"),
    [
        ("classification", ("1.0", "0.0"), "unsure", ["1", "0", "unsure"]),
        ("multilabel", ("good;bad", "bad"), "x|y", [("bad", "good"), ("bad",), ("x|y",)]),
        ("tokens", ("I-LOC", "O"), "unsure", [("B-LOC",), ("O",), ("unsure",)]),
    ],
)
def test_an_odd_label_in_the_test_set_leaves_the_others_as_in_training(task, labels, odd, expected, tmp_path):
    lines = [f"film{n}\t{labels[n % 2]}\n" for n in range(24)]
    head, gap, name = ("", "\n", "a.conll") if task == "tokens" else ("text\tlabel\n", "", "a.tsv")
    for split, written in (("train", lines), ("test", [*lines[:2], f"film\t{odd}\n"])):
        (tmp_path / split).mkdir()
        (tmp_path / split / name).write_text(head + gap.join(written))
    config = FinetuneConfig(train=(str(tmp_path / "train" / name),), task=task)
    data, found = load_task_splits(replace(config, test=(str(tmp_path / "test" / name),)))
    assert [row.labels if task == "tokens" else row.label for row in found.test] == expected
    assert found.notes[-1] == f'Only the held-out examples have the label "{odd}" (1 time): it cannot be learned.'
    untested, splits = load_task_splits(config)
    assert (data, found.train, found.held_out) == (untested, splits.train, splits.held_out)


def test_a_test_set_without_a_column_of_labels_that_training_has_is_refused(tmp_path):
    rows = [f"film {n},{n % 2},{n // 2 % 2}" for n in range(12)]
    (tmp_path / "train.csv").write_text("\n".join(["text,glad,sad", *rows]))
    (tmp_path / "test.csv").write_text("\n".join(["text,glad,extra", *rows]))
    files = {"train": (str(tmp_path / "train.csv"),), "test": (str(tmp_path / "test.csv"),)}
    with pytest.raises(InputError, match=r'"test\.csv" has no column "sad"'):
        load_task_splits(FinetuneConfig(**files, task="multilabel"))


@pytest.mark.parametrize("spoil", ["missing", "broken", "other"])
def test_a_folder_without_examples_is_none_to_go_on_with(spoil, files, tmp_path):
    prepare_task_splits(files.config(), tmp_path)
    about = tmp_path / "examples" / "about.json"
    if spoil == "missing":
        about.unlink()
    else:
        about.write_text("{" if spoil == "broken" else json.dumps({"task": "qa"}))
    with pytest.raises(InputError, match="There are no examples in"):
        read_task_splits(tmp_path)


def test_a_new_run_in_the_folder_of_a_failed_one_never_resumes_on_its_examples(files, tmp_path):
    with pytest.raises(InputError, match='`metric="mrr"` is no score'):
        finish(files.config(metric="mrr"), tmp_path)
    assert read_task_splits(tmp_path).train
    with pytest.raises(InputError, match="There is no file"):
        finish(files.config(train=("not-there.tsv",)), tmp_path)
    with pytest.raises(InputError, match="There is no file"):
        finish(files.config(train=("not-there.tsv",)), tmp_path, resume=True)


def test_the_text_of_examples_is_every_word_of_them_and_a_passage_once():
    assert list(texts_of(examples("tokens", 2))) == [" ".join(row.words) for row in examples("tokens", 2)]
    (pair,) = examples("classification", 1)
    assert list(texts_of([pair])) == [pair.text_a, pair.text_b]
    question = examples("qa", 1)[0]
    assert list(texts_of([question, question])) == [question.question, question.passage]


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


def finish_suite(runs: list[GlueRun], out: Path, **options) -> list[tuple[str, object]]:
    return [(run.name, event) for run, event in run_glue(runs, out, **options)]


def test_each_task_and_seed_is_scored_on_its_published_set(model: str, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    runs = plan(model, data, out, seeds=(3, 4))
    assert [run.name for run in runs] == ["CoLA, seed 3", "CoLA, seed 4", "MRPC, seed 3", "MRPC, seed 4"]
    finish_suite(runs, out)
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
        events = finish_suite([run], tmp_path / name)
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
    finish_suite(plan(model, data, out), out)
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file() and path.parent != out}
    assert finish_suite(plan(model, data, out), out) == []
    assert before == {path: path.stat().st_mtime_ns for path in before}
    events = finish_suite(plan(model, data, out, seeds=(0, 1)), out)
    assert {name for name, _ in events} == {"CoLA, seed 1", "MRPC, seed 1"}, "another seed is added to them"
    assert not list(out.rglob("checkpoints")), "nothing is left to resume"


def test_results_of_another_model_are_kept_apart(model: str, data: Path, tmp_path: Path) -> None:
    plan(model, data, tmp_path / "out")
    other = str(little_folder(tmp_path / "other", seed=1))
    with pytest.raises(InputError, match="holds the results of another model; name another folder"):
        plan(other, data, tmp_path / "out")
    Path(model).joinpath("model.safetensors").write_bytes(Path(other).joinpath("model.safetensors").read_bytes())
    with pytest.raises(InputError, match="another model"):
        plan(model, data, tmp_path / "out")
