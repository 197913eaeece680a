"""Published labelled data to measure fine-tuning on: in $BERTVIZ_LAB_DATA, or in shared/data beside the repository."""

import json
import lzma
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

#: Articles of SQuAD's half that are tested on; the first ones are trained on.
_TEST_ARTICLES = 3
#: Where no test set is published, every so many-th line is tested on.
_TEST_EVERY = 10


@dataclass(frozen=True)
class Task:
    """A task: its files, and what is set other than the defaults."""

    title: str
    train: str
    test: str  # "": a tenth of `train`
    metrics: tuple[str, ...]
    settings: dict[str, Any] = field(default_factory=dict)


TASKS = {
    "sst2": Task("SST-2, dev", "sst2_glue/train.tsv", "sst2_glue/dev.tsv", ("accuracy",), {"epochs": 3}),
    "trec": Task("TREC, test", "trec/TREC.train.all", "trec/TREC.test.all", ("accuracy", "macro_f1"), {"epochs": 10}),
    "ag_news": Task("AG News, a tenth", "ag_news/alps_dev.tsv", "", ("accuracy", "macro_f1"), {"epochs": 5}),
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


def wiki2015() -> TextIO:
    """The articles of Wikipedia of 2015: a paragraph a line, and an empty line between two articles."""
    return lzma.open(folder() / "wiki2015" / "train.txt.xz", "rt", encoding="utf-8")


def files(name: str, work: Path) -> dict[str, tuple[str, ...]]:
    """What `FinetuneConfig` takes for a task: what chooses is held out of `train`, and the published set only tests.

    Parts of a file are written under `work`.
    """
    task = TASKS[name]
    if name == "squad2":
        articles = json.loads((folder() / task.train).read_text(encoding="utf-8"))["data"]
        parts = {"train": articles[:-_TEST_ARTICLES], "test": articles[-_TEST_ARTICLES:]}
        for part, kept in parts.items():
            (work / f"{part}.json").write_text(json.dumps({"version": "v2.0", "data": kept}), encoding="utf-8")
        return {part: (str(work / f"{part}.json"),) for part in parts}
    if task.test:
        return {"train": (str(folder() / task.train),), "test": (str(folder() / task.test),)}
    path = folder() / task.train
    head, *lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    tested = lines[::_TEST_EVERY]
    del lines[::_TEST_EVERY]
    for part, kept in (("train", lines), ("test", tested)):
        (work / f"{part}{path.suffix}").write_text("".join([head, *kept]), encoding="utf-8")
    return {part: (str(work / f"{part}{path.suffix}"),) for part in ("train", "test")}
