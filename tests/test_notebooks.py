"""The notebooks run from top to bottom, their exercises can be solved, and their files are those of the scripts."""

import ast
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import pytest
import torch
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient
from nbformat import NotebookNode

from bertviz_lab.exercise import check
from notebooks import build

ROOT = Path(__file__).parents[1]
#: What makes a notebook's trainings and models small; the rest of each is run as it is.
SHORT: dict[str, dict[str, Any]] = {
    "00_bert_in_150_lines": {"STEPS": 4, "TUNING_STEPS": 2, "LAB_STEPS": 2, "STORIES": 300},
    "07_pretraining": {"STEPS_BY_HAND": 4, "STEPS": 6},
    "08_fine_tuning": {"EPOCHS_BY_HAND": 1, "EPOCHS": 1, "MODEL": "wiki-tiny"},
    "09_evaluation": {"MODEL": "wiki-tiny"},
    "11_distillation": {"STEPS": 4},
    "14_tagging_and_answering": {"EPOCHS_TAGGING": 1, "EPOCHS_ANSWERING": 1, "QUESTIONS": 32, "EPOCHS": 1},
}

every_script = pytest.mark.parametrize("script", build.SCRIPTS, ids=lambda script: script.stem)


def tagged(notebook: NotebookNode, tag: str) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if tag in cell.metadata.get("tags", [])]


