"""Wrong labels found by the label check, and what correcting the first of them is worth.

A tenth of the training labels is flipped to another class, of the validation set too, and a shipped model is fine-tuned
on them. Precision is the share of flipped labels among the first N doubts, where N are flipped. cleanlab, where it is
installed, ranks the same probabilities, and those of the other folds alone. Then the first N doubts are corrected as
a person would who knows the true labels, and the model is trained again, next to a training on clean labels; the test
set is clean. Times are CPU times of one process. `--only trec --seeds 1 --keep` measures a part and adds it.
"""

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from benchmarks.machine import arguments, kept_tasks, machine, markdown, mean_and_deviation, report
from benchmarks.task_datasets import TASKS, files, folder
from bertviz_lab.config import FinetuneConfig
from bertviz_lab.data.examples import LabelledText
from bertviz_lab.data.formats.read import read_task
from bertviz_lab.data.tasks.corrections import Correction, write_corrections
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.training.finetuning.example_dynamics import DataMap
from bertviz_lab.training.finetuning.finetune import finetune
from bertviz_lab.training.finetuning.label_check import check_labels, geometric_mean, out_of_fold
from bertviz_lab.training.finetuning.task_data import read_task_splits

FLIPPED = 0.1
#: Settings other than the defaults, and the most training examples.
SETTINGS: dict[str, tuple[dict[str, Any], int]] = {
    "sst2": ({"epochs": 4}, 8000),
    "trec": ({"epochs": 3}, 8000),
    "ag_news": ({"epochs": 2, "max_length": 64}, 3000),
}


def measure(name: str, model: str, seed: int, threads: int, again: bool) -> dict[str, Any]:
    """Precision, times and accuracies with one seed; without `again` no model is trained but the first."""
    settings, most = SETTINGS[name]
    with tempfile.TemporaryDirectory() as work:
        given = files(name, Path(work))
        texts = cast(Sequence[LabelledText], read_task(given["train"]).examples)
        rng = np.random.default_rng(seed)
        texts = [texts[n] for n in sorted(rng.permutation(len(texts))[:most])]
        labels = sorted({str(text.label) for text in texts})
        noisy = [str(text.label) for text in texts]
        for place in rng.permutation(len(texts))[: round(FLIPPED * len(texts))]:
            noisy[place] = str(rng.choice([label for label in labels if label != noisy[place]]))
        options = {
            **settings,
            "test": given["test"],
            "model": model,
            "seed": seed,
            "threads": threads,
            "snapshot_room": 0,
        }

        def train(run: str, given: Sequence[str], corrections: str = "") -> tuple[Path, float, float]:
            path, out = Path(work, f"{run}.jsonl"), Path(work, run)
            rows = ({"text": text.text_a, "label": label} for text, label in zip(texts, given, strict=True))
            path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
            start = time.process_time()
            for _ in finetune(FinetuneConfig(train=(str(path),), corrections=corrections, **options), out):
                pass
            body = json.loads((out / "report.json").read_text(encoding="utf-8"))
            return out, time.process_time() - start, body["test"]["scores"]["accuracy"]

        run, seconds, accuracy = train("noisy", noisy)
        start = time.process_time()
        check = check_labels(run, Tokenizer.load(run / "model"))
        measured: dict[str, Any] = {"check_seconds": time.process_time() - start, "seconds": seconds, "noisy": accuracy}
        trained = cast(Sequence[LabelledText], read_task_splits(run).train)
        true = [str(texts[text.row - 1].label) for text in trained]
        wrong = np.array([text.label != label for text, label in zip(trained, true, strict=True)])
        count = int(wrong.sum())
        first = [doubt.place for doubt in check.doubts[:count]]
        measured |= {"flipped": count, "precision": wrong[first].sum() / count}
        measured |= _cleanlab(run, trained, wrong)
        if again:
            corrected = Path(work, "corrections.jsonl")
            write_corrections(corrected, (Correction(trained[place], true[place]) for place in first))
            measured["corrected"] = train("corrected", noisy, str(corrected))[2]
            measured["clean"] = train("clean", [str(text.label) for text in texts])[2]
        return measured


def _cleanlab(run: Path, texts: Sequence[LabelledText], wrong: np.ndarray) -> dict[str, float]:
    """Return the precision of cleanlab's ranking of the same probabilities, and of those of the other folds alone."""
    try:
        from cleanlab.rank import get_label_quality_scores
    except ImportError:
        return {}
    splits = read_task_splits(run)
    targets = np.array([splits.labels.index(str(text.label)) for text in texts])
    unseen = out_of_fold(texts, targets[:, None], len(splits.labels), Tokenizer.load(run / "model"))
    shares = {"cleanlab": (*unseen, DataMap.read(run).probabilities[:, None]), "cleanlab_unseen": unseen}
    return {
        name: float(
            wrong[np.argsort(get_label_quality_scores(targets, geometric_mean(*parts)[:, 0]))[: wrong.sum()]].mean()
        )
        for name, parts in shares.items()
    }


def table(result: dict[str, Any]) -> str:
    columns = ("precision", "cleanlab", "cleanlab_unseen", "noisy", "corrected", "clean")
    heads = ["precision", "cleanlab, same probabilities", "cleanlab, other folds", "noisy labels", "first N corrected"]
    head = ["task", "seeds", "flipped", *heads, "clean labels", "more CPU time"]
    about = f"The model is {result['model']}; precision among the first N, and test accuracies, in hundredths."
    return f"{about}\n\n{markdown(head, _rows(result['tasks'], columns))}"


def _rows(tasks: dict[str, Any], columns: Sequence[str]) -> Iterator[list[str]]:
    for name, seeds in tasks.items():
        runs = list(seeds.values())
        values = [[run[column] for run in runs if column in run] for column in columns]
        more = statistics.fmean(run["check_seconds"] / run["seconds"] for run in runs)
        flipped = f"{statistics.fmean(run['flipped'] for run in runs):,.0f}"
        yield [
            TASKS[name].title,
            str(len(runs)),
            flipped,
            *(mean_and_deviation(of) if of else "–" for of in values),
            f"{more:.0%}",
        ]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--only", nargs="+", choices=list(SETTINGS), default=list(SETTINGS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--model", default="wiki-mini")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--once", action="store_true", help="train on the noisy labels only")
    options = parser.parse_args()
    if not (folder() / "sst2_glue").is_dir():
        sys.exit(f"{folder()} has no labelled data: name its folder in BERTVIZ_LAB_DATA")
    for seed in options.seeds:
        for name in options.only:
            measured = measure(name, options.model, seed, options.threads, not options.once)
            tasks = kept_tasks("label_check", options.model)
            tasks.setdefault(name, {})[str(seed)] = {**measured, "commit": machine()["commit"]}
            report(
                "label_check", {"model": options.model, "tasks": {n: tasks[n] for n in SETTINGS if n in tasks}}, table
            )


if __name__ == "__main__":
    main()
