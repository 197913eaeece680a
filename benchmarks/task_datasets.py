"""Published labelled data to measure fine-tuning on: in $BERTVIZ_LAB_DATA, or in shared/data beside the repository."""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: Articles of SQuAD's half that are held out; the first ones are trained on.
_HELD_ARTICLES = 3


@dataclass(frozen=True)
class Task:
    """A task: its files, and what is set other than the defaults."""

    title: str
    train: str
    eval: str
    metrics: tuple[str, ...]
    settings: dict[str, Any] = field(default_factory=dict)


TASKS = {
    "sst2": Task("SST-2, dev", "sst2_glue/train.tsv", "sst2_glue/dev.tsv", ("accuracy",), {"epochs": 3}),
    "trec": Task("TREC, test", "trec/TREC.train.all", "trec/TREC.test.all", ("accuracy", "macro_f1"), {"epochs": 10}),
    "ag_news": Task("AG News, held-out tenth", "ag_news/alps_dev.tsv", "", ("accuracy", "macro_f1"), {"epochs": 5}),
    "mrpc": Task(
        "MRPC, test",
        "mrpc/msr_paraphrase_train.txt",
        "mrpc/msr_paraphrase_test.txt",
        ("accuracy", "f1"),
        {"epochs": 5},
    ),
    "stsb": Task(
        "STS-B, dev", "stsb/stsb-en-train.csv", "stsb/stsb-en-dev.csv", ("spearman", "pearson"), {"epochs": 8}
    ),
    "wnut17": Task(
        "WNUT17, test", "wnut17/wnut17train.conll", "wnut17/emerging.test.annotated", ("f1", "accuracy"), {"epochs": 10}
    ),
    "ud_ewt": Task(
        "UD-EWT (parts of speech), test",
        "ud_ewt/en_ewt-ud-train.rebuilt.conllu",
        "ud_ewt/en_ewt-ud-test.conllu",
        ("accuracy", "macro_f1"),
        {"epochs": 5},
    ),
    "squad2": Task(
        "SQuAD 2.0 half-dev, held-out articles",
        "squad2_half_dev/dev-v2.0.json",
        "squad2_half_dev/dev-v2.0.json",
        ("f1", "exact_match", "has_answer_f1"),
        {"epochs": 4},
    ),
}


def folder() -> Path:
    """Where the data is."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    return Path(os.environ.get("BERTVIZ_LAB_DATA") or beside)


def files(name: str, work: Path) -> dict[str, tuple[str, ...]]:
    """What `FinetuneConfig` takes for a task; SQuAD's articles are parted under `work`."""
    task = TASKS[name]
    if name == "squad2":
        articles = json.loads((folder() / task.train).read_text(encoding="utf-8"))["data"]
        parts = {"train": articles[:-_HELD_ARTICLES], "eval": articles[-_HELD_ARTICLES:]}
        for part, kept in parts.items():
            (work / f"{part}.json").write_text(json.dumps({"version": "v2.0", "data": kept}), encoding="utf-8")
        return {part: (str(work / f"{part}.json"),) for part in parts}
    found = {"train": (str(folder() / task.train),)}
    return found | ({"eval": (str(folder() / task.eval),)} if task.eval else {})
