"""A two-layer student of wiki-mini after equal time with and without its teacher: held-out MLM, and SST-2.

All train at the same time, a thread each, so that a busy machine slows them alike, on Wikipedia with wiki-mini's
vocabulary and the same seed. `teacher` has the recipe `distil`: it begins with two of the teacher's layers and follows
its predictions. `no teacher` differs in nothing else: from random weights, MLM from the first step. `lab` is what one
would do without a teacher: the same student by the recipe `lab`. Afterwards each is scored
on held-out articles and fine-tuned on SST-2: a tenth of the phrases chooses among a training's models, the dev set is
scored once.
"""

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.machine import arguments, markdown, mean_and_deviation, report, run_at_once
from benchmarks.task_datasets import folder as data_folder
from bertviz_lab.config import SHIPPED
from bertviz_lab.training.checkpoints.checkpoint import load_checkpoint, parameter_count
from bertviz_lab.training.pretraining.evaluate import evaluate_text
from bertviz_lab.training.runs.run_folder import read_log

TEACHER = "wiki-mini"
#: What each is trained with besides what all share.
ARMS: dict[str, tuple[str, ...]] = {
    "teacher": ("--recipe", "distil", "--teacher", TEACHER),
    "no teacher": (
        *"--objective mlm --causal-share 0 --shallow-share 0 --mask-probability 0.15".split(),
        *("--no-unigram-bias", "--no-word-vectors", "--tokenizer"),
        str(SHIPPED / TEACHER),
    ),
    "lab": ("--objective", "mlm", "--tokenizer", str(SHIPPED / TEACHER)),
}
_DRAWS = (0,)  # seeds of the masks


def train(work: Path, budget: str, seed: int) -> None:
    """Train every arm into a folder of its own under `work`, all at once."""
    shared = [sys.executable, "-m", "bertviz_lab", "pretrain", "--corpus", str(data_folder() / "wiki_en" / "train.txt")]
    shared += ["--preset", "mini", "--layers", "2", "--time-budget", budget, "--batch-size", "32", "--no-probes"]
    shared += ["--threads", "1", "--seed", str(seed), "--snapshot-room", "0", "--eval-every", "60"]
    # The text is read and tokenized once, before any clock runs.
    subprocess.run([*shared, *ARMS["lab"], "--steps", "1", "--out", str(work / "prepared")], check=True)
    run_at_once([*shared, *options, "--out", str(work / name)] for name, options in ARMS.items())


def score(run: Path, seeds: int, examples: int) -> dict[str, Any]:
    """Held-out MLM of a student, and SST-2 after fine-tuning it."""
    student = load_checkpoint(run / "model")
    rows, _ = read_log(run)
    last = [row for row in rows if row["event"] == "StepDone"][-1]
    draws = [
        evaluate_text(student, [str(data_folder() / "wiki_en" / "valid.txt")], "mlm", seed=seed) for seed in _DRAWS
    ]
    command = [sys.executable, "-m", "bertviz_lab", "finetune", "--model", str(run / "model"), "--threads", "1"]
    command += ["--train", str(data_folder() / "sst2_glue" / "train.tsv"), "--max-train-examples", str(examples)]
    command += ["--test", str(data_folder() / "sst2_glue" / "dev.tsv"), "--epochs", "2", "--snapshot-room", "0"]
    accuracies = []
    for seed in range(seeds):
        tuned = run / f"sst2-{seed}"
        subprocess.run([*command, "--seed", str(seed), "--out", str(tuned)], check=True)
        report_of_run = json.loads((tuned / "report.json").read_text(encoding="utf-8"))
        accuracies.append(report_of_run["test"]["scores"]["accuracy"])
    return {
        "steps": last["step"],
        "tokens": last["tokens"],
        "parameters": parameter_count(student.model),
        "mlm_loss": [draw["mlm_loss"] for draw in draws],
        "mlm_accuracy": [draw["mlm_accuracy"] for draw in draws],
        "sst2_accuracy": accuracies,
    }


def table(result: dict[str, Any]) -> str:
    students = result["students"]
    parameters = next(iter(students.values()))["parameters"] / 1e6
    rows = (
        [
            name,
            f"{found['steps']:,}",
            f"{found['tokens'] / 1e6:.1f}M",
            f"{statistics.fmean(found['mlm_loss']):.3f}",
            f"{statistics.fmean(found['mlm_accuracy']):.1%}",
            mean_and_deviation(found["sst2_accuracy"]),
        ]
        for name, found in students.items()
    )
    seeds = len(next(iter(students.values()))["sst2_accuracy"])
    about = (
        f"Two layers of 256, {parameters:.1f} million parameters, trained for {result['budget']} on one thread each, "
        f"all at the same time. SST-2: {result['examples']:,} phrases, two epochs, "
        f"{seeds} seed{'s' if seeds > 1 else ''}."
    )
    header = ["student", "steps", "tokens", "MLM loss", "MLM accuracy", "SST-2 dev accuracy"]
    return f"{about}\n\n{markdown(header, rows)}"


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--budget", default="10m", help="how long each student is trained")
    parser.add_argument("--seed", type=int, default=0, help="of the pretraining")
    parser.add_argument("--tunings", type=int, default=3, help="seeds of the fine-tuning")
    parser.add_argument("--examples", type=int, default=20_000, help="phrases of SST-2 that are trained on")
    parser.add_argument("--work", type=Path, help="folder for the runs; a temporary one by default")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = options.work or Path(temporary)
        train(work, options.budget, options.seed)
        students = {name: score(work / name, options.tunings, options.examples) for name in ARMS}
    body = {"budget": options.budget, "seed": options.seed, "examples": options.examples, "students": students}
    report("distillation", body, table)


if __name__ == "__main__":
    main()
