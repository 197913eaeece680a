"""The memory of a run by arithmetic, beside what a run really takes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bertviz_lab.config import BertConfig, PretrainConfig
from bertviz_lab.errors import InputError
from bertviz_lab.model import BertForPreTraining
from bertviz_lab.training.loop import memory
from bertviz_lab.training.pretraining.setup import estimate_memory, require_pretraining_memory
from tests.training.support import CPU

ROOT = Path(__file__).resolve().parents[3]
MODEL = BertConfig.preset("mini", vocab_size=8192)


def settings(**changes: object) -> PretrainConfig:
    return PretrainConfig(**({"corpus": ("none",), "causal_share": 0.0, "optimizer": "adamw"} | changes))


def needed(model: BertConfig = MODEL, precision: str = "fp32", processes: int = 1, **changes: object) -> int:
    return estimate_memory(model, settings(**changes), precision, processes).total


def test_weights_count_three_times_and_with_muon_a_little_less():
    weights = sum(p.numel() for p in BertForPreTraining(MODEL).parameters())
    assert estimate_memory(MODEL, settings()).weights == 12 * weights
    matrices = 4 * 12 * 256 * 256
    assert estimate_memory(MODEL, settings(optimizer="muon")).weights == 12 * weights - 4 * matrices
    assert estimate_memory(MODEL, settings(), "bf16").weights == 12 * weights + 2 * (matrices + 8192 * 256)


@pytest.mark.parametrize(
    "changes",
    [{"batch_size": 64}, {"seq_len": 256}, {"causal_share": 0.9}, {"dropout": 0.1}, {"mask_probability": 0.6}],
)
def test_what_asks_for_more_needs_more(changes):
    assert needed(**changes) > 1.05 * needed()


def test_parts_processes_and_sharding_need_less():
    large = {"batch_size": 128, "causal_share": 0.4}
    assert needed(**large, gradient_accumulation_steps=2) < 0.7 * needed(**large)
    assert needed(**large, processes=2) < 0.7 * needed(**large)
    assert needed(batch_size=128, gradient_checkpointing=True) < 0.8 * needed(batch_size=128)
    model, settings = BertConfig.preset("large", vocab_size=30_522), PretrainConfig(corpus=("none",), optimizer="adamw")
    whole = estimate_memory(model, settings, processes=8)
    sharded = estimate_memory(model, settings, processes=8, sharded=True)
    assert sharded.weights < whole.weights / 4
    assert sharded.total < whole.total / 2


def test_every_layer_of_a_deeper_model_counts():
    deep, options = MODEL.replace(num_hidden_layers=12), {"batch_size": 64, "shallow_share": 0.0}
    assert estimate_memory(deep, settings(**options)).step > 2.5 * estimate_memory(MODEL, settings(**options)).step
    assert needed(deep, init_from="model") == needed(deep, shallow_share=0.0)


def test_attention_with_dropout_is_written_out_on_the_cpu_only():
    long = settings(seq_len=512, dropout=0.1)
    assert estimate_memory(MODEL, long, device="cpu").step > 1.5 * estimate_memory(MODEL, long, device="cuda").step
    assert estimate_memory(MODEL, long, device="cuda").process == 0


def free(monkeypatch, count: int) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda device=None, processes=1: count)


def test_a_run_that_fits_with_gradient_accumulation_is_told_how_many_steps(monkeypatch):
    large = {"batch_size": 512, "causal_share": 0.4}
    free(monkeypatch, needed(**large, gradient_accumulation_steps=8))
    with pytest.raises(InputError) as told:
        require_pretraining_memory(MODEL, settings(**large), CPU)
    whole, part = needed(**large) / 1e9, needed(**large, gradient_accumulation_steps=8) / 1e9
    assert str(told.value) == (
        f"This run needs about {whole:.1f} GB of memory, and {part:.1f} GB are free: "
        f"with `gradient_accumulation_steps=8` the same model is trained in {part:.1f} GB."
    )
    require_pretraining_memory(MODEL, settings(**large, gradient_accumulation_steps=8), CPU)


def test_a_model_that_cannot_fit_is_to_be_smaller_and_processes_share_the_memory(monkeypatch):
    free(monkeypatch, 2 * 10**9)
    with pytest.raises(InputError, match=r"2\.0 GB are free: choose a smaller `preset`"):
        require_pretraining_memory(BertConfig.preset("large", vocab_size=30_522), settings(), CPU)
    free(monkeypatch, int(1.5 * needed()))
    require_pretraining_memory(MODEL, settings(), CPU)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    with pytest.raises(InputError, match="GB are free"):
        require_pretraining_memory(MODEL, settings(), CPU)


def group(folder: Path, limit: str, used: int, *, version: int, cached: int = 0) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    names = ("memory.max", "memory.current") if version == 2 else ("memory.limit_in_bytes", "memory.usage_in_bytes")
    (folder / names[0]).write_text(f"{limit}\n")
    (folder / names[1]).write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"anon 5\ninactive_file {cached}\n")


def test_a_container_is_asked_and_a_machine_without_groups_has_no_limit(tmp_path):
    assert list(memory._left_in_groups(tmp_path / "cgroup", tmp_path)) == []
    group(tmp_path / "a" / "b", "max", 10, version=2)
    group(tmp_path / "a", "1000", 300, version=2, cached=100)
    (tmp_path / "cgroup").write_text("0::/a/b\n")
    assert list(memory._left_in_groups(tmp_path / "cgroup", tmp_path)) == [800]
    group(tmp_path / "memory", "1000", 300, version=1)
    (tmp_path / "cgroup").write_text("5:cpu,cpuacct:/x\n4:memory:/docker/unseen\n0::/\n")
    assert list(memory._left_in_groups(tmp_path / "cgroup", tmp_path)) == [700]


_MEASURE = """
import json, sys
from pathlib import Path
from benchmarks.machine import peak_memory
from bertviz_lab.config import PretrainConfig
from bertviz_lab.training.pretraining.pretrain import pretrain
for _ in pretrain(PretrainConfig(**json.loads(sys.argv[1])), Path(sys.argv[2])):
    pass
print(peak_memory())
"""


def test_the_estimate_is_near_what_a_run_takes(text, tmp_path):
    """`python -m benchmarks.memory` has more shapes."""
    options = dict(corpus=[str(text)], preset="mini", steps=6, batch_size=64, seq_len=64, threads=1, precision="fp32")
    command = [sys.executable, "-c", _MEASURE, json.dumps(options), str(tmp_path / "run")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    measured = int(done.stdout)
    vocabulary = len((tmp_path / "run" / "tokenizer" / "vocab.txt").read_text().splitlines())
    config = PretrainConfig(**options | {"corpus": tuple(options["corpus"])})
    estimate = estimate_memory(config.model_config(vocabulary), config).total
    assert 0.75 * measured < estimate < 1.35 * measured
