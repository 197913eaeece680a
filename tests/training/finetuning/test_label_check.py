"""Training dynamics of examples, and the labels that they make one doubt."""

from pathlib import Path

import numpy as np
import pytest
import torch

from bertviz_lab import Tokenizer
from bertviz_lab.data.examples import Label, LabelledText, write_examples
from bertviz_lab.errors import InputError
from bertviz_lab.training.checkpoints.atomic_io import write_json
from bertviz_lab.training.finetuning import example_dynamics, label_check
from bertviz_lab.training.finetuning.example_dynamics import DYNAMICS_FILE, DataMap, ExampleDynamics
from bertviz_lab.training.finetuning.label_check import (
    LabelCheck,
    check_labels,
    confident_classes,
    geometric_mean,
    out_of_fold,
    read_label_check,
    suspected,
)
from tests.training.finetuning.support import Files, finish

WORDS = (("sun", "beach", "swim", "warm", "sand"), ("snow", "ski", "cold", "ice", "sledge"))
FLIPPED = range(3, 200, 11)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train([" ".join(words) + " a day of number" for words in WORDS] * 9, vocab_size=120)


def text_of(n: int) -> str:
    words = WORDS[n % 2]
    return f"a day of {words[n // 2 % 5]} {words[n // 10 % 5]} number {n}"


def run_folder(
    folder: Path, task: str, train: list[LabelledText], labels: tuple[str, ...], held_out: tuple[LabelledText, ...] = ()
) -> Path:
    """A run with training dynamics that say nothing: all labels are as probable in each of two epochs."""
    (folder / "examples").mkdir(parents=True)
    for name, rows in (("train", train), ("held_out", held_out)):
        write_examples(folder / "examples" / f"{name}.jsonl", rows)
    write_json(folder / "examples" / "about.json", {"task": task, "labels": labels, "notes": []})
    dynamics = ExampleDynamics(2, len(train), len(labels), torch.device("cpu"))
    dynamics.given_EN[:], dynamics.sum_NC[:] = 0.5, 1.0
    dynamics.save(folder / DYNAMICS_FILE)
    return folder


def planted(folder: Path, tokenizer: Tokenizer, **more: tuple[LabelledText, ...]) -> LabelCheck:
    rows = [LabelledText(text_of(n), None, ("summer", "winter")[(n % 2) ^ (n in FLIPPED)], n + 1) for n in range(200)]
    return check_labels(run_folder(folder, "classification", rows, ("summer", "winter"), **more), tokenizer)


def test_labels_that_were_flipped_come_first(tmp_path: Path, tokenizer: Tokenizer) -> None:
    check = planted(tmp_path / "run", tokenizer)
    first = check.doubts[: len(FLIPPED)]
    assert {doubt.place for doubt in first} == set(FLIPPED)
    assert [doubt.suggested for doubt in first] == [("summer", "winter")[doubt.place % 2] for doubt in first]
    assert check.estimated == pytest.approx(len(FLIPPED), abs=3)
    assert all(doubt.given_share < 0.5 < doubt.suggested_share for doubt in check.doubts)


def test_a_check_is_read_again_as_it_was(tmp_path: Path, tokenizer: Tokenizer) -> None:
    assert read_label_check(tmp_path) is None
    held_out = (LabelledText(text_of(7), None, "winter", 1),)
    check = planted(tmp_path / "run", tokenizer, held_out=held_out)
    assert read_label_check(tmp_path / "run") == check
    assert check.leaked == 1
    assert [leak.places for leak in check.leaks] == [((0, 7), (1, 0))]


def test_the_same_text_with_other_labels_is_a_conflict(tmp_path: Path, tokenizer: Tokenizer) -> None:
    labels = ("a", "b", "a", "b")
    texts = ("snow and ice", "Ice and SNOW", "warm sand", "cold sledge")
    rows = [LabelledText(text, None, label, n) for n, (text, label) in enumerate(zip(texts, labels, strict=True))]
    check = check_labels(run_folder(tmp_path / "run", "classification", rows, ("a", "b")), tokenizer)
    assert [(conflict.share, conflict.places) for conflict in check.conflicts] == [(1.0, ((0, 0), (0, 1)))]


def test_of_several_labels_the_one_in_doubt_is_changed(tmp_path: Path, tokenizer: Tokenizer) -> None:
    def label(n: int) -> Label:
        names = {("hot", "cool")[n % 2], *(["even"] if n // 2 % 5 == 0 else [])}
        return tuple(sorted(names ^ {"hot"} if n == 41 else names))

    rows = [LabelledText(text_of(n), None, label(n), n + 1) for n in range(200)]
    check = check_labels(run_folder(tmp_path / "run", "multilabel", rows, ("cool", "even", "hot")), tokenizer)
    assert (check.doubts[0].place, check.doubts[0].suggested) == (41, ("cool", "even"))


def test_a_model_that_judges_a_text_has_not_seen_its_label_nor_that_of_a_copy(tokenizer: Tokenizer) -> None:
    rows = [LabelledText(text_of(n // 2), None, "", n) for n in range(200)]
    targets = np.array([[n // 2 % 2] for n in range(200)])
    targets[:2] = 1 - targets[:2]  # a text, and its copy
    for shares in out_of_fold(rows, targets, 2, tokenizer):
        assert shares.shape == (200, 1, 2)
        assert shares.sum(-1) == pytest.approx(np.ones((200, 1)))
        assert (shares.argmax(-1) != targets).nonzero()[0].tolist() == [0, 1]


def test_confident_learning_counts_labels_as_the_paper_does() -> None:
    targets = np.array([[0], [0], [0], [1], [1], [1]])
    first = np.array([0.9, 0.8, 0.1, 0.2, 0.3, 0.7])
    shares = np.stack([first, 1 - first], axis=-1)[:, None]
    # Thresholds are the mean self-confidences, 0.6 and 0.6.
    confident = confident_classes(targets, shares)
    assert confident[:, 0].tolist() == [0, 0, 1, 1, 1, 0]
    assert suspected(targets, shares).tolist() == [False, False, True, False, False, True]
    unsure = np.full((6, 1, 2), 0.5)
    unsure[0], unsure[3] = (0.9, 0.1), (0.1, 0.9)
    assert confident_classes(targets, unsure)[:, 0].tolist() == [0, -1, -1, 1, -1, -1]


def test_the_geometric_mean_weighs_both_kinds_of_evidence_alike() -> None:
    mean = geometric_mean(np.array([[0.9, 0.1]]), np.array([[0.1, 0.9]]))
    assert mean == pytest.approx(np.array([[0.5, 0.5]]))
    assert geometric_mean(np.array([[1.0, 0.0]]), np.array([[0.1, 0.9]]))[0, 1] > 0.02, "nothing is certain"


def test_other_tasks_say_why_their_labels_are_not_checked(tmp_path: Path, tokenizer: Tokenizer) -> None:
    rows = [LabelledText("snow", None, 1.5, 1)]
    with pytest.raises(InputError, match=r"not checked\. A number is not right or wrong"):
        check_labels(run_folder(tmp_path / "run", "regression", rows, ()), tokenizer)


def test_lists_are_bounded(tmp_path: Path, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(label_check, "_MOST_LISTED", 5)
    assert len(planted(tmp_path / "run", tokenizer).doubts) == 5


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
