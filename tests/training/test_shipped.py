"""What the cards of shipped models claim, computed again."""

import csv
import re
from pathlib import Path

import numpy as np

from bertviz_lab import load_checkpoint
from bertviz_lab.data.samples.labelled import path_of
from bertviz_lab.data.tasks.examples import LabelledText
from bertviz_lab.data.tasks.reading import read_task
from bertviz_lab.training.predicting import predict_with


def test_sentiment_tiny_knows_plain_words_and_misses_irony_as_its_card_says() -> None:
    checkpoint = load_checkpoint("sentiment-tiny")
    with path_of("sentiment").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    examples = [LabelledText(row["text"], None, row["label"], n) for n, row in enumerate(rows)]
    predictions, _ = predict_with(checkpoint, examples)
    right = np.array([p.label == row["label"] for p, row in zip(predictions, rows, strict=True)])
    shares = [
        round(100 * right[[row["kind"] == kind for row in rows]].mean()) for kind in ("plain", "negation", "irony")
    ]
    told = re.search(r"(\d+)% of\s+the plain ones, (\d+)% of .*? and (\d+)% of the ironic", checkpoint.card, re.DOTALL)
    assert told is not None
    assert [int(share) for share in told.groups()] == shares
    assert f"{len(rows)} sentences" in checkpoint.card


def test_sentiment_tiny_scores_on_glues_dev_set_what_its_card_says(shared_data: Path) -> None:
    checkpoint = load_checkpoint("sentiment-tiny")
    data = read_task([shared_data / "sst2_glue" / "dev.tsv"])
    predictions, _ = predict_with(checkpoint, data.examples)
    named = dict(zip(("0", "1"), checkpoint.config.labels, strict=True))
    right = [p.label == named[str(e.label)] for p, e in zip(predictions, data.examples, strict=True)]  # type: ignore[union-attr]
    assert f"| {100 * np.mean(right):.1f}% |" in checkpoint.card
