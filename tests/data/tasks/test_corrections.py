"""Decisions about labels are applied in their order, and only to the examples that they are about."""

from pathlib import Path

import pytest

from bertviz_lab.data.examples import LabelledText
from bertviz_lab.data.tasks.corrections import Correction, correct, newest, read_corrections, write_corrections
from bertviz_lab.errors import InputError

CAT, DOG, OWL = (LabelledText(text, None, "animal", row) for row, text in enumerate(("cat", "dog", "owl"), 1))


def test_labels_change_and_examples_are_left_out() -> None:
    decided = [Correction.of(CAT, "pet"), Correction.of(OWL, None), Correction.of(DOG, "animal")]
    assert correct((CAT, DOG, OWL), decided) == ((LabelledText("cat", None, "pet", 1), DOG), 2)


def test_the_newest_decision_counts() -> None:
    assert newest([Correction.of(CAT, "pet"), Correction.of(CAT, None)]) == {CAT: None}
    assert newest([Correction.of(CAT, "pet"), Correction.of(CAT, "animal")]) == {}


def test_a_second_check_decides_about_what_the_first_has_corrected() -> None:
    first = Correction.of(CAT, "pet")
    second = Correction.of(LabelledText("cat", None, "pet", 1), "toy")
    assert newest([first, second]) == {CAT: "toy"}


def test_a_file_gives_the_decisions_back(tmp_path: Path) -> None:
    several = LabelledText("line\u2028end", "b", ("x", "y"), 7)
    decided = (Correction.of(several, ("x",)), Correction.of(CAT, None))
    write_corrections(tmp_path / "corrections.jsonl", decided)
    assert read_corrections(tmp_path / "corrections.jsonl") == decided


def test_corrections_of_other_examples_are_refused() -> None:
    with pytest.raises(InputError, match="other examples"):
        correct((DOG,), [Correction.of(CAT, "pet")])


def test_a_file_that_is_missing_or_another_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There are no corrections"):
        read_corrections(tmp_path / "none.jsonl")
    (tmp_path / "other.jsonl").write_text('{"text": "a"}\n', encoding="utf-8")
    with pytest.raises(InputError, match="holds no corrections"):
        read_corrections(tmp_path / "other.jsonl")
