"""A hundred interruptions of real runs: each must end bit-for-bit identical to the uninterrupted run.

Every sitting is a process that does what `python -m bertviz_lab pretrain ... --resume` does, forked from this one so
that it need not import everything again. It is killed at a random moment, killed while it writes a checkpoint, sent
SIGTERM or SIGINT, given a disk that is full, or killed and its newest checkpoint damaged; then the next sitting goes
on, until the run is finished. Its weights, optimiser state and log are then compared with those of a run in one go.
Reports are made at every step, not by the clock as usual, so that every step's loss is compared.
"""

import os

# One thread for everything: what forks must have no others. These are read at the first import.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}

import json
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from safetensors.numpy import load_file

from benchmarks.interrupted_runs import STEPS, STUCK, Sitting, sit_down, write_text
from benchmarks.machine import arguments, markdown, report
from bertviz_lab.errors import InputError
from bertviz_lab.training.checkpoints.checkpoint_manager import CheckpointManager
from bertviz_lab.training.runs.run_folder import read_log

OPTIMIZERS = ("adamw", "muon")
_MOST_IN_A_RUN = 8  # interruptions after which a run is left alone
# Interruptions: each returns whether it came while the run was at work, and what went wrong


@dataclass
class Trial:
    """A run that is interrupted again and again."""

    folder: Path
    text: Path
    optimizer: str
    cache: str  # of prepared texts
    seconds: float  # of a run in one go
    rng: random.Random
    failures: list[str] = field(default_factory=list)

    @property
    def checkpoints(self) -> Path:
        return self.folder / "checkpoints"

    def sit(self, **options: Any) -> Sitting:
        return sit_down(self.folder, self.text, self.optimizer, cache=self.cache, **options)

    def require(self, right: bool, problem: str) -> None:
        if not right:
            output = self.folder.with_suffix(".out").read_text(errors="replace")
            self.failures.append(f"{self.folder.name} ({self.optimizer}): {problem}\n{output[-1500:]}")

    def at_a_random_moment(self, number: int) -> bool:
        sitting = self.sit()
        code = sitting.wait(self.rng.uniform(0.0, 0.4 * self.seconds))
        if code is None:
            code = sitting.end(number)
            # Before the command has begun to listen, these end it as they end any program.
            self.require(code in (0, 130, -number), f"ended with {code} after signal {number}")
            return True
        self.require(code == 0, f"ended with {code} by itself")
        return False

    def kill(self) -> bool:
        return self.at_a_random_moment(signal.SIGKILL)

    def sigterm(self) -> bool:
        return self.at_a_random_moment(signal.SIGTERM)

    def sigint(self) -> bool:
        return self.at_a_random_moment(signal.SIGINT)

    def kill_while_saving(self) -> bool:
        """Counted only where a half-written checkpoint was left behind."""
        self.whole()  # sweeps what an earlier kill has left
        sitting = self.sit()
        started = time.monotonic() + self.rng.uniform(0.0, 0.4 * self.seconds)
        code = sitting.wait(STUCK, lambda: time.monotonic() > started and self.half_written())
        if code is None:
            code = sitting.wait(self.rng.uniform(0.0, 0.02))
        if code is None:
            sitting.end(signal.SIGKILL)
            return self.half_written()
        self.require(code == 0, f"ended with {code} by itself")
        return False

    def full_disk(self) -> bool:
        """No file may be larger than so much: too little for a checkpoint, or for a few more lines of the log."""
        before = self.whole()
        log = self.folder / "events.jsonl"
        written = log.stat().st_size if log.is_file() else 0
        limit = self.rng.choice([20_000 + written, written + self.rng.randrange(6000, 16_000)])
        sitting = self.sit(largest_file=limit)
        code = sitting.wait(STUCK)
        told = sitting.output.read_text(errors="replace")
        self.require(code == 2, f"ended with {code} where the disk was full")
        self.require("could not be written: File too large" in told, "did not say that the disk is full")
        self.require("Traceback" not in told, "more than a sentence about the full disk")
        after = self.whole()
        self.require(before is None or (after is not None and after >= before), f"lost the checkpoint of {before}")
        return True

    def damage(self) -> bool:
        """Kill it, then spoil a byte or cut the end of one of the newest checkpoint's files, or remove it."""
        if (
            not self.kill()
            or self.finished()
            or self.whole() is None
            or len(names := sorted(self.checkpoints.glob("step-*"))) < 2
        ):
            return False
        path = self.rng.choice(sorted(path for path in names[-1].rglob("*") if path.is_file()))
        content = bytearray(path.read_bytes())
        how = self.rng.choice(["flip", "flip", "cut", "remove"])
        if how == "flip":
            content[self.rng.randrange(len(content))] ^= 1 << self.rng.randrange(8)
        path.write_bytes(content[: self.rng.randrange(len(content))] if how == "cut" else content)
        if how == "remove":
            path.unlink()
        saved = CheckpointManager(self.checkpoints).newest()
        passed = saved is not None and saved.path == names[-2] and len(saved.damaged) == 1
        self.require(passed, f"did not pass over {names[-1].name} after {how} of {path.name}")
        return True

    def whole(self) -> int | None:
        """The step of the newest checkpoint that verifies."""
        try:
            saved = CheckpointManager(self.checkpoints).newest()
        except InputError as error:
            self.require(False, str(error))
            return None
        return saved.step if saved else None

    def half_written(self) -> bool:
        return any(self.checkpoints.glob(".step-*"))

    def finished(self) -> bool:
        rows = read_log(self.folder)[0]
        return bool(rows) and rows[-1].get("reason") == "finished"


