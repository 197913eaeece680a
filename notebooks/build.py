"""Writes the notebooks from the scripts in `source/`: `make notebooks`.

A script is in jupytext's percent format. Cells have a meaning by their tag:

- `parameters`: the sizes of trainings; tests put smaller ones after it.
- `check`: compares the answer to an exercise with the right one; folded away.
- `solution`: the code of a solution, which a notebook shows as text that unfolds. Tests run it instead.
- `file`: a part of the module that a notebook explains; `file only`: one that the notebook itself leaves out.
"""

import hashlib
from pathlib import Path

import jupytext
import nbformat
from nbformat import NotebookNode

FOLDER = Path(__file__).parent
SCRIPTS = sorted((FOLDER / "source").glob("[0-9]*.py"))
SETUP = FOLDER / "source" / "setup_cell.py"

#: Where Colab takes the notebooks from, and what the setup cell installs.
REPOSITORY = "bertviz-lab/bertviz-lab"
_BADGE = (
    "[![Open In Colab](https://colab.research.google.com/assets/colab-badge.svg)]"
    f"(https://colab.research.google.com/github/{REPOSITORY}/blob/main/notebooks/{{}}.ipynb)"
)
#: The docstring of the module that the first notebook explains.
_HEAD = """BERT in 150 lines: pretraining, filling gaps and fine-tuning, with PyTorch and nothing else.

Run `python bert_in_150_lines.py stories.txt`; a line of the file is a story. The notebook 00_bert_in_150_lines explains
it. Shapes are suffixes: B sequences, L tokens, D hidden size, H heads, K head size, N masked tokens, V vocabulary.
Source: Devlin et al. 2018, arXiv 1810.04805.
"""
_SOLUTION = "<details><summary>Solution</summary>\n\n```python\n{}\n```\n\n</details>"
_FOLDED = {"cellView": "form", "jupyter": {"source_hidden": True}}  # in Colab, in JupyterLab


def notebook(script: Path, *, solved: bool = False) -> NotebookNode:
    """The notebook of a script; with `solved` each solution is a cell that is run, and its check is repeated."""
    title, *cells = jupytext.read(script).cells
    title.source = f"{_BADGE.format(script.stem)}\n\n{title.source}"
    cells = [title, *jupytext.read(SETUP).cells, *(cell for cell in cells if "file only" not in _tags(cell))]
    written: list[NotebookNode] = []
    check = None
    for cell in cells:
        cell.source = cell.source.strip("\n")  # the formatter leaves two lines before a function
        tags = _tags(cell)
        if "check" in tags:
            cell.source = f"# @title Check your answer\n{cell.source}"
            check = cell
        if "check" in tags or "setup" in tags:
            cell.metadata.update(_FOLDED)
        if "solution" in tags and solved:
            assert check is not None, f"{script.name}: a solution comes after its check"
            written += [cell, nbformat.v4.new_code_cell(check.source, metadata={"tags": ["check"]})]
        elif "solution" in tags:
            written.append(nbformat.v4.new_markdown_cell(_SOLUTION.format(cell.source)))
        else:
            written.append(cell)
    return nbformat.v4.new_notebook(cells=_numbered(written), metadata=_METADATA)


_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def _numbered(cells: list[NotebookNode]) -> list[NotebookNode]:
    """The cells with ids that depend on their text alone, so that an edit changes only the cells that it touches."""
    known: set[str] = set()
    for cell in cells:
        cell.id = hashlib.sha256(cell.source.encode()).hexdigest()[:8]
        while cell.id in known:
            cell.id += "x"
        known.add(cell.id)
    return cells


def text(script: Path) -> str:
    """The file of a notebook, without outputs."""
    return nbformat.writes(notebook(script)) + "\n"


def _tags(cell: NotebookNode) -> list[str]:
    tags: list[str] = cell.metadata.get("tags", [])
    return tags


def module(script: Path) -> str:
    """The module that a notebook explains: its cells with the tag `file`; "" where there are none."""
    parts = [cell.source.strip("\n") for cell in jupytext.read(script).cells if {"file", "file only"} & {*_tags(cell)}]
    return f'"""{_HEAD}"""\n\n' + "\n\n\n".join(parts) + "\n" if parts else ""


if __name__ == "__main__":
    for script in SCRIPTS:
        (FOLDER / f"{script.stem}.ipynb").write_text(text(script), encoding="utf-8")
        if written := module(script):
            (FOLDER / f"{script.stem[3:]}.py").write_text(written, encoding="utf-8")
