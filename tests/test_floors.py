"""The house has floors, and imports go down only (see the table in docs/architecture.md)."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "bertviz_lab"

#: The floor of each part; a part may import from lower floors and from itself.
FLOORS = {
    "errors": -1,
    "strict_json": -1,
    "config": 0,
    "metrics": 0,
    "confined": 1,
    "model": 1,
    "tokenization": 2,
    "data": 3,
    "training": 4,
    "interpret": 5,
    "jobs": 5,
    "figures": 6,
    "ui": 7,
    "exercise": 0,
    "show": 8,
    "cli": 8,
    "__main__": 9,
    "__init__": 9,
}
#: Pairs that do not know each other although one is on a lower floor, or both are on one.
STRANGERS = {("tokenization", "model"), ("interpret", "jobs"), ("jobs", "interpret")}
#: Of a part, the floor of each of its rooms; rooms on one floor do not know each other.
ROOMS = {"training": {"checkpoints": 0, "runs": 1, "loop": 2, "pretraining": 3, "finetuning": 3}}
#: Libraries that only these parts may use.
RESERVED = {"gradio": {"ui"}, "plotly": {"figures"}}


def files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def part_of(path: Path) -> str:
    relative = path.relative_to(PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def imports(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import hides which floor it leads to"
            module = node.module or ""
            for alias in node.names if module == "bertviz_lab" else ():
                yield f"bertviz_lab.{alias.name}", node.lineno
            if module != "bertviz_lab":
                yield module, node.lineno


@pytest.mark.parametrize("path", files(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_go_down_only(path: Path) -> None:
    here = part_of(path)
    for name, line in imports(path):
        where = f"{path.relative_to(PACKAGE)}:{line} imports {name}"
        top, *rest = name.split(".")
        if top in RESERVED:
            assert here in RESERVED[top], where
        if top == "bertviz_lab" and rest:
            there = rest[0] if rest[0] in FLOORS else None
            assert there is not None, f"{where}, which has no floor in this test"
            assert there == here or FLOORS[there] < FLOORS[here], where
            assert (here, there) not in STRANGERS, where


@pytest.mark.parametrize("part", ROOMS)
def test_imports_inside_a_part_go_down_only(part: str) -> None:
    rooms = ROOMS[part]
    assert {path.name for path in (PACKAGE / part).iterdir() if (path / "__init__.py").exists()} == set(rooms)
    for path in (PACKAGE / part).glob("*/**/*.py"):
        here = path.relative_to(PACKAGE / part).parts[0]
        for name, line in imports(path):
            _, _, there, *_ = [*name.split("."), "", "", ""]
            if name.startswith(f"bertviz_lab.{part}.") and there != here:
                assert rooms[there] < rooms[here], f"{path}:{line} imports {name}"


def test_every_part_has_a_floor() -> None:
    assert {part_of(path) for path in files()} <= set(FLOORS)


@pytest.mark.parametrize("path", [p for p in files() if part_of(p) != "cli"], ids=lambda p: str(p.name))
def test_only_the_command_line_prints(path: Path) -> None:
    calls = (n for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.Call))
    prints = [c.lineno for c in calls if isinstance(c.func, ast.Name) and c.func.id == "print"]
    assert not prints, f"{path} prints at {prints}"


def test_figures_know_no_torch() -> None:
    for path in (PACKAGE / "figures").rglob("*.py"):
        assert not [name for name, _ in imports(path) if name.split(".")[0] in ("torch", "gradio")], path


def test_no_ready_made_transformer_is_used() -> None:
    for path in (PACKAGE / "model").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "nn.Transformer" not in text and "nn.MultiheadAttention" not in text, path  # noqa: PT018
        assert not [name for name, _ in imports(path) if name.startswith("transformers")], path


def test_the_map_of_every_room_names_its_files() -> None:
    for room in (path.parent for path in PACKAGE.rglob("__init__.py") if path.parent != PACKAGE):
        names = [p.stem for p in room.glob("*.py") if p.stem != "__init__"]
        words = set(re.findall(r"\w+", (room / "__init__.py").read_text(encoding="utf-8").split('"""')[1]))
        assert len(names) <= 4 or words >= set(names), f"{room}: {set(names) - words}"