KINDS: dict[str, Callable[[Trial], bool]] = {
    "kill -9 at a random moment": Trial.kill,
    "kill -9 while a checkpoint is written": Trial.kill_while_saving,
    "SIGTERM": Trial.sigterm,
    "SIGINT (Ctrl-C)": Trial.sigint,
    "full disk": Trial.full_disk,
    "kill -9, then the newest checkpoint damaged": Trial.damage,
}


# What must be equal


def outcome(folder: Path) -> dict[str, Any]:
    """All that a run leaves which must not depend on interruptions."""
    newest = CheckpointManager(folder / "checkpoints").newest()
    assert newest is not None
    tensors = {"model": folder / "model" / "model.safetensors", "optimizer": newest.path / "optimizer.safetensors"}
    trainer = json.loads((newest.path / "trainer.json").read_bytes())
    del trainer["progress"]["seconds"]
    rows = read_log(folder)[0]
    timed = ("seconds", "tokens_per_second", "eta_seconds")
    steps = [{k: v for k, v in row.items() if k not in timed} for row in rows if row["event"] == "StepDone"]
    scores = [{k: v for k, v in row.items() if k not in timed} for row in rows if row["event"] == "EvalDone"]
    return {
        "weights": {key: value.tobytes() for key, value in load_file(tensors["model"]).items()},
        "optimiser and random state": {key: value.tobytes() for key, value in load_file(tensors["optimizer"]).items()},
        "position": trainer,
        "losses": steps,
        "final score": scores[-1:],
    }


def problems(folder: Path, reference: dict[str, Any]) -> list[str]:
    """What a finished run has that the one in one go has not."""
    hidden = [path.name for path in (*folder.glob(".*"), *(folder / "checkpoints").glob(".*"))]
    left = [name for name in hidden if name != ".lock"]  # a lock's file stays, released
    found = [f"left behind: {left}"] if left else []
    found += [f"{name} differ" for name, value in outcome(folder).items() if value != reference[name]]
    rows = read_log(folder)[0]
    if [row["step"] for row in rows if row["event"] == "StepDone"] != list(range(1, STEPS + 1)):
        found.append("the log has a gap or a repeat")
    for kind in ("EvalDone", "CheckpointSaved", "RunStarted"):
        steps = [row["step"] for row in rows if row["event"] == kind]
        if steps != sorted(set(steps)):
            found.append(f"the log repeats a {kind}: {steps}")
    if [row["event"] for row in rows].index("RunFinished") != len(rows) - 1:
        found.append("the log ends more than once")
    lines = (folder / "events.jsonl").read_bytes().splitlines()
    if len(lines) != len(rows):
        found.append("the log has a broken line")
    return found


def measure(rounds: int, seed: int) -> dict[str, Any]:
    """Interrupt runs `rounds` times in all."""
    rng = random.Random(seed)
    began = time.perf_counter()
    tried: Counter[str] = Counter()
    failures: list[str] = []
    runs = 0
    with tempfile.TemporaryDirectory() as name:
        text = write_text(Path(name) / "text.txt")
        references, seconds = {}, 0.0
        for optimizer in OPTIMIZERS:
            folder = Path(name) / f"in-one-go-{optimizer}"
            start = time.monotonic()
            sitting = sit_down(folder, text, optimizer)
            if sitting.wait(STUCK) != 0:
                raise SystemExit(f"A run in one go fails:\n{sitting.output.read_text()}")
            seconds = time.monotonic() - start
            references[optimizer] = outcome(folder)
        while tried.total() < rounds:
            optimizer = OPTIMIZERS[runs % len(OPTIMIZERS)]
            cache = rng.choice(["none", str(Path(name) / "cache")])
            trial = Trial(Path(name) / f"run-{runs}", text, optimizer, cache, seconds, rng)
            interruptions = 0
            while not trial.finished() and interruptions < _MOST_IN_A_RUN and tried.total() < rounds:
                # The kind that was tried least, so that all have their share.
                kind = min(rng.sample(list(KINDS), len(KINDS)), key=lambda kind: tried[kind])
                hit = KINDS[kind](trial)
                tried[kind] += hit
                interruptions += hit
            if not trial.finished():
                code = trial.sit().wait(STUCK)
                trial.require(code == 0, f"the last sitting ended with {code}")
            if trial.finished():
                for problem in problems(trial.folder, references[optimizer]):
                    trial.require(False, problem)
            failures += trial.failures
            runs += 1
            shutil.rmtree(trial.folder, ignore_errors=True)
    return {
        "interruptions": tried.total(),
        "kinds": {kind: tried[kind] for kind in KINDS},
        "runs": runs,
        "steps_of_a_run": STEPS,
        "failures": failures,
        "seconds": round(time.perf_counter() - began, 1),
    }


def table(body: dict[str, Any]) -> str:
    rows = [(kind, times) for kind, times in body["kinds"].items()]
    verdict = "all equal to the runs in one go, to the last bit"
    if body["failures"]:
        verdict = f"{len(body['failures'])} failures:\n" + "\n".join(body["failures"])
    total = f"{body['interruptions']} interruptions of {body['runs']} runs in {body['seconds']} s: {verdict}"
    return f"{markdown(('interruption', 'times'), rows)}\n\n{total}"


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=100, help="interruptions in all")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    result = measure(options.rounds, options.seed)
    report("resume", result, table)
    sys.exit(1 if result["failures"] else 0)
