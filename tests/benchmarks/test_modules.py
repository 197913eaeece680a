"""Every benchmark imports, and every command that a document names exists."""

import importlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.__main__ import main
from benchmarks.curves import compare
from benchmarks.flops import useful_flops
from benchmarks.hf_reference import Reference, dense
from benchmarks.machine import RESULTS, machine, report, slug
from benchmarks.results_page import PAGE, page
from bertviz_lab.config import BertConfig
from bertviz_lab.data.pretraining.batches import PretrainingBatch
from bertviz_lab.model import BertForPreTraining
from bertviz_lab.model.weights import load_state

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
MODULES = sorted(path.stem for path in BENCHMARKS.glob("[a-z]*.py"))


@pytest.mark.parametrize("name", MODULES)
def test_every_benchmark_imports_and_says_what_it_measures(name: str) -> None:
    module = importlib.import_module(f"benchmarks.{name}")
    assert module.__doc__


def test_the_list_of_benchmarks_names_each_with_its_claim(capsys: pytest.CaptureFixture[str]) -> None:
    main()
    lines = capsys.readouterr().out.splitlines()
    results = (BENCHMARKS / "results").glob("*.json")  # one of another processor has the same benchmark's name in it
    assert {json.loads(path.read_text(encoding="utf-8"))["name"] for path in results} <= {
        re.findall(r"benchmarks\.(\w+)", line)[0] for line in lines
    }
    assert all(len(line.split(maxsplit=3)) == 4 for line in lines)


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
    for options in (["--keep"], ["--keep", "--beside", "--now"]):
        monkeypatch.setattr("sys.argv", ["parity", *options])
        report("parity", {"largest_difference": {}})
    processor = machine()["processor"]
    assert {path.name for path in tmp_path.iterdir()} == {"parity.json", f"parity-{slug(processor)}.json"}
    kept = json.loads((tmp_path / f"parity-{slug(processor)}.json").read_text(encoding="utf-8"))
    assert kept["command"] == "python -m benchmarks.parity --now"
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


def test_useful_operations_are_those_that_torch_counts_in_the_lab_s_forward_pass() -> None:
    batch, length, predictions = 2, 24, 3
    config = BertConfig.preset("tiny", vocab_size=100, num_hidden_layers=3)
    model = BertForPreTraining(config).eval()
    ids = torch.randint(5, 100, (batch, length))
    positions = torch.tensor([[1, 5, 9], [2, 3, 7]])
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(ids, masked_positions=positions, explicit=True)
    next_sentence = 2 * 2 * config.hidden_size  # a layer of two outputs that the arithmetic leaves out
    counted = counter.get_total_flops() - batch * next_sentence
    useful = useful_flops(config, length, predictions).forward * batch * length
    assert abs(counted - useful) < 1e-6 * counted


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
    theirs = reference.model(**dense(BATCH).inputs).loss
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
