import json

from benchmarks.machine import RESULTS, markdown, spread
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


def test_a_table_has_a_line_for_its_heading_and_one_for_each_row() -> None:
    assert markdown(["a", "b"], [["x", 1]]) == "| a | b |\n| --- | ---: |\n| x | 1 |"


def test_a_spread_is_smallest_middle_largest() -> None:
    assert spread([3.0, 1.0, 2.0]) == {"min": 1.0, "median": 2.0, "max": 3.0}
