"""Every benchmark imports, and every command that a document names exists."""

import importlib
import json
import re
from pathlib import Path

import pytest

from benchmarks.__main__ import main

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
MODULES = sorted(path.stem for path in BENCHMARKS.glob("[a-z]*.py"))


@pytest.mark.parametrize("name", MODULES)
def test_every_benchmark_imports_and_says_what_it_measures(name: str) -> None:
    module = importlib.import_module(f"benchmarks.{name}")
    assert module.__doc__


def test_the_list_of_benchmarks_names_each_with_its_claim(capsys: pytest.CaptureFixture[str]) -> None:
    main()
    lines = capsys.readouterr().out.splitlines()
    results = (BENCHMARKS / "results").glob("*.json")  # one of another processor has the same benchmark's name in it
    assert {json.loads(path.read_text(encoding="utf-8"))["name"] for path in results} <= {
        re.findall(r"benchmarks\.(\w+)", line)[0] for line in lines
    }
    assert all(len(line.split(maxsplit=3)) == 4 for line in lines)


def test_documented_benchmarks_exist() -> None:
    documents = [BENCHMARKS.parent / "README.md", BENCHMARKS / "README.md", BENCHMARKS.parent / "CONTRIBUTING.md"]
    named = {name for path in documents for name in re.findall(r"benchmarks\.(\w+)", path.read_text(encoding="utf-8"))}
    assert named
    assert named <= set(MODULES)
