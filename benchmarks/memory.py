"""Peak memory of a run, beside the estimate made before it starts; one process per shape."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.corpus import find_text, learnt_tokenizer
from benchmarks.machine import arguments, markdown, peak_memory, report, spread
from bertviz_lab.config import PretrainConfig
from bertviz_lab.training.pretraining.pretrain import pretrain
from bertviz_lab.training.pretraining.setup import estimate_memory
from bertviz_lab.training.runs.events import RunStarted

#: vocabulary, and what is set other than the `lab` recipe's defaults
CASES: tuple[tuple[int, dict[str, Any]], ...] = (
    (8192, {"preset": "tiny"}),
    (8192, {"preset": "tiny", "precision": "bf16"}),
    (8192, {"preset": "mini"}),
    (8192, {"preset": "mini", "causal_share": 0.0}),
    (8192, {"preset": "mini", "precision": "bf16"}),
    (8192, {"preset": "mini", "causal_share": 0.0, "dropout": 0.1}),
    (8192, {"preset": "mini", "causal_share": 0.0, "dropout": 0.1, "seq_len": 512, "batch_size": 8}),
    (8192, {"preset": "mini", "causal_share": 0.0, "optimizer": "adamw"}),
    (30522, {"preset": "mini"}),
    (30522, {"preset": "mini", "gradient_accumulation_steps": 4}),
    (8192, {"preset": "small", "precision": "bf16"}),
    (8192, {"preset": "small", "causal_share": 0.0}),
)
#: The same, by which the estimate's constants were not chosen.
UNSEEN_CASES: tuple[tuple[int, dict[str, Any]], ...] = (
    (8192, {"preset": "tiny", "seq_len": 512, "batch_size": 8}),
    (8192, {"preset": "mini", "seq_len": 256, "batch_size": 16, "precision": "bf16"}),
    (8192, {"preset": "mini", "objective": "mlm", "shallow_share": 0.0, "batch_size": 64}),
    (8192, {"preset": "small", "optimizer": "adamw", "dropout": 0.1}),
    (16384, {"preset": "small", "precision": "bf16", "batch_size": 16}),
)


def run(vocab_size: int, changes: dict[str, Any]) -> dict[str, float]:
    """Train in this process, long enough for batches of all lengths; megabytes."""
    text = find_text().train
    with tempfile.TemporaryDirectory() as name:
        learnt_tokenizer(text, vocab_size).save(Path(name) / "tokenizer")
        options = {"corpus": (str(text),), "tokenizer": f"{name}/tokenizer", "steps": 40, "precision": "fp32"}
        config = PretrainConfig(**options | changes)
        for event in pretrain(config, Path(name) / "run"):
            if isinstance(event, RunStarted):
                needed = estimate_memory(config.model_config(vocab_size), config, event.precision, device=event.device)
    peak = peak_memory()
    found = {"measured": round(peak / 1e6), "estimated": round(needed.total / 1e6), "ratio": needed.total / peak}
    return found | {part: round(count / 1e6) for part, count in vars(needed).items()}


def measure(vocab_size: int, changes: dict[str, Any]) -> dict[str, Any]:
    """The same in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.memory", "--case", json.dumps([vocab_size, changes])]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {"vocab_size": vocab_size, "settings": changes, **json.loads(done.stdout)}


def table(body: dict[str, Any]) -> str:
    rows = [
        (
            f"V {case['vocab_size']:,}; "
            + ", ".join(f"{name} {value}" for name, value in case["settings"].items())
            + (", unseen" if case["unseen"] else ""),
            f"{case['measured']:,}",
            f"{case['estimated']:,}",
            f"{case['ratio']:.2f}",
        )
        for case in body["cases"]
    ]
    unseen = "The estimate's constants were chosen by the runs that are not called unseen."
    return f"{unseen}\n\n" + markdown(("run", "peak, MB", "estimated, MB", "ratio"), rows)


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--case", help="[vocabulary, settings] to run in this process")
    options = parser.parse_args()
    if options.case:
        print(json.dumps(run(*json.loads(options.case))))
    else:
        cases = [measure(*case) | {"unseen": case in UNSEEN_CASES} for case in (*CASES, *UNSEEN_CASES)]
        report("memory", {"cases": cases, "ratio": spread([case["ratio"] for case in cases])}, table)
