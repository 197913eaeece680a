"""Minimal pairs on the page: the accuracies are those of the package, come as they are scored, and cost is bounded."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from bertviz_lab.config.limits import QuestionLimits
from bertviz_lab.data.probes import PROBES, read_minimal_pairs
from bertviz_lab.interpret import score_minimal_pairs
from bertviz_lab.ui.forms.evaluation import evaluate_files
from bertviz_lab.ui.state.app_state import AppState


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rows = [
        {"sentence_good": pair.good, "sentence_bad": pair.bad, "linguistics_term": pair.kind}
        for pair in PROBES["english"].pairs[:30]
    ]
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def answers(session: AppState, *files: Path, model: str = "little") -> list[dict[str, Any]]:
    return [json.loads(payload) for payload in evaluate_files(session, model, list(map(str, files)))]


def test_accuracies_come_as_they_are_scored_and_end_as_those_of_the_package(
    session: AppState, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bertviz_lab.ui.forms.evaluation._AT_ONCE", 12)
    parts = answers(session, file)
    assert [part["note"].split(" scored")[0] for part in parts] == [
        "12 of 30 pairs",
        "24 of 30 pairs",
        "30 of 30 pairs",
    ]
    report = score_minimal_pairs(session.models.open("little"), read_minimal_pairs(file))
    expected = [["all", report.accuracy], *([name.replace("_", " "), x] for name, x in report.by_phenomenon.items())]
    assert parts[-1]["items"] == [[name, f"{value:.1%}"] for name, value in expected]
    assert len(expected) > 2


def test_files_that_are_no_pairs_are_answered_in_a_sentence(session: AppState, file: Path, tmp_path: Path) -> None:
    (bad,) = answers(session, *[_written(tmp_path / "bad.jsonl", '{"sentence_good": "a"}\n')])
    assert "Record 1 of “bad.jsonl”" in bad["message"].replace('"bad.jsonl"', "“bad.jsonl”")
    (elsewhere,) = answers(session, Path("/etc/hostname"))
    assert "Only files that were uploaded" in elsewhere["message"]
    (absent,) = answers(session, file, model="no-such-model")
    assert "no-such-model" in absent["message"]


def test_more_pairs_than_twenty_questions_may_cost_are_refused_with_what_would_do(
    session: AppState, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    little = dataclasses.replace(session.models.open("little"), limits=QuestionLimits(operations=100_000))
    monkeypatch.setattr(session.models, "open", lambda name: little)
    (refused,) = answers(session, file)
    assert refused["message"].startswith("These 30 pairs are too many for this page with this model; it takes about ")


def _written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path
