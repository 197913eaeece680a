"""A shipped model on GLUE, beside the published scores of a BERT of its shape: `evaluate --suite glue`.

BERT-Mini (Turc et al. 2019, from the table of its release) has the layers and the hidden size of wiki-mini, was trained
on 3.3 billion words and is scored on GLUE's test sets, whose labels are not public; here are the dev sets, and of MRPC
the test set as Microsoft published it. Called again with the same `--out`, it goes on where it stopped.
"""

import sys
from pathlib import Path
from typing import Any

from benchmarks.machine import arguments, markdown, report
from benchmarks.model_cards import plural
from benchmarks.task_datasets import folder
from bertviz_lab.task_commands import suite_rows
from bertviz_lab.training.finetuning.glue import glue_results, plan_glue, run_glue
from bertviz_lab.training.runs.console import format_event

BERT_MINI = {
    "cola": {"mcc": 0.0},
    "sst2": {"accuracy": 85.9},
    "mrpc": {"f1": 81.1, "accuracy": 71.8},
    "stsb": {"spearman": 73.3, "pearson": 75.4},
    "rte": {"accuracy": 57.9},
}
#: What wiki-mini means to reach.
GOALS = {
    "cola": {"mcc": 15},
    "sst2": {"accuracy": 86},
    "mrpc": {"f1": 81},
    "stsb": {"spearman": 75},
    "rte": {"accuracy": 58},
}


def table(result: dict[str, Any]) -> str:
    seeds = sorted({seed for splits in result["tasks"].values() for row in splits.values() for seed in row["seeds"]})
    chosen = "of three learning rates the best on a held-out tenth of train, " if result["grid"] == "rates" else ""
    seeds_ = f"{plural(len(seeds), 'seed')}: {', '.join(map(str, seeds))}"
    about = f"Fine-tuned with the default settings, {chosen}{seeds_}."
    heading = ["task", "split", "examples", "score", result["model"], "majority baseline"]
    heading += ["BERT-Mini, GLUE's test set", "goal"]
    rows = [[*row, *(of.get(row[0], {}).get(row[3], "") for of in (BERT_MINI, GOALS))] for row in suite_rows(result)]
    return f"{about}\n\n{markdown(heading, rows)}"


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--model", default="wiki-mini")
    parser.add_argument("--out", type=Path, help="folder of the runs; runs/glue-MODEL")
    parser.add_argument("--only", nargs="+", choices=list(BERT_MINI), default=list(BERT_MINI), help="these tasks")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--grid", default="none", help="as of a fine-tuning: rates chooses among three learning rates")
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    out = given.out or Path("runs") / f"glue-{given.model}"
    planned, _ = plan_glue(
        given.model, folder(), out, range(given.seeds), {"threads": given.threads, "grid": given.grid}
    )
    runs = [run for run in planned if run.files.task.name in given.only]
    for run, event in run_glue(runs, out):
        for line in format_event(event).splitlines():
            print(f"{run.name}: {line}", file=sys.stderr)
    report("glue", {"model": given.model, "grid": given.grid, **glue_results(runs)}, table)


if __name__ == "__main__":
    main()
