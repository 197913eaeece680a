"""Training dynamics of examples: what is recorded in the steps of a run, and the formulas of the dataset map."""

from pathlib import Path

import numpy as np
import pytest
import torch

from bertviz_lab.errors import InputError
from bertviz_lab.training.finetuning import example_dynamics
from bertviz_lab.training.finetuning.example_dynamics import DataMap, ExampleDynamics
from tests.training.finetuning.support import Files, finish


def log(*shares: float) -> list[float]:
    return np.log(shares).tolist()


def recorded() -> ExampleDynamics:
    """Two epochs of three examples of the classes 0, 1, 1, in another order each."""
    dynamics = ExampleDynamics(3, 3, 2, torch.device("cpu"))
    dynamics.record(0, torch.tensor([2, 0]), torch.tensor([log(0.7, 0.3), log(0.8, 0.2)]), torch.tensor([1, 0]))
    dynamics.record(0, torch.tensor([1]), torch.tensor([log(0.4, 0.6)]), torch.tensor([1]))
    logits = torch.tensor([log(0.6, 0.4), log(0.2, 0.8), log(0.5, 0.5)])
    dynamics.record(1, torch.tensor([0, 1, 2]), logits, torch.tensor([0, 1, 1]))
    dynamics.record(2, torch.tensor([0]), torch.tensor([log(0.1, 0.9)]), torch.tensor([0]))  # not completed
    return dynamics


def test_confidence_is_the_mean_variability_the_deviation_and_correctness_the_share_of_right_epochs(
    tmp_path: Path,
) -> None:
    recorded().save(tmp_path / example_dynamics.DYNAMICS_FILE)
    points = DataMap.read(tmp_path)
    assert points.epochs == 2
    assert points.confidence == pytest.approx([0.7, 0.7, 0.4])
    assert points.variability == pytest.approx([0.1, 0.1, 0.1])
    assert points.correctness.tolist() == [1.0, 1.0, 0.0]
    assert points.probabilities[1:] == pytest.approx(np.array([[0.3, 0.7], [0.6, 0.4]]))
    assert points.probabilities[0] == pytest.approx([0.5, 0.5]), "each example over the epochs that saw it"


def test_of_several_labels_the_least_sure_one_counts(tmp_path: Path) -> None:
    dynamics = ExampleDynamics(1, 2, 2, torch.device("cpu"))
    logits = torch.logit(torch.tensor([[0.9, 0.2], [0.6, 0.7]]))
    dynamics.record(0, torch.arange(2), logits, torch.tensor([[1.0, 0.0], [1.0, 0.0]]))
    dynamics.save(tmp_path / example_dynamics.DYNAMICS_FILE)
    points = DataMap.read(tmp_path)
    assert points.confidence == pytest.approx([0.8, 0.3])
    assert points.correctness.tolist() == [1.0, 0.0]


def test_a_run_records_each_example_once_an_epoch(files: Files, tmp_path: Path) -> None:
    finish(files.config(), tmp_path)
    points = DataMap.read(tmp_path)
    assert points.epochs == 2
    assert points.probabilities.shape == (16, 3)
    assert points.probabilities.sum(1) == pytest.approx(np.ones(16), abs=1e-5)


def test_parts_of_a_step_are_recorded_as_the_whole(files: Files, tmp_path: Path) -> None:
    for parts in (1, 2):
        finish(files.config(gradient_accumulation_steps=parts, dropout=0.0), tmp_path / str(parts))
    whole, parted = (DataMap.read(tmp_path / str(parts)) for parts in (1, 2))
    assert parted.confidence == pytest.approx(whole.confidence, abs=1e-4)


@pytest.mark.parametrize("task", ["regression", "tokens", "qa"])
def test_other_tasks_record_nothing(task: str, files: Files, tmp_path: Path) -> None:
    finish(files.config(task, epochs=1), tmp_path)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="not recorded"):
        DataMap.read(tmp_path)


def test_a_run_without_room_for_the_numbers_records_nothing(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(example_dynamics, "_MOST_NUMBERS", 100)
    finish(files.config(), tmp_path)
    assert not (tmp_path / example_dynamics.DYNAMICS_FILE).exists()


def test_before_the_end_of_the_first_epoch_there_is_no_map(tmp_path: Path) -> None:
    ExampleDynamics(1, 2, 2, torch.device("cpu")).save(tmp_path / example_dynamics.DYNAMICS_FILE)
    with pytest.raises(InputError, match="Not one epoch"):
        DataMap.read(tmp_path)
