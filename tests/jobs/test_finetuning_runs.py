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


def test_a_fine_tuning_leaves_a_model_and_results(runs: Runs, files: Files) -> None:
    train, held = Path(files.train("tokens")), Path(files.held("tokens"))
    run = runs.start(files.config("tokens"), (train,), (held,))
    train.unlink()
    held.unlink()
    wait_for(lambda: runs.state(run).status == "finished")
    assert load_checkpoint(runs.state(run).model).architecture == "BertForTokenClassification"
    assert read_results(runs.folder(run)).train_count == 16


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
