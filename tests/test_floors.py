"""The house has floors, and imports go down only (see the table in docs/architecture.md)."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "bertviz_lab"

#: The floor of each part; a part may import from lower floors and from itself.
FLOORS = {
    "errors": -1, "strict_json": -1, "config": 0, "metrics": 0, "confined": 1, "model": 1, "tokenization": 2,
    "data": 3, "training": 4, "interpret": 5, "jobs": 5, "figures": 6, "ui": 7, "browser": 7.5, "exercise": 0,
    "show": 8, "cli": 9, "__main__": 10, "__init__": 10,
}  # fmt: skip
#: Pairs that do not know each other although one is on a lower floor, or both are on one.
STRANGERS = {("tokenization", "model"), ("interpret", "jobs"), ("jobs", "interpret")}
#: Rooms whose own rooms know each other in both directions, though no file of theirs does.
ENTANGLED = {"model", "ui"}
#: Libraries that only these parts may use.
RESERVED = {"gradio": {"ui"}, "plotly": {"figures"}}


def files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def part_of(path: Path) -> str:
    relative = path.relative_to(PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree_of(path)):
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


def test_imports_go_down_only() -> None:
    for path in files():
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


def imported_file(name: str) -> Path | None:
    """The file of the package in which an imported name is defined, as far as the name tells."""
    top, *rest = name.split(".")
    place = PACKAGE
    for part in rest if top == "bertviz_lab" else ():
        if (place / f"{part}.py").is_file():
            return place / f"{part}.py"
        if not (place / part).is_dir():
            break
        place /= part
    return place / "__init__.py" if top == "bertviz_lab" else None


def known_files(path: Path) -> set[Path]:
    """The files of the package that a file imports, the `__init__` of rooms aside."""
    nodes = [node for node in ast.walk(tree_of(path)) if isinstance(node, ast.ImportFrom)]
    names = {f"{node.module}.{alias.name}" for node in nodes for alias in node.names} | {n for n, _ in imports(path)}
    found = {file for name in names if (file := imported_file(name))}
    return {file for file in found if file != path and file.name != "__init__.py"}


KNOWN = {path: known_files(path) for path in files()}
ROOMS = [path.parent for path in files() if path.name == "__init__.py"]


def test_no_files_import_each_other_in_a_circle() -> None:
    TopologicalSorter(KNOWN).prepare()  # raises `CycleError`


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: str(room.relative_to(PACKAGE)))
def test_the_rooms_inside_a_room_import_down_only(room: Path) -> None:
    if str(room.relative_to(PACKAGE)) in ENTANGLED:
        pytest.skip("files are tested, not rooms")
    graph: dict[str, set[str]] = {}
    for path, known in KNOWN.items():
        if path.is_relative_to(room) and path.name != "__init__.py":
            here, *_ = path.relative_to(room).parts
            there = {file.relative_to(room).parts[0] for file in known if file.is_relative_to(room)}
            graph.setdefault(here, set()).update(there - {here})
    TopologicalSorter(graph).prepare()
    assert "pretraining" not in graph.get("finetuning", ()), "neither knows the other"
    assert "finetuning" not in graph.get("pretraining", ())


def test_only_the_command_line_prints() -> None:
    for path in files():
        calls = (n for n in ast.walk(tree_of(path)) if isinstance(n, ast.Call))
        prints = [c.lineno for c in calls if isinstance(c.func, ast.Name) and c.func.id == "print"]
        assert not prints or part_of(path) == "cli", f"{path} prints at {prints}"


def test_figures_know_no_torch() -> None:
    for path in (PACKAGE / "figures").rglob("*.py"):
        assert not [name for name, _ in imports(path) if name.split(".")[0] in ("torch", "gradio")], path


def test_no_ready_made_transformer_is_used() -> None:
    for path in (PACKAGE / "model").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "nn.Transformer" not in text and "nn.MultiheadAttention" not in text, path  # noqa: PT018
        assert not [name for name, _ in imports(path) if name.startswith("transformers")], path


_SCRIPT = """
import builtins, importlib, os, pkgutil, sys

original = builtins.__import__

def without_unix(name, globals=None, *rest, **options):
    if name in {"fcntl", "resource", "pwd", "grp", "termios"}:
        if (globals or {}).get("__name__", "").startswith("bertviz_lab"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return original(name, globals, *rest, **options)

builtins.__import__ = without_unix
for name in ("nice", "sched_getaffinity"):
    if hasattr(os, name):
        delattr(os, name)
import bertviz_lab
failed = []
for module in pkgutil.walk_packages(bertviz_lab.__path__, "bertviz_lab."):
    if module.name.endswith("__main__") and module.name != "bertviz_lab.__main__":
        continue
    try:
        importlib.import_module(module.name)
    except Exception as error:
        failed.append(f"{module.name}: {type(error).__name__}: {error}")
print("\\n".join(failed))
"""


@pytest.mark.training
def test_every_module_imports_without_the_modules_of_unix() -> None:
    command = [sys.executable, "-W", "ignore", "-c", _SCRIPT]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip() == "", done.stdout
