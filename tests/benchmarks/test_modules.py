"""Benchmarks import, say what they measure, and compare what is alike."""

import importlib
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks.curves import compare
from benchmarks.hf_reference import Reference
from benchmarks.machine import RESULTS, machine, report, slug
from benchmarks.recipe_sweep import as_json
from benchmarks.recipes.scores import masked_passages
from benchmarks.recipes.table import summarised, table
from benchmarks.recipes.variants import BASE, VARIANTS, Variant
from benchmarks.results_page import PAGE, page
from bertviz_lab import Tokenizer
from bertviz_lab.config import BertConfig
from bertviz_lab.data.loaders import masked_inputs
from bertviz_lab.data.pretraining.batches import PretrainingBatch
from bertviz_lab.model import BertForPreTraining
from bertviz_lab.model.weights import load_state
from tests.little import little_text, little_tokenizer

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
MODULES = sorted(path.stem for path in BENCHMARKS.glob("[a-z]*.py"))


@pytest.mark.parametrize("name", MODULES)
def test_every_benchmark_imports_and_says_what_it_measures(name: str) -> None:
    module = importlib.import_module(f"benchmarks.{name}")
    assert module.__doc__


def test_documented_benchmarks_exist() -> None:
    documents = [BENCHMARKS.parent / "README.md", BENCHMARKS / "README.md", BENCHMARKS.parent / "CONTRIBUTING.md"]
    named = {name for path in documents for name in re.findall(r"benchmarks\.(\w+)", path.read_text(encoding="utf-8"))}
    assert named
    assert named <= set(MODULES)


def test_the_page_is_what_the_results_say() -> None:
    results = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob("*.json"))]
    assert PAGE.read_text(encoding="utf-8") == page(results), "run: python -m benchmarks.results_page"


def test_a_result_is_kept_beside_that_of_another_processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.machine.RESULTS", tmp_path)
    for options in (["--keep"], ["--keep", "--beside", "--now", "--out", str(tmp_path / "runs")]):
        monkeypatch.setattr("sys.argv", ["parity", *options])
        report("parity", {"largest_difference": {}})
    processor = machine()["processor"]
    assert {path.name for path in tmp_path.iterdir()} == {"parity.json", f"parity-{slug(processor)}.json"}
    kept = json.loads((tmp_path / f"parity-{slug(processor)}.json").read_text(encoding="utf-8"))
    assert kept["command"] == "python -m benchmarks.parity --now --out runs", "folders of a machine are not kept"
    assert kept["machine"]["processor"] == processor


def run(name: str, side: str, scores: list[tuple[float, float]]) -> dict[str, Any]:
    curve = [
        {"seconds": 10.0 * i, "step": i, "mlm_loss": loss, "mlm_accuracy": accuracy}
        for i, (loss, accuracy) in enumerate(scores)
    ]
    setting = {"preset": "mini", "vocab_size": 8192, "seconds": 10.0 * (len(scores) - 1)}
    body = {"name": name, "side": side, "precision": "bf16", "text": "a text", "machine": {"processor": "one"}}
    return body | {"setting": setting, "unigram_accuracy": 0.125, "curve": curve}


FLAT = [(9.0, 0.0), (7.0, 0.12), (6.9, 0.13), (6.9, 0.13), (6.8, 0.14), (6.7, 0.14)]
STEEP = [(9.0, 0.0), (6.6, 0.15), (6.5, 0.19), (6.0, 0.20), (5.0, 0.3), (4.0, 0.4)]


def test_the_lab_is_compared_with_the_best_of_the_others() -> None:
    worse = [(loss + 0.1, accuracy) for loss, accuracy in FLAT]
    found = compare([run("slow", "hf", worse), run("fast", "hf", FLAT), run("ours", "lab", STEEP)])
    assert found["best_hf"] == "fast"
    assert found["share_of_time_to_best_hf_loss"]["median"] == pytest.approx(10 / 50)
    assert found["plateau_accuracy"] == pytest.approx(0.125)
    off = {one["name"]: one["seconds_off_the_plateau"] for one in found["runs"]}
    assert off == {"slow": None, "fast": None, "ours": 20.0}


CONFIG = BertConfig.preset(
    "tiny", vocab_size=60, num_hidden_layers=2, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
)
BATCH = PretrainingBatch(
    input_ids=torch.arange(5, 25).view(2, 10),
    token_type_ids=torch.tensor([[0] * 6 + [1] * 4, [0] * 8 + [1] * 2]),
    attention_mask=torch.tensor([[1] * 10, [1] * 8 + [0] * 2]).bool(),
    masked_positions=torch.tensor([[1, 4], [6, 0]]),
    labels=torch.tensor([[7, 8], [9, -100]]),
    draws=torch.zeros(2, 2),
    next_sentence_label=torch.tensor([0, 1]),
    real_tokens=18,
    label_count=3,
    pair_count=2,
    token_count=18,
)


def test_both_sides_are_given_the_same_work() -> None:
    reference = Reference(CONFIG, torch.device("cpu"), bf16=False)
    theirs = reference.model(**masked_inputs(BATCH)).loss
    ours = BertForPreTraining(CONFIG)
    assert not load_state(ours, reference.model.state_dict()).missing
    out = ours(
        BATCH.input_ids,
        BATCH.attention_mask,
        BATCH.token_type_ids,
        labels=BATCH.labels,
        next_sentence_label=BATCH.next_sentence_label,
        masked_positions=BATCH.masked_positions,
    )
    torch.testing.assert_close(out.loss, theirs, rtol=1e-5, atol=1e-5)


SETTING = {"text": "wiki_en", "preset": "tiny", "seconds": 0.2, "precision": "fp32"}


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
    assert "| better | 70.0 |" in text
    assert text.index(better.name) < text.index("the base") < text.index(tie.name)
