"""A shipped model on GLUE, beside the published scores of a BERT of its shape: `evaluate --suite glue`.

BERT-Mini and BERT-Small (Turc et al. 2019, from the table of their release) have the layers and the hidden size of
wiki-mini and wiki-small, were trained on 3.3 billion words and are scored on GLUE's test sets, whose labels are not
public; here are the dev sets, and of MRPC the test set as Microsoft published it. Their hyperparameters are the best of
a search; here the learning rate is that of three which is best on a held-out tenth of the training examples, or the
default. Called again with the same `--out`, it goes on where it stopped; tasks are added to those that are kept of the
same model.
"""

import sys
from pathlib import Path
from typing import Any

from benchmarks.machine import arguments, kept_tasks, machine, markdown, report
from benchmarks.task_datasets import folder
from bertviz_lab.cli.evaluation import suite_rows
from bertviz_lab.training.finetuning.glue import glue_results, plan_glue, run_glue
from bertviz_lab.training.runs.events import format_event

BERT_MINI = {
    "cola": {"mcc": 0.0},
    "sst2": {"accuracy": 85.9},
    "mrpc": {"f1": 81.1, "accuracy": 71.8},
    "stsb": {"spearman": 73.3, "pearson": 75.4},
    "rte": {"accuracy": 57.9},
}
BERT_SMALL = {
    "cola": {"mcc": 27.8},
    "sst2": {"accuracy": 89.7},
    "mrpc": {"f1": 83.4, "accuracy": 76.2},
    "stsb": {"spearman": 77.0, "pearson": 78.8},
    "rte": {"accuracy": 61.8},
}
#: The goals of both models.
GOALS = {
    "cola": {"mcc": 15},
    "sst2": {"accuracy": 86},
    "mrpc": {"f1": 82},
    "stsb": {"spearman": 78},
    "rte": {"accuracy": 60},
}
#: model -> the published model of its shape, that one's scores, and the goals.
_BESIDE = {"wiki-mini": ("BERT-Mini", BERT_MINI, GOALS), "wiki-small": ("BERT-Small", BERT_SMALL, GOALS)}
_FIRST = "wiki-mini"  # of the results; those of others lie in files of their own


def table(result: dict[str, Any]) -> str:
    """Each score with how its model was fine-tuned: the lab's settings, or the best of three learning rates."""
    published, *figures = _BESIDE.get(result["model"], _BESIDE[_FIRST])
    heading = ["task", "split", "examples", "score", "epochs", "learning rate", "seeds", result["model"]]
    heading += ["majority baseline", f"{published}, GLUE's test set", "goal", "commit"]
    rows = []
    for task, split, examples, score, value, majority in suite_rows(result):
        row = result["tasks"][task][split]
        rate = {"none": "default", "rates": "best of 3"}[row["grid"]]
        fine_tuned = [row["epochs"], rate, ", ".join(map(str, row["seeds"]))]
        others = [of.get(task, {}).get(score, "") for of in figures]
        rows.append([task, split, examples, score, *fine_tuned, value, majority, *others, row["commit"]])
    return markdown(heading, rows)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--model", default="wiki-mini")
    parser.add_argument("--out", type=Path, help="folder of the runs; runs/glue-MODEL")
    parser.add_argument("--only", nargs="+", choices=list(BERT_MINI), default=list(BERT_MINI), help="these tasks")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument(
        "--grid", choices=("none", "rates"), default="none", help="rates: the best of 3 on held-out text"
    )
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    commit, out = machine()["commit"], given.out or Path("runs") / f"glue-{given.model}"
    planned, _ = plan_glue(
        given.model, folder(), out, range(given.seeds), {"threads": given.threads, "grid": given.grid}
    )
    runs = [run for run in planned if run.files.task.name in given.only]
    for run, event in run_glue(runs, out):
        for line in format_event(event).splitlines():
            print(f"{run.name}: {line}", file=sys.stderr)
    part = "" if given.model == _FIRST else given.model
    tasks = kept_tasks("glue", given.model, part)
    epochs = {run.files.task.name: run.config.epochs for run in runs}
    for task, splits in glue_results(runs)["tasks"].items():
        how = {"epochs": epochs[task], "grid": given.grid, "commit": commit}
        tasks[task] = {split: row | how for split, row in splits.items()}
    ordered = {name: tasks[name] for name in BERT_MINI if name in tasks}
    report("glue", {"model": given.model, "tasks": ordered}, table, part)


if __name__ == "__main__":
    main()
