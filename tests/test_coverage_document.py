"""What is taught, and where: every lesson, notebook, view and file that docs/coverage.md names is there."""

import re
from pathlib import Path

import pytest

from bertviz_lab.ui.lessons import LESSONS
from bertviz_lab.ui.views import VIEWS

ROOT = Path(__file__).parents[1]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.startswith("| subject")
]
TAUGHT = [row for row in ROWS if len(row) == 3]
NOTEBOOKS = {int(path.name[:2]) for path in (ROOT / "notebooks").glob("*.ipynb")}
PANELS = {f"{str(view.workspace).capitalize()}, panel {view.title}" for view in VIEWS if view.workspace}


def test_no_cell_is_empty() -> None:
    assert len(TAUGHT) > 50
    assert [row for row in ROWS if not all(row)] == []
    assert len({row[0] for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("row", TAUGHT, ids=lambda row: row[0])
def test_what_a_row_names_is_there(row: list[str]) -> None:
    _, places, code = row
    for place in places.split("; "):
        known = PANELS | {"Train, Pretrain", "Train, Fine-tune"}
        known |= {f"lesson {lesson.number}" for lesson in LESSONS} | {f"notebook {number}" for number in NOTEBOOKS}
        assert place in known
    assert (ROOT / code.strip("`")).is_file()


@pytest.mark.parametrize(
    ("kind", "numbers"), [("lesson", {lesson.number for lesson in LESSONS}), ("notebook", NOTEBOOKS)]
)
def test_every_lesson_and_notebook_is_in_it(kind: str, numbers: set[int]) -> None:
    assert {int(number) for row in TAUGHT for number in re.findall(rf"{kind} (\d+)", row[1])} == numbers
