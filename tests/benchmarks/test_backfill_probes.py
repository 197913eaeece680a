"""What a model could do, asked of its snapshots: what the run itself tells, at the same places."""

from dataclasses import replace

import pytest

from benchmarks.backfill_probes import backfill_probes
from bertviz_lab.data.probes import probes_for
from bertviz_lab.training.runs.run_folder import read_log, record
from bertviz_lab.training.runs.snapshot_reader import open_snapshots
from tests.training.support import finish, short_run


def town_run():
    """A short run on Tiny Town, which has words enough to be asked about."""
    return replace(short_run("x"), corpus=("sample:tiny-town",), vocab_size=2000, documents="auto")


@pytest.mark.thorough
def test_a_log_that_does_not_tell_is_completed_from_the_snapshots(tmp_path, monkeypatch):
    monkeypatch.setattr("bertviz_lab.training.loop.clock._PROBE_HEAD_START", 1e6)  # at every snapshot, however slow
    (tmp_path / "run").mkdir()
    list(record(finish(town_run(), tmp_path / "run"), tmp_path / "run"))
    told, _ = read_log(tmp_path / "run")
    silent = [row for row in told if row["event"] != "ProbesDone"]
    past = open_snapshots(tmp_path / "run")
    probes = probes_for(["sample:tiny-town"], past.tokenizer)
    assert probes is not None
    found = backfill_probes(silent, past, probes)
    assert [(row["event"], row.get("step")) for row in found] == [(row["event"], row.get("step")) for row in told]
    for ours, its in zip(found, told, strict=True):
        if its["event"] == "ProbesDone":
            assert ours["right"].keys() == its["right"].keys()
            assert all(abs(ours["right"][kind] - its["right"][kind]) <= 0.26 for kind in its["right"])
    assert backfill_probes(told, past, probes) == told, "what is told already is not asked again"
