"""Scores of a shipped model after fine-tuning, beside random weights and the majority baseline.

Three seeds each. A tenth of the training examples is the validation set that chooses among a training's models, which
are scored twice an epoch; the published set is the test set and scored once, by the chosen model. Both sides learn at
the same rate, the lab's for the size of the model. Each task can be measured on its own and is added to those that are
kept of the same model: `python -m benchmarks.task_scores --only trec mrpc --keep`.
"""

import json
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.machine import arguments, kept_tasks, machine, markdown, mean_and_deviation, report
from benchmarks.task_datasets import TASKS, files, folder
from bertviz_lab.config import FinetuneConfig
from bertviz_lab.training.finetuning.finetune import finetune
from bertviz_lab.training.finetuning.task_data import read_task_splits
from bertviz_lab.training.finetuning.tasks import task_for

SEEDS = 3


def measure(name: str, model: str, threads: int) -> dict[str, Any]:
    """Scores of all seeds, from the model and from random weights, and of the majority baseline."""
    scored: dict[str, Any] = {"title": TASKS[name].title, "settings": TASKS[name].settings}
    scored["commit"] = machine()["commit"]
    for side, options in (("pretrained", {"model": model}), ("random", {"model": "random", "like": model})):
        scores: dict[str, list[float]] = {metric: [] for metric in TASKS[name].metrics}
        for seed in range(SEEDS):
            with tempfile.TemporaryDirectory() as work:
                run = Path(work) / "run"
                config = FinetuneConfig(
                    **files(name, Path(work)),
                    **options,
                    **TASKS[name].settings,
                    seed=seed,
                    threads=threads,
                    snapshot_room=0,
                )
                for _ in finetune(config, run):
                    pass
                body = json.loads((run / "report.json").read_text(encoding="utf-8"))
                data = read_task_splits(run)
                guess = task_for(data.task, data.labels).baselines(data.train, data.test)
            for metric, values in scores.items():
                values.append(body["test"]["scores"][metric])
        scored["examples"] = body["examples"]
        scored["guess"] = {metric: guess.get(metric) for metric in TASKS[name].metrics}
        scored[side] = scores
        print(name, side, scores, file=sys.stderr, flush=True)
    return scored


def table(result: dict[str, Any]) -> str:
    rows = markdown(
        ["task", "examples", "score", "pretrained", "random weights", "majority baseline", "commit"],
        _rows(result["tasks"]),
    )
    about = (
        f"The model is {result['model']}; random weights are of its shape, with its vocabulary. Mean and standard "
        f"deviation over {SEEDS} seeds, in hundredths."
    )
    return f"{about}\n\n{rows}"


def _rows(tasks: dict[str, Any]) -> Iterable[list[str]]:
    for name, scored in tasks.items():
        for place, metric in enumerate(TASKS[name].metrics):
            first = place == 0
            guess = scored["guess"].get(metric)
            yield [
                scored["title"] if first else "",
                _counts(scored) if first else "",
                metric.replace("_", " "),
                mean_and_deviation(scored["pretrained"][metric]),
                mean_and_deviation(scored["random"][metric]),
                "" if guess is None else f"{100 * guess:.1f}",
                scored["commit"] if first else "",
            ]


def _counts(scored: dict[str, Any]) -> str:
    """Examples that are trained on, and those that are scored."""
    examples = scored["examples"]
    return f"{examples['train']:,} / {examples['test']:,}"


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--only", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--model", default="wiki-mini")
    parser.add_argument("--threads", type=int, default=0)
    options = parser.parse_args()
    if not (folder() / "sst2_glue").is_dir():
        sys.exit(f"{folder()} has no labelled data: name its folder in BERTVIZ_LAB_DATA")
    tasks = kept_tasks("task_scores", options.model)
    for name in options.only:
        tasks[name] = measure(name, options.model, options.threads)
        in_order = {name: tasks[name] for name in TASKS if name in tasks}
        report("task_scores", {"model": options.model, "tasks": in_order}, table)


if __name__ == "__main__":
    main()
