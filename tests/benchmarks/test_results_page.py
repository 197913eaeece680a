import json
from pathlib import Path

import pytest

from benchmarks.machine import RESULTS, machine, report, slug
from benchmarks.results_page import PAGE, page


def test_the_page_is_what_the_results_say() -> None:
    results = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob("*.json"))]
    assert PAGE.read_text(encoding="utf-8") == page(results), "run: python -m benchmarks.results_page"


def test_every_claim_has_its_command_machine_date_and_commit() -> None:
    at = {"processor": "A chip", "cores": 2, "load_before": 0.5, "torch": "2", "date": "2030-01-01", "commit": "abc"}
    body = {"name": "parity", "command": "python -m benchmarks.parity --now", "machine": at}
    text = page([body | {"largest_difference": {"BertModel": {"outputs": 1e-6}}}])
    assert "| BertModel | 1e-06 |" in text
    for part in ("`python -m benchmarks.parity --now`", "A chip, 2 cores", "2030-01-01", "commit abc"):
        assert part in text


def test_a_claim_measured_on_two_processors_has_a_table_for_each() -> None:
    at = {"cores": 2, "load_before": 0.5, "torch": "2", "date": "2030-01-01", "commit": "abc"}
    results = [
        {"name": "parity", "machine": at | {"processor": name}, "largest_difference": {"BertModel": {"outputs": error}}}
        for name, error in (("A chip", 1e-6), ("Another", 2e-6))
    ]
    text = page(results)
    assert text.count("## Parity\n") == 1
    first, second = text.split("### Another\n")
    assert "### A chip\n" in first
    assert "| BertModel | 1e-06 |" in first
    assert "| BertModel | 2e-06 |" in second


def test_a_result_is_kept_beside_that_of_another_processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.machine.RESULTS", tmp_path)
    for options in (["--keep"], ["--keep", "--beside", "--now"]):
        monkeypatch.setattr("sys.argv", ["parity", *options])
        report("parity", {"largest_difference": {}})
    processor = machine()["processor"]
    assert {path.name for path in tmp_path.iterdir()} == {"parity.json", f"parity-{slug(processor)}.json"}
    kept = json.loads((tmp_path / f"parity-{slug(processor)}.json").read_text(encoding="utf-8"))
    assert kept["command"] == "python -m benchmarks.parity --now"
    assert kept["machine"]["processor"] == processor
