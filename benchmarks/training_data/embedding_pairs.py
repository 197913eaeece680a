"""Pairs of texts that belong together, out of published data: what sentence embeddings learn from before any scores.

Two captions of one picture (Multi30k), and a question with the sentence that answers it (SQuAD, as ReQA cut it). No
pair holds a text that the embeddings are scored on later.
"""

import csv
import json
from collections.abc import Iterator
from pathlib import Path

from benchmarks.task_datasets import folder as data_folder


def write_pairs(path: Path) -> int:
    """Write them as JSON lines, `anchor` and `positive`; returns how many there are."""
    tested = {normal(text) for text in _tested_texts()}
    pairs = [pair for pair in (*_captions(), *_answers()) if not tested & set(map(normal, pair))]
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps({"anchor": a, "positive": b}, ensure_ascii=False) for a, b in pairs)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return len(pairs)


def normal(text: str) -> str:
    """A text without what does not tell it from another: case, punctuation, white space."""
    return "".join(c for c in text.lower() if c.isalnum())


def _captions() -> Iterator[tuple[str, str]]:
    """Of each picture its first caption with the second, and the third with the fourth."""
    files = [data_folder() / "multi30k_captions" / f"train.{number}.en" for number in (1, 2, 3, 4)]
    for first, second, third, fourth in zip(*(f.read_text(encoding="utf-8").splitlines() for f in files), strict=True):
        yield first, second
        yield third, fourth


def _answers() -> Iterator[tuple[str, str]]:
    body = json.loads((data_folder() / "reqa_squad" / "train.json").read_text(encoding="utf-8"))
    yield from zip(body["questions"], body["answers"], strict=True)


def _tested_texts() -> Iterator[str]:
    with (data_folder() / "stsb" / "stsb-en-dev.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.reader(file):
            yield from row[:2]
    body = json.loads((data_folder() / "reqa_squad" / "test.json").read_text(encoding="utf-8"))
    yield from body["questions"]
    yield from body["candidates"]