def shortened(script: Path) -> NotebookNode:
    """A notebook with its solutions as cells, and small trainings."""
    notebook = build.notebook(script, solved=True)
    if script.stem in SHORT:
        (parameters,) = tagged(notebook, "parameters")
        values = SHORT[script.stem]
        assert set(values) == set(re.findall(r"^(\w+) =", parameters.source, flags=re.M))
        smaller = nbformat.v4.new_code_cell("\n".join(f"{name} = {value!r}" for name, value in values.items()))
        notebook.cells.insert(notebook.cells.index(parameters) + 1, smaller)
    return notebook


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KernelManager]:
    """One kernel for all notebooks, which forgets its variables between them: starting takes longer than most run."""
    folder = tmp_path_factory.mktemp("notebooks")
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    # Frozen modules cannot be stepped through, which the kernel's debugger would say.
    quiet = {"PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(cwd=str(folder), env=os.environ | quiet | {"PYTHONPATH": path, "TMPDIR": str(folder)})
    yield manager
    manager.shutdown_kernel(now=True)


@every_script
@pytest.mark.slow
@pytest.mark.training
def test_a_notebook_runs_and_its_exercises_can_be_solved(script: Path, kernel: KernelManager) -> None:
    notebook = shortened(script)
    notebook.cells.insert(0, nbformat.v4.new_code_cell("%reset -f"))
    client = NotebookClient(notebook, km=kernel, timeout=200)
    client.execute()
    client.kc.stop_channels()
    said = ["".join(output.data["text/plain"] for output in cell.outputs) for cell in tagged(notebook, "check")]
    assert [text[0] for text in said] == ["…", "✓"] * (len(said) // 2)


@every_script
def test_the_file_of_a_notebook_is_what_its_script_gives(script: Path) -> None:
    """`make notebooks` writes it anew."""
    written = (build.FOLDER / f"{script.stem}.ipynb").read_text(encoding="utf-8")
    assert written == build.text(script)
    nbformat.validate(nbformat.reads(written, as_version=4))


def test_bert_in_150_lines_is_that_long_and_needs_torch_alone() -> None:
    text = (build.FOLDER / "bert_in_150_lines.py").read_text(encoding="utf-8")
    assert text == build.module(build.SCRIPTS[0])
    tree = ast.parse(text)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docstrings = [node.body[0] for node in ast.walk(tree) if isinstance(node, documented) and ast.get_docstring(node)]
    in_docstrings = {line for node in docstrings for line in range(node.lineno, (node.end_lineno or 0) + 1)}
    lines = [line for number, line in enumerate(text.splitlines(), 1) if line and number not in in_docstrings]
    assert len([line for line in lines if not line.lstrip().startswith("#")]) <= 150
    imported = {name for line in lines for name in re.findall(r"^(?:import|from) (\w+)", line)}
    assert imported - sys.stdlib_module_names == {"torch"}


@every_script
def test_a_check_has_two_hints_and_not_the_solution(script: Path) -> None:
    cells = jupytext.read(script).cells
    checks = [cell.source for cell in cells if "check" in cell.metadata.get("tags", [])]
    solutions = [cell.source for cell in cells if "solution" in cell.metadata.get("tags", [])]
    assert checks
    for check_cell, solution in zip(checks, solutions, strict=True):
        shown = ast.parse(check_cell)
        (call,) = [node for node in ast.walk(shown) if isinstance(node, ast.Call) and ast.unparse(node.func) == "check"]
        assert len(call.args) == 4, check_cell
        asked = {node.id for node in ast.walk(call.args[0]) if isinstance(node, ast.Name)}
        for node in ast.walk(ast.parse(solution)):
            named = {
                name.id for name in ast.walk(node) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
            }
            if isinstance(node, ast.Return) or (isinstance(node, ast.Assign) and named & asked):
                assert ast.unparse(node.value) not in ast.unparse(shown), check_cell


def test_the_installation_does_nothing_where_the_lab_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    (setup,) = jupytext.read(build.SETUP).cells
    ran: list[Any] = []
    monkeypatch.setattr("subprocess.run", lambda *arguments, **_: ran.append(arguments))
    exec(setup.source, {})
    assert not ran
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    exec(setup.source, {})
    assert ran[0][0][1:4] == ["-m", "pip", "install"]


def test_there_is_a_notebook_for_each_script_and_a_line_on_it() -> None:
    names = [script.stem for script in build.SCRIPTS]
    assert sorted(path.stem for path in build.FOLDER.glob("*.ipynb")) == names
    readme = (build.FOLDER / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| \[(\w+)\]\(\1\.ipynb\)", readme, flags=re.M) == names


def test_links_between_notebooks_and_into_the_repository_lead_somewhere() -> None:
    for script in build.SCRIPTS:
        for name in re.findall(r"`([\w./]+)`", script.read_text(encoding="utf-8")):
            if re.fullmatch(r"\d\d_\w+", name):
                assert (build.FOLDER / "source" / f"{name}.py").is_file(), (script.name, name)
            elif name.startswith(("bertviz_lab/", "docs/", "tests/")):
                assert (ROOT / name).exists(), (script.name, name)


@pytest.mark.parametrize("answer", [None, ...])
def test_an_exercise_that_nobody_has_begun_is_neither_right_nor_wrong(answer: object) -> None:
    verdict = check(answer, 3)
    assert verdict.passed is None
    assert repr(verdict).startswith("… Not answered yet")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (0.5, 0.50001), (3, 3), ("##ing", "##ing"), (["un", "##do"], ["un", "##do"]), ([1, 2], torch.tensor([1, 2])),
        (torch.ones(2, 3, requires_grad=True), torch.ones(2, 3)), ({"a", "b"}, {"b", "a"}),
        ([[1], [2, 3]], [[1], [2, 3]]), (True, True),
    ],
)  # fmt: skip
def test_equal_answers_are_correct(answer: object, expected: object) -> None:
    assert check(answer, expected).passed is True


@pytest.mark.parametrize(
    ("answer", "expected"),
    [(0.5, 0.51), ("a", "b"), (["a"], ["b"]), ("3", 3), ({"a"}, {"b"}), (torch.zeros(2), torch.ones(2)), ("a", None)],
)
def test_others_are_not_and_the_hint_is_told(answer: object, expected: object) -> None:
    verdict = check(answer, expected, "Look again.", "At a < b.")
    assert verdict.passed is False
    assert "Look again." in repr(verdict)
    assert "At a" not in repr(verdict)
    assert verdict._repr_html_().endswith("<details><summary>Second hint</summary>At a &lt; b.</details>")


def test_a_wrong_shape_is_named() -> None:
    assert "should be (3, 2), and is (2, 3)" in repr(check(torch.ones(2, 3), torch.ones(3, 2)))
