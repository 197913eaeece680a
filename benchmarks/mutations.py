"""Break the package in sixty places, one at a time, and count how many of the breaks the tests catch.

    python -m benchmarks.mutations [--tree DIR] [--only NAME] [--results FILE]

Each mutation is found by its code, wherever the file has moved, in a copy of the tree; its tests run until the first
failure. A mutation whose code is gone, or is there twice, is reported as stale: write it again. Results are written
after each mutation, so that an interrupted run continues.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results" / "mutations.json"
_SECONDS = 240  # of one mutation's tests


class Mutation(NamedTuple):
    """One break, a row of mutations.tsv: code that occurs once in the package, and what replaces it.

    `tests` are the files and folders below `tests/` that should fail, with blanks between them; `\\n` is a line's end.
    """

    name: str
    code: str
    replacement: str
    tests: str


def read_mutations(path: Path) -> list[Mutation]:
    """Return the mutations of a table, whose first line names its columns."""
    _, *rows = path.read_text(encoding="utf-8").splitlines()
    return [Mutation(*row.replace("\\n", "\n").split("\t")) for row in rows]


def run(tree: Path, mutations: Sequence[Mutation], results: Path) -> dict[str, str]:
    """Return by name "caught", "missed", "slow" or "stale" of each mutation, as far as known from earlier runs too."""
    outcomes: dict[str, str] = json.loads(results.read_text(encoding="utf-8")) if results.is_file() else {}
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "lab" / "tree"
        _copy(tree, copy)
        for mutation in mutations:
            if outcomes.get(mutation.name, "stale") in ("stale", "slow"):
                outcomes[mutation.name] = _try(copy, mutation)
                print(f"{outcomes[mutation.name]:>7}  {mutation.name}", flush=True)
                results.write_text(json.dumps(outcomes, indent=2) + "\n", encoding="utf-8")
    return outcomes


def _copy(tree: Path, copy: Path) -> None:
    """Copy what tests need; the models, which no mutation changes, are links."""
    ignored = shutil.ignore_patterns(".git", ".venv", "__pycache__", "checkpoints", ".*_cache", "runs")
    shutil.copytree(tree, copy, ignore=lambda path, names: ignored(path, names) if Path(path) == tree else [])
    (copy / "checkpoints").symlink_to(tree / "checkpoints")
    if (shared := tree.resolve().parent / "shared").is_dir():
        (copy.parent / "shared").symlink_to(shared)


def _try(copy: Path, mutation: Mutation) -> str:
    files = sorted((copy / "bertviz_lab").rglob("*.py"))
    texts = {path: path.read_text(encoding="utf-8") for path in files}
    places = [path for path, text in texts.items() if mutation.code in text]
    tests = [f"tests/{name}" for name in mutation.tests.split() if (copy / "tests" / name).exists()]
    if len(places) != 1 or not tests:
        return "stale"
    (place,) = places
    place.write_text(texts[place].replace(mutation.code, mutation.replacement), encoding="utf-8")
    try:
        options = "-x -q -p no:cacheprovider --hypothesis-profile quick".split()
        command = [sys.executable, "-m", "pytest", *options]
        environment = {**os.environ, "PYTHONPATH": str(copy), "HF_HUB_OFFLINE": "1"}
        selected = ["-m", "not browser and not thorough", *tests]
        done = subprocess.run(
            [*command, *selected], cwd=copy, env=environment, capture_output=True, timeout=_SECONDS, check=False
        )
        return {0: "missed", 1: "caught", 2: "caught"}.get(done.returncode, "stale")
    except subprocess.TimeoutExpired:
        return "slow"
    finally:
        place.write_text(texts[place], encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, default=ROOT, help="checkout to break (default: this one)")
    parser.add_argument("--only", default="", help="run the mutations whose names contain this text")
    parser.add_argument("--results", type=Path, default=RESULTS, help="file that the outcomes are written to")
    options = parser.parse_args()
    known = read_mutations(Path(__file__).with_suffix(".tsv"))
    chosen = [mutation for mutation in known if options.only in mutation.name]
    outcomes = run(options.tree.resolve(), chosen, options.results)
    caught = sum(outcomes[mutation.name] == "caught" for mutation in chosen)
    print(f"{caught} of {len(chosen)} caught")


if __name__ == "__main__":
    main()
