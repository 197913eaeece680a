"""Wrong labels that were planted are found, and what confident learning counts is worked out by hand."""

from pathlib import Path

import numpy as np
import pytest
import torch

from bertviz_lab import Tokenizer
from bertviz_lab.data.examples import Label, LabelledText, write_examples
from bertviz_lab.errors import InputError
from bertviz_lab.training.checkpoints.atomic_io import write_json
from bertviz_lab.training.finetuning import label_check
from bertviz_lab.training.finetuning.example_dynamics import DYNAMICS_FILE, ExampleDynamics
from bertviz_lab.training.finetuning.label_check import (
    LabelCheck,
    check_labels,
    confident_classes,
    geometric_mean,
    out_of_fold,
    read_label_check,
    suspected,
)

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
