"""The harness of interruptions, for a moment: `python -m benchmarks.resume` tries a hundred."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.slow
@pytest.mark.thorough
def test_interrupted_runs_are_to_the_last_bit_those_in_one_go():
    command = [sys.executable, "-m", "benchmarks.resume", "--rounds", "6", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.stdout, done.stderr
    found = json.loads(done.stdout)
    assert found["failures"] == []
    assert done.returncode == 0
    assert found["interruptions"] == 6
    assert list(found["kinds"].values()) == [1] * 6, "one of each kind"
