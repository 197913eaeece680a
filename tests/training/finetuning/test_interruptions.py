"""The harness of interruptions, for a moment: `python -m benchmarks.resume` tries a hundred."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bertviz_lab.training.runs.run_folder import record
from tests.training.support import finish, short_run

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.slow
def test_interrupted_runs_are_to_the_last_bit_those_in_one_go():
    command = [sys.executable, "-m", "benchmarks.resume", "--rounds", "6", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.stdout, done.stderr
    found = json.loads(done.stdout)
    assert found["failures"] == []
    assert done.returncode == 0
    assert found["interruptions"] == 6
    assert list(found["kinds"].values()) == [1] * 6, "one of each kind"


_COMPARE = """
import json, sys
from pathlib import Path
from benchmarks import resume
resume.STEPS = 12
print(json.dumps(resume.problems(Path(sys.argv[2]), resume.outcome(Path(sys.argv[1])))))
"""


def problems(a: Path, b: Path) -> list[str]:
    """What the harness finds, in a process of its own: it sets how many threads a process may have."""
    command = [sys.executable, "-c", _COMPARE, str(a), str(b)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    return json.loads(done.stdout)


def test_the_harness_sees_a_run_that_is_another(text, tmp_path, monkeypatch):
    monkeypatch.setattr("bertviz_lab.training.loop.loop._report_due", lambda window, progress: True)
    for name, seed in (("a", 1), ("b", 2)):
        (tmp_path / name).mkdir()
        list(record(finish(short_run(text, seed=seed), tmp_path / name), tmp_path / name))
    log = tmp_path / "b" / "events.jsonl"
    lines = log.read_text().splitlines()
    log.write_text("\n".join([*lines[:8], *lines[9:], lines[-1], "{"]) + "\n")
    (tmp_path / "b" / "checkpoints" / ".step-00000009-abcdefgh").mkdir()
    found = " | ".join(problems(tmp_path / "a", tmp_path / "b"))
    for what in ("weights", "optimiser and random state", "losses", "final score"):
        assert f"{what} differ" in found
    for what in ("a gap or a repeat", "ends more than once", "a broken line", "left behind"):
        assert what in found
