"""Fine-tuning in two processes: the same steps as in one."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from bertviz_lab.training.checkpoints.atomic_io import write_json
from bertviz_lab.training.checkpoints.checkpoint_manager import latest_checkpoint
from tests.training.finetuning.embeddings.support import config_for
from tests.training.finetuning.support import TASKS, finish
from tests.training.support import identical, weights

_RUN = """
import itertools, json, sys
from pathlib import Path
from bertviz_lab.config import run_config
from bertviz_lab.training.finetuning.finetune import finetune
for folder, (body, steps) in json.loads(Path(sys.argv[1]).read_text()).items():
    asked = itertools.count()
    for event in finetune(run_config(body), Path(folder), should_stop=lambda: next(asked) >= steps):
        pass
"""


@pytest.mark.slow
@pytest.mark.thorough
def test_two_processes_train_the_model_that_one_trains(files, tmp_path):
    # Five rows a step and one in the last of an epoch: the second process then has none.
    balanced = {"classification": "balanced", "tokens": "balanced"}
    options = {"batch_size": 5, "dropout": 0.0, "seeds": 2, "learning_rate": 5e-4}
    configs = {task: files.config(task, class_weights=balanced.get(task, "none"), **options) for task in TASKS}
    configs["embeddings"] = config_for(files, tmp_path, "scores", dropout=0.0)
    frozen = replace(configs["classification"], freeze_layers=1)
    jobs = {task: (config, 10_000) for task, config in configs.items()}
    # The main process scores the test set alone, while the other waits for the scores.
    tested = replace(configs["classification"], test=(files.held("classification"),))
    jobs |= {"tested": (tested, 10_000), "frozen": (frozen, 10_000), "middle": (configs["qa"], 5)}
    written = {str(tmp_path / name): (config.to_dict(), steps) for name, (config, steps) in jobs.items()}
    write_json(tmp_path / "jobs.json", written)
    script = tmp_path / "run.py"
    script.write_text(_RUN)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    root = str(Path(__file__).resolve().parents[3])
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": root}
    command += [str(script), str(tmp_path / "jobs.json")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=240)
    assert done.returncode == 0, done.stderr[-3000:]

    def same(one: Path, two: Path, tolerance: float = 5e-5) -> bool:
        a, b = (weights(latest_checkpoint(folder)) for folder in (one, two))
        return all(torch.allclose(a[name], b[name], atol=tolerance) for name in a)

    for name in (*configs, "frozen"):
        finish(jobs[name][0], tmp_path / "alone" / name)
        assert same(tmp_path / "alone" / name, tmp_path / name), name
        reports = [json.loads((folder / name / "report.json").read_text()) for folder in (tmp_path, tmp_path / "alone")]
        for ours, theirs in zip(*(body["trials"] for body in reports), strict=True):
            assert (ours["step"], ours["tokens"]) == (theirs["step"], theirs["tokens"])
            assert ours["scores"] == pytest.approx(theirs["scores"], abs=1e-3)
    report = json.loads((tmp_path / "tested" / "report.json").read_text())
    assert report["test"]["scores"]["accuracy"] == pytest.approx(report["scores"]["accuracy"])
    before, after = weights(Path(files.model)), weights(latest_checkpoint(tmp_path / "frozen"))
    still = {name for name in before if name.startswith(("bert.embeddings.", "bert.encoder.layer.0."))}
    assert identical({name: before[name] for name in still}, {name: after[name] for name in still})
    assert finish(configs["qa"], tmp_path / "middle", resume=True)[-1].reason == "finished", "by one process"
    assert same(tmp_path / "alone" / "qa", tmp_path / "middle", 1e-4)
