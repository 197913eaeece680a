"""Scores of a shipped model after fine-tuning, beside random weights and the majority baseline.

Three seeds each; the score is that of the best of a training's models, one scored twice an epoch on the same examples
that the table is about, as the page does it: no further split is made, so it flatters both sides alike. Both learn at
the same rate, the lab's for the size of the model. Each task can be measured on its own and is added to the others:
`python -m benchmarks.task_scores --only trec mrpc --keep`.
"""

import json
import statistics
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.machine import RESULTS, arguments, markdown, report
from benchmarks.task_datasets import TASKS, files, folder
from bertviz_lab.config import FinetuneConfig
from bertviz_lab.training.finetuning.finetune import finetune

SEEDS = 3


def measure(name: str, model: str, threads: int) -> dict[str, Any]:
    """Scores of all seeds, from the model and from random weights, and of the majority baseline."""
    found: dict[str, Any] = {"title": TASKS[name].title, "model": model, "settings": TASKS[name].settings}
    for side, options in (("pretrained", {"model": model}), ("random", {"model": "random", "like": model})):
        with tempfile.TemporaryDirectory() as work:
            run = Path(work) / "run"
            config = FinetuneConfig(
                **files(name, Path(work)),
                **options,
                **TASKS[name].settings,
                seeds=SEEDS,
                threads=threads,
                snapshot_room=0,
            )
            for _ in finetune(config, run):
                pass
            body = json.loads((run / "report.json").read_text(encoding="utf-8"))
        found["examples"] = body["examples"]
        found["guess"] = {metric: body["guess"].get(metric) for metric in TASKS[name].metrics}
        scores = {metric: [trial["scores"][metric] for trial in body["trials"]] for metric in TASKS[name].metrics}
        found[side] = scores
        print(name, side, scores, file=sys.stderr, flush=True)
    return found


def table(result: dict[str, Any]) -> str:
    return markdown(
        ["task", "examples", "score", "pretrained", "random weights", "majority baseline"],
        _rows(result["tasks"]),
    )


def _rows(tasks: dict[str, Any]) -> Iterable[list[str]]:
    for name, found in tasks.items():
        for place, metric in enumerate(TASKS[name].metrics):
            first = place == 0
            guess = found["guess"].get(metric)
            yield [
                found["title"] if first else "",
                f"{found['examples']['train']:,} / {found['examples']['held_out']:,}" if first else "",
                metric.replace("_", " "),
                _mean(found["pretrained"][metric]),
                _mean(found["random"][metric]),
                "" if guess is None else f"{100 * guess:.1f}",
            ]


def _mean(values: list[float]) -> str:
    """Mean and standard deviation in hundredths."""
    return f"{100 * statistics.fmean(values):.1f} ± {100 * statistics.stdev(values):.1f}"


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--only", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--model", default="wiki-tiny")
    parser.add_argument("--threads", type=int, default=0)
    options = parser.parse_args()
    if not (folder() / "sst2_glue").is_dir():
        sys.exit(f"{folder()} has no labelled data: name its folder in BERTVIZ_LAB_DATA")
    kept = RESULTS / "task_scores.json"
    for name in options.only:
        found = measure(name, options.model, options.threads)
        tasks = json.loads(kept.read_text(encoding="utf-8"))["tasks"] if kept.is_file() else {}
        tasks[name] = found
        report("task_scores", {"tasks": {name: tasks[name] for name in TASKS if name in tasks}}, table)


if __name__ == "__main__":
    main()
