"""Film reviews out of published data: what sentiment-mini reads before SST-2, whose phrases come from such reviews.

They are the Large Movie Review Dataset (Maas et al. 2011): 50,000 reviews with at most 4 or at least 7 of ten stars,
and 50,000 with any rating. Reviews with a sentence that sentiment-mini is chosen by or scored on are left out.
"""

import csv
import random
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from benchmarks.task_datasets import folder as data_folder
from benchmarks.training_data.embedding_pairs import normal
from benchmarks.training_data.held_out_sentences import held_out_sentences, write_rows
from bertviz_lab.data.documents import split_sentences

_SENTENCES = 240_000
_FEWEST, _MOST = 4, 40  # words of a sentence that gets a label
_TESTED_FEWEST = 5  # words of a sentence that is looked for in the reviews; shorter ones stand in many by chance


def write_film_reviews(path: Path) -> None:
    """Write all reviews as a text, with an empty line between two."""
    path.write_text("\n\n".join(" ".join(sentences) for sentences, _ in _reviews()) + "\n", encoding="utf-8")


def write_review_sentences(path: Path) -> None:
    """Write sentences of the reviews that have a label, each with that of its review: 1 is positive."""
    rows = [
        (sentence, label)
        for sentences, label in _reviews()
        if label
        for sentence in sentences
        if _FEWEST <= len(sentence.split()) <= _MOST
    ]
    write_rows(path, random.Random(0).sample(rows, _SENTENCES))


def _reviews() -> Iterator[tuple[list[str], str]]:
    """The sentences of each review and its label, "" without one."""
    folder, tested = data_folder() / "aclImdb", _tested()
    for part in ("train/pos", "train/neg", "test/pos", "test/neg", "train/unsup"):
        for path in sorted((folder / part).glob("*.txt")):
            text = re.sub(r"<br ?/?>", " ", path.read_text(encoding="utf-8"))
            sentences = split_sentences(text)
            if not any(normal(sentence) in tested for sentence in sentences):
                yield sentences, {"pos": "1", "neg": "0"}.get(path.parent.name, "")


@cache
def _tested() -> set[str]:
    """Sentences that no review may have: SST-2's dev and test sets, and those held out of its training set."""
    tested = held_out_sentences()
    for name in ("dev", "test"):
        with (data_folder() / "sst2_glue" / f"{name}.tsv").open(encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            tested += [row["sentence"] for row in rows]
    return {normal(sentence) for sentence in tested if len(sentence.split()) >= _TESTED_FEWEST}
