"""Fine-tunings as processes of their own."""

from pathlib import Path

import pytest

from bertviz_lab import load_checkpoint
from bertviz_lab.config import FinetuneConfig, PretrainConfig
from bertviz_lab.interpret.results import read_results
from bertviz_lab.jobs import Runs
from bertviz_lab.jobs.new_run import with_copies
from tests.jobs.support import wait_for
from tests.little import little_folder
from tests.training.finetuning.support import Files


@pytest.fixture
def files(tmp_path: Path) -> Files:
    little_folder(tmp_path / "little")
    return Files(tmp_path)


def test_a_fine_tuning_stops_goes_on_and_leaves_a_model_and_results(runs: Runs, files: Files) -> None:
    train, held = Path(files.train("tokens", 400)), Path(files.held("tokens"))
    run = runs.start(files.config("tokens", count=400, epochs=6, evals_per_epoch=1), (train,), (held,))
    train.unlink()
    held.unlink()
    wait_for(lambda: runs.state(run).step > 0)
    runs.stop(run)
    wait_for(lambda: runs.state(run).status == "stopped")
    assert 0 < runs.state(run).step < 600
    started_at = runs.started(run)
    assert (runs.config(run).task, runs.config(run).epochs) == ("tokens", 6)
    runs.resume(run)
    wait_for(lambda: runs.state(run).status == "finished")
    assert runs.state(run).step == 600
    assert runs.started(run) == started_at
    assert load_checkpoint(runs.state(run).model).architecture == "BertForTokenClassification"
    assert read_results(runs.folder(run)).train_count == 400
    steps = [row["step"] for row in runs.events(run)[0] if row["event"] == "StepDone"]
    assert steps == sorted(set(steps))


def test_examples_that_cannot_be_used_end_the_run_with_one_sentence(runs: Runs, files: Files, tmp_path: Path) -> None:
    one = tmp_path / "one.tsv"
    one.write_text("text\tlabel\n" + "".join(f"film {n}\tgood\n" for n in range(9)))
    run = runs.start(files.config(train=(str(one),), eval=()), (one,))
    wait_for(lambda: runs.state(run).status == "failed")
    assert "label" in runs.state(run).message
    assert "Traceback" not in runs.state(run).message


def test_files_are_replaced_by_copies_and_samples_are_not(tmp_path: Path) -> None:
    text = tmp_path / "a.csv"
    text.write_text("x")
    for number, config in enumerate(
        [
            FinetuneConfig(train=("sample:topics", "dataset:x", str(text))),
            PretrainConfig(corpus=("dataset:x", str(text))),
        ]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        copied = with_copies(config, folder, (text,), ())
        names = copied.train if isinstance(copied, FinetuneConfig) else copied.corpus
        assert names[-2:] == ("dataset:x", str(folder / "texts" / "01-a.csv"))
        assert with_copies(config, folder, (), ()) == config
    (tmp_path / "2").mkdir()
    tested = with_copies(FinetuneConfig(train=("sample:topics",), test=("sample:x", str(text))), tmp_path / "2", (), ())
    assert tested.test == ("sample:x", str(tmp_path / "2" / "tested" / "01-a.csv"))
