"""Recipes are compared at equal cost, by scores that do not depend on the vocabulary, and against the noise."""

import json
import math
from typing import Any

import pytest

from benchmarks.recipe_sweep import as_json
from benchmarks.recipes.scores import masked_passages
from benchmarks.recipes.table import summarised, table
from benchmarks.recipes.variants import BASE, VARIANTS, Variant
from bertviz_lab import Tokenizer
from tests.little import little_text, little_tokenizer

SETTING = {"text": "wiki_en", "preset": "tiny", "seconds": 0.2, "precision": "fp32"}
PASSAGES = [passage.replace("\n", " ") for passage in little_text(6).split("\n\n")]


def test_every_vocabulary_is_asked_the_same_words() -> None:
    texts = ["The red cat, unbelievably, sat on day 7 of the café's year near rivers."]
    fine = Tokenizer.train(little_text().splitlines(), vocab_size=100)
    asked = []
    for tokenizer in (little_tokenizer(), fine):
        (passage,) = masked_passages(texts, tokenizer)
        offsets = [
            (passage.encoding.offsets[word[0]][0], passage.encoding.offsets[word[-1]][1]) for word in passage.words
        ]
        words = [texts[0][start:end] for start, end in offsets]
        assert passage.characters == sum(map(len, words))
        assert all(word.isalpha() and word.isascii() for word in words)
        asked.append(words)
    assert asked[0] == asked[1]
    assert len(little_tokenizer().encode(texts[0])) < len(fine.encode(texts[0]))


def line(variant: Variant, seed: int, bits: float | None) -> dict[str, Any]:
    at = {"processor": "x", "load_before": 1.0, "commit": "abc"}
    body = {"steps": 10, "tokens": 1000, "parameters": 5, "cpu_seconds": 1.0, "reference_seconds": 0.05}
    scores = {"bits_per_character": bits, "sentiment": 0.7}
    return {"variant": as_json(variant), "seed": seed, "setting": SETTING, "machine": at} | body | scores


def test_a_difference_within_the_noise_of_the_seeds_is_a_tie() -> None:
    better, tie, other = VARIANTS[1:4]
    runs = [line(BASE, seed, bits) for seed, bits in enumerate((2.00, 2.01, 2.02))]
    runs += [line(better, 0, 1.8), line(tie, 0, 2.03), line(other, 0, None)]
    result = summarised(runs)
    assert result["noise"] == pytest.approx(0.01)
    verdicts = {row["name"]: row["verdict"] for row in result["variants"]}
    assert verdicts == {BASE.name: "", better.name: "better", tie.name: "tie", other.name: "no MLM"}
    (row,) = (row for row in result["variants"] if row["name"] == tie.name)
    assert row["band"] == pytest.approx(4.303 * 0.01 * math.sqrt(1 + 1 / 3), rel=1e-3)  # t, 2 degrees of freedom, 95%
    text = table(json.loads(json.dumps({"sweeps": [result], "unigram_baseline": 2.5})))
    assert "| better | 70.0% |" in text
    assert text.index(better.name) < text.index("the base") < text.index(tie.name)
