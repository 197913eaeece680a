"""Fine-tuning a shipped model with the dropout of its own pretraining, none, and with the 0.1 of the paper.

Default settings otherwise, three seeds. The scores are those on a tenth of the examples of each training set, which
also chose among the models of a training: optimistic on both sides alike. No published dev or test set is read.
"""

import json
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.machine import arguments, markdown, mean_and_deviation, report
from benchmarks.task_datasets import folder
from bertviz_lab.config import FinetuneConfig
from bertviz_lab.training.finetuning.finetune import finetune

SEEDS = 3
RATES = {"its own": None, "0.1": 0.1}
#: What is trained on -> its title, and its score.
TASKS = {
    "sample:sentiment": ("Sentiment, a sample of the lab", "accuracy"),
    "sample:topics": ("Topics, a sample", "accuracy"),
    "sample:paraphrases": ("Paraphrases, a sample", "accuracy"),
    "sample:entities": ("Entities, a sample", "f1"),
    "stsb/stsb-en-train.csv": ("STS-B", "spearman"),
    "mrpc/msr_paraphrase_train.txt": ("MRPC", "f1"),
    "rte/train.tsv": ("RTE", "accuracy"),
}


def measure(model: str, train: str, threads: int) -> dict[str, Any]:
    """The score of each seed by dropout, and how many examples there are."""
    _, metric = TASKS[train]
    told: dict[str, Any] = {"scores": {}}
    for name, rate in RATES.items():
        with tempfile.TemporaryDirectory() as work:
            data = train if train.startswith("sample:") else str(folder() / train)
            config = FinetuneConfig(
                train=(data,), model=model, dropout=rate, seeds=SEEDS, threads=threads, metric=metric, snapshot_room=0
            )
            for _ in finetune(config, Path(work) / "run"):
                pass
            body = json.loads((Path(work) / "run" / "report.json").read_text(encoding="utf-8"))
        told["scores"][name] = [trial["scores"][metric] for trial in body["trials"]]
        told["examples"] = body["examples"]
    print(model, train, told, file=sys.stderr, flush=True)
    return told


def table(result: dict[str, Any]) -> str:
    about = f"Mean and standard deviation over {SEEDS} seeds, in hundredths; examples to train on and held out."
    heading = ["task", "model", "examples", "score", *(f"dropout: {name}" for name in RATES)]
    return f"{about}\n\n{markdown(heading, _rows(result['models']))}"


def _rows(models: dict[str, Any]) -> Iterable[list[str]]:
    for train, (title, metric) in TASKS.items():
        for model, tasks in models.items():
            examples = tasks[train]["examples"]
            counts = f"{examples['train']:,} / {examples['held_out']:,}"
            yield [title, model, counts, metric, *map(mean_and_deviation, tasks[train]["scores"].values())]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--models", nargs="+", default=["wiki-mini", "wiki-tiny"])
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    models = {model: {train: measure(model, train, given.threads) for train in TASKS} for model in given.models}
    report("dropout", {"models": models}, table)


if __name__ == "__main__":
    main()
