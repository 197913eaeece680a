"""Peak memory of a run, beside the estimate made before it starts; one process per shape."""

import json
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.corpus import find_text, learnt_tokenizer
from benchmarks.machine import arguments, in_process, markdown, peak_memory, report, spread
from benchmarks.task_datasets import TASKS, files
from bertviz_lab.config import FinetuneConfig, PretrainConfig
from bertviz_lab.training.finetuning.finetune import finetune
from bertviz_lab.training.finetuning.setup import Setup, trials_of
from bertviz_lab.training.loop.hardware import choose_hardware
from bertviz_lab.training.loop.memory import MemoryEstimate
from bertviz_lab.training.pretraining.pretrain import pretrain
from bertviz_lab.training.pretraining.setup import estimate_memory
from bertviz_lab.training.runs.events import EvalDone, RunStarted, StepDone

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


#: A task, and what is set other than its defaults; fine-tuned from wiki-mini.
TASK_CASES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("squad2", {"batch_size": 32, "max_length": 384}),
    ("squad2", {"batch_size": 16, "max_length": 256, "precision": "fp32"}),
    ("sst2", {"batch_size": 32}),
)
UNSEEN_TASK_CASES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("squad2", {"batch_size": 48, "max_length": 320}),
    ("wnut17", {"batch_size": 64}),
)
_TASK_STEPS = 120


def pretrained(vocab_size: int, changes: dict[str, Any]) -> dict[str, float]:
    """Train in this process, long enough for batches of all lengths; megabytes."""
    text = find_text().train
    with tempfile.TemporaryDirectory() as name:
        learnt_tokenizer(text, vocab_size).save(Path(name) / "tokenizer")
        options = {"corpus": (str(text),), "tokenizer": f"{name}/tokenizer", "steps": 40, "precision": "fp32"}
        config = PretrainConfig(**options | changes)
        for event in pretrain(config, Path(name) / "run"):
            if isinstance(event, RunStarted):
                needed = estimate_memory(config.model_config(vocab_size), config, event.precision, device=event.device)
    return compared(peak_memory(), needed)


def finetuned(name: str, changes: dict[str, Any]) -> dict[str, float]:
    """Fine-tune in this process, long enough for batches of many lengths and an evaluation; megabytes."""
    with tempfile.TemporaryDirectory() as made:
        folder, task = Path(made) / "run", TASKS[name]
        options = {"model": "wiki-mini", "dropout": 0.0, "evals_per_epoch": 10, "snapshot_room": 0}
        config = FinetuneConfig(**options | task.settings | changes | files(name, Path(made)))
        is_scored = False
        for event in finetune(config, folder):
            is_scored |= isinstance(event, EvalDone)
            if is_scored and isinstance(event, StepDone) and event.step >= _TASK_STEPS:
                break
        peak, setup = peak_memory(), Setup(config, folder, choose_hardware(config.precision))
        batch_size = trials_of(config, 0.0)[0].batch_size
        return compared(peak, setup.memory(batch_size, config.gradient_accumulation_steps))


def compared(peak: int, needed: MemoryEstimate) -> dict[str, float]:
    """What was needed beside the estimate and its parts, in megabytes."""
    found = {"measured": round(peak / 1e6), "estimated": round(needed.total / 1e6), "ratio": needed.total / peak}
    return found | {part: round(count / 1e6) for part, count in vars(needed).items()}


def measure(of: int | str, changes: dict[str, Any]) -> dict[str, Any]:
    """A case in a process of its own: of a vocabulary of this size, or of a task."""
    return {"of": of, "settings": changes, **in_process("memory", (of, changes))}


def table(body: dict[str, Any]) -> str:
    rows = [
        (
            (f"V {of:,}; " if isinstance(of := case["of"], int) else f"fine-tuning, {of}; ")
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
        of, changes = json.loads(options.case)
        print(json.dumps(pretrained(of, changes) if isinstance(of, int) else finetuned(of, changes)))
    else:
        unseen = (*UNSEEN_CASES, *UNSEEN_TASK_CASES)
        cases = [measure(*case) | {"unseen": case in unseen} for case in (*CASES, *TASK_CASES, *unseen)]
        report("memory", {"cases": cases, "ratio": spread([case["ratio"] for case in cases])}, table)
