"""SST-2's training phrases, split by sentence: held-out sentences, and the phrases that are no part of them.

The phrases are the constituents of 6,900 sentences, so that one held out alone stands in others that are trained on,
and is predicted better than any sentence of the published sets. What is held out here are whole sentences, as those.
"""

import csv
import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from benchmarks.task_datasets import folder as data_folder

_HELD_OUT = 700  # sentences
_FEWEST = 5  # words of a sentence
_SHARED = 2  # words that a phrase may have and also stand elsewhere by chance


def write_phrases(path: Path) -> None:
    """The phrases to train on."""
    write_rows(path, _split()[0])


def write_sentences(path: Path) -> None:
    """The held-out sentences."""
    write_rows(path, _split()[1])


def held_out_sentences() -> list[str]:
    """Their texts."""
    return [text for text, _ in _split()[1]]


@cache
def _split() -> tuple[list[list[str]], list[list[str]]]:
    with (data_folder() / "sst2_glue" / "train.tsv").open(encoding="utf-8", newline="") as file:
        _, *lines = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
    rows = [[text.strip(), label] for text, label in lines]
    labels = dict(rows)
    sentences = [text for text in whole(list(labels)) if len(text.split()) >= _FEWEST]
    held_out = random.Random(0).sample(sentences, _HELD_OUT)
    return without_parts(rows, held_out), [[text, labels[text]] for text in held_out]


def whole(phrases: Sequence[str]) -> list[str]:
    """Those that are no part of another, the longest first."""
    found: list[str] = []
    with_word: dict[str, list[str]] = defaultdict(list)
    for phrase in sorted(phrases, key=lambda phrase: (-len(phrase), phrase)):
        candidates = min((with_word[word] for word in phrase.split()), key=len, default=[])
        if not any(_contains(other, phrase) for other in candidates):
            found.append(phrase)
            for word in set(phrase.split()):
                with_word[word].append(phrase)
    return found


def without_parts(rows: Sequence[list[str]], sentences: Sequence[str]) -> list[list[str]]:
    """The rows (phrase, label) whose phrase is short or no part of any of these sentences."""
    text = " \n ".join(sentences)
    return [row for row in rows if len(row[0].split()) <= _SHARED or not _contains(text, row[0])]


def _contains(text: str, phrase: str) -> bool:
    return f" {phrase} " in f" {text} "


def write_rows(path: Path, rows: Iterable[Sequence[str]]) -> None:
    """Write sentences with their labels as a table."""
    lines = ["sentence\tlabel", *("\t".join(row) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
