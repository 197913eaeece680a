"""GLUE's tasks with a few examples written for these tests, in the layouts in which GLUE is passed on."""

import csv
from dataclasses import dataclass
from pathlib import Path

import datasets

from tests.little import SENTENCES

_PARSES = "sentence1_binary_parse sentence2_binary_parse sentence1_parse sentence2_parse"
#: The columns of each task in GLUE's archive; CoLA has no header.
ARCHIVE: dict[str, list[str]] = {
    "CoLA": [],
    "SST-2": "sentence label".split(),
    "MRPC": ["Quality", "#1 ID", "#2 ID", "#1 String", "#2 String"],
    "STS-B": "index genre filename year old_index source1 source2 sentence1 sentence2 score".split(),
    "QQP": "id qid1 qid2 question1 question2 is_duplicate".split(),
    "MNLI": f"index promptID pairID genre {_PARSES} sentence1 sentence2 label1 gold_label".split(),
    "QNLI": "index question sentence label".split(),
    "RTE": "index sentence1 sentence2 label".split(),
    "WNLI": "index sentence1 sentence2 label".split(),
}
#: Those of the hub's copy, and its class names in their order.
HUB = {
    "cola": ("sentence", ("unacceptable", "acceptable")),
    "sst2": ("sentence", ("negative", "positive")),
    "mrpc": ("sentence1 sentence2", ("not_equivalent", "equivalent")),
    "stsb": ("sentence1 sentence2", ()),
    "qqp": ("question1 question2", ("not_duplicate", "duplicate")),
    "mnli": ("premise hypothesis", ("entailment", "neutral", "contradiction")),
    "qnli": ("question sentence", ("entailment", "not_entailment")),
    "rte": ("sentence1 sentence2", ("entailment", "not_entailment")),
    "wnli": ("sentence1 sentence2", ("not_entailment", "entailment")),
}
_TEXT_NAMES = {"sentence", "sentence1", "sentence2", "question", "question1", "question2", "#1 String", "#2 String"}
_LABEL_NAMES = {"label", "Quality", "score", "is_duplicate", "gold_label", "label1"}


@dataclass(frozen=True)
class Row:
    """An example: one text or two, and the number of its class, or its score."""

    texts: tuple[str, ...]
    label: float


def rows(task: str, count: int, start: int = 0) -> list[Row]:
    """Examples whose label can be seen in the text."""
    key = task.lower().replace("-", "")
    single, classes = " " not in HUB[key][0], len(HUB[key][1])
    made = []
    for n in range(start, start + count):
        label = n % classes if classes else 0.25 * (n % 21)
        word = ("red", "small", "old")[int(label) % 3]
        texts = (f'He said "{SENTENCES[n % 5]}" on day {n}', f"it was the {word} one's day {n}")
        made.append(Row((f"{SENTENCES[n % 5]} and the {word} one, day {n}",) if single else texts, label))
    return made


def label_of(task: str, row: Row) -> str:
    """The label as GLUE's archive writes it."""
    names = HUB[task.lower().replace("-", "")][1]
    if task in ("MNLI", "QNLI", "RTE"):
        return names[int(row.label)]
    return f"{row.label:.3f}" if task == "STS-B" else str(row.label)


def write_archive_file(path: Path, task: str, examples: list[Row]) -> None:
    """Tabs between cells and no quoting, as GLUE's archive has it."""
    columns = ARCHIVE[task]
    lines = ["\t".join(columns)] if columns else []
    for number, row in enumerate(examples):
        if not columns:
            lines.append("\t".join(("gj04", label_of(task, row), "" if row.label else "*", row.texts[0])))
            continue
        texts, cells = iter(row.texts), []
        for name in columns:
            is_number = name in ("index", "id", "qid1", "qid2", "promptID", "#1 ID", "#2 ID", "old_index")
            cell = next(texts) if name in _TEXT_NAMES else label_of(task, row) if name in _LABEL_NAMES else "none"
            cells.append(str(1000 + number) if is_number else "2015" if name == "year" else cell)
        lines.append("\t".join(cells))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_archive(folder: Path, train: int = 24, dev: int = 8) -> None:
    """As the archive of gluebenchmark.com unpacks: test sets without labels, and MRPC as its authors sent it."""
    for task in ARCHIVE:
        write_archive_file(folder / task / "train.tsv", task, rows(task, train))
        for name in ("dev_matched", "dev_mismatched") if task == "MNLI" else ("dev",):
            write_archive_file(folder / task / f"{name}.tsv", task, rows(task, dev, train))
        (folder / task / "test.tsv").write_text("index\tsentence\n0\tnobody knows its label\n", encoding="utf-8")
    for name in ("msr_paraphrase_train.txt", "msr_paraphrase_test.txt"):
        write_archive_file(folder / "MRPC" / name, "MRPC", rows("MRPC", 4))
    (folder / "MRPC" / "dev_ids.tsv").write_text("1\t2\n", encoding="utf-8")


def write_hub_copy(folder: Path, train: int = 24, dev: int = 8) -> None:
    """As the hub's `nyu-mll/glue`: a Parquet file a split, class numbers with their names, -1 in the test sets."""
    for task, (columns, names) in HUB.items():
        splits = {"train": rows(task, train), "validation": rows(task, dev, train), "test": rows(task, 4)}
        if task == "mnli":
            published = splits.pop("validation")
            splits |= {"validation_matched": published, "validation_mismatched": published}
        label = datasets.ClassLabel(names=list(names)) if names else datasets.Value("float32")
        texts = columns.split()
        features = datasets.Features(
            {name: datasets.Value("string") for name in texts} | {"label": label, "idx": datasets.Value("int32")}
        )
        for split, examples in splits.items():
            made = [
                dict(zip(texts, row.texts, strict=True)) | {"label": -1 if split == "test" else row.label, "idx": n}
                for n, row in enumerate(examples)
            ]
            path = folder / task / f"{split}-00000-of-00001.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            datasets.Dataset.from_list(made, features).to_parquet(path)


def write_as_published(folder: Path, train: int = 24, dev: int = 8) -> None:
    """As the tasks' authors published them: CoLA with two dev sets, MRPC with a test set, STS-B without a header."""
    cola = folder / "cola"
    write_archive_file(cola / "in_domain_train.tsv", "CoLA", rows("CoLA", train))
    write_archive_file(cola / "in_domain_dev.tsv", "CoLA", rows("CoLA", dev // 2, train))
    write_archive_file(cola / "out_of_domain_dev.tsv", "CoLA", rows("CoLA", dev - dev // 2, train + dev // 2))
    write_archive_file(folder / "sst2_glue" / "train.tsv", "SST-2", rows("SST-2", train))
    write_archive_file(folder / "sst2_glue" / "dev.tsv", "SST-2", rows("SST-2", dev, train))
    write_archive_file(folder / "mrpc" / "msr_paraphrase_train.txt", "MRPC", rows("MRPC", train))
    write_archive_file(folder / "mrpc" / "msr_paraphrase_test.txt", "MRPC", rows("MRPC", dev, train))
    (folder / "stsb").mkdir()
    for split, examples in (("train", rows("STS-B", train)), ("dev", rows("STS-B", dev, train))):
        with (folder / "stsb" / f"stsb-en-{split}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows((*row.texts, row.label) for row in examples)
    (folder / "stsb" / "LICENSE").write_text("nothing to read", encoding="utf-8")
