"""Fine-tuning here and with the `Trainer` of `transformers`: same weights, examples, learning rate, metrics; time.

A process a training, in turns, three seeds: SST-2's first examples, as many epochs, as many a step, scored after each
epoch on the last tenth of them, the validation set that chooses the epoch; SST-2's dev set is the test set. The Trainer
runs as its documentation shows, padding each batch to its longest example, and once padding every example to 128
tokens, as many scripts do. Seconds are those of training and scoring; reading and tokenizing before them are left out
on both sides.
"""

import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

from benchmarks.machine import arguments, markdown, mean_and_deviation, report, spread
from benchmarks.task_datasets import folder
from bertviz_lab.config import SHIPPED

SIDES = ("lab", "lab, 32 bits", "Trainer", "Trainer, padded to 128")
SEEDS = (0, 1, 2)
_EPOCHS, _BATCH, _RATE, _LENGTH = 2, 32, 1e-3, 128


def splits(most: int) -> dict[str, list[tuple[str, int]]]:
    """The first examples of SST-2 as train and validation set, and its dev set as the test set."""
    first = _rows(folder() / "sst2_glue" / "train.tsv")[:most]
    held = len(first) // 10
    return {"train": first[:-held], "eval": first[-held:], "test": _rows(folder() / "sst2_glue" / "dev.tsv")}


def _rows(path: Path) -> list[tuple[str, int]]:
    lines = path.read_text(encoding="utf-8").splitlines()[1:]
    return [(line.rsplit("\t", 1)[0], int(line.rsplit("\t", 1)[1])) for line in lines]


def lab(model: str, seed: int, most: int, precision: str) -> dict[str, float]:
    """One training here."""
    # The first optimizer of a process imports it, which takes a second; transformers does so before the clock starts.
    import torch._dynamo  # noqa: F401

    from bertviz_lab.config import FinetuneConfig
    from bertviz_lab.training.finetuning.finetune import finetune
    from bertviz_lab.training.runs.events import FinalTestDone, RunStarted, TrialDone

    with tempfile.TemporaryDirectory() as work:
        files = {}
        for split, found in splits(most).items():
            path = Path(work) / f"{split}.tsv"
            lines = [f"{text}\t{label}" for text, label in found]
            path.write_text("\n".join(["sentence\tlabel", *lines]), encoding="utf-8")
            files[split] = (str(path),)
        config = FinetuneConfig(
            **files,
            model=model,
            epochs=_EPOCHS,
            batch_size=_BATCH,
            learning_rate=_RATE,
            evals_per_epoch=1,
            seed=seed,
            precision=precision,
            snapshot_room=0,
            checkpoint_every=3600.0,
        )
        seconds = accuracy = 0.0
        for event in finetune(config, Path(work) / "run"):
            if isinstance(event, RunStarted):
                began = time.perf_counter()
            elif isinstance(event, TrialDone):
                seconds = time.perf_counter() - began
            elif isinstance(event, FinalTestDone):
                accuracy = event.metrics["accuracy"]
    return {"seconds": seconds, "accuracy": accuracy}


def trainer(model: str, seed: int, most: int, padded: bool) -> dict[str, float]:
    """One training with `transformers`, from the same folder."""
    import numpy as np
    import torch
    from transformers import (
        AutoModelForSequenceClassification,
        AutoTokenizer,
        DataCollatorWithPadding,
        Trainer,
        TrainingArguments,
        logging,
    )

    warnings.filterwarnings("ignore")
    logging.set_verbosity_error()
    tokenizer = AutoTokenizer.from_pretrained(model)
    options: dict[str, Any] = {"padding": "max_length"} if padded else {}

    def examples(found: list[tuple[str, int]]) -> list[dict[str, Any]]:
        encoded = tokenizer([text for text, _ in found], truncation=True, max_length=_LENGTH, **options)
        return [
            {name: values[place] for name, values in encoded.items()} | {"labels": label}
            for place, (_, label) in enumerate(found)
        ]

    sets = {split: examples(found) for split, found in splits(most).items()}
    torch.manual_seed(seed)
    network = AutoModelForSequenceClassification.from_pretrained(model, num_labels=2)
    with tempfile.TemporaryDirectory() as work:
        arguments = TrainingArguments(
            output_dir=work,
            num_train_epochs=_EPOCHS,
            per_device_train_batch_size=_BATCH,
            per_device_eval_batch_size=64,
            learning_rate=_RATE,
            warmup_steps=0.1,
            weight_decay=0.01,
            eval_strategy="epoch",
            save_strategy="epoch",
            load_best_model_at_end=True,  # the lab keeps the best epoch's model too
            metric_for_best_model="accuracy",
            seed=seed,
            report_to=[],
            disable_tqdm=True,
            use_cpu=not torch.cuda.is_available(),
        )
        run = Trainer(
            network,
            arguments,
            train_dataset=sets["train"],
            eval_dataset=sets["eval"],
            data_collator=DataCollatorWithPadding(tokenizer),
            compute_metrics=lambda p: {"accuracy": float((np.argmax(p.predictions, -1) == p.label_ids).mean())},
        )
        began = time.perf_counter()
        run.train()
        seconds = time.perf_counter() - began
        accuracy = run.evaluate(sets["test"])["eval_accuracy"]  # type: ignore[arg-type]
    return {"seconds": seconds, "accuracy": accuracy}


def one(side: str, model: str, seed: int, most: int) -> dict[str, float]:
    """One training of a side."""
    if side.startswith("lab"):
        return lab(model, seed, most, "fp32" if "32" in side else "auto")
    return trainer(model, seed, most, padded="padded" in side)


def measure(model: str, most: int) -> dict[str, Any]:
    """All sides in turns; each turn gives one ratio of times."""
    turns = []
    for seed in SEEDS:
        turn = {}
        for side in SIDES:
            command = [sys.executable, "-m", "benchmarks.finetuning", "--side", side, "--seed", str(seed)]
            command += ["--model", model, "--examples", str(most)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            turn[side] = json.loads(done.stdout.splitlines()[-1])
            print(seed, side, turn[side], file=sys.stderr, flush=True)
        turns.append(turn)
    sides = {}
    for side in SIDES:
        scores = [turn[side]["accuracy"] for turn in turns]
        sides[side] = {
            "seconds": spread([turn[side]["seconds"] for turn in turns]),
            "times": spread([turn[side]["seconds"] / turn["lab"]["seconds"] for turn in turns]),
            "accuracy": scores,
        }
    return {"model": model, "examples": most, "epochs": _EPOCHS, "sides": sides}


def table(result: dict[str, Any]) -> str:
    found = []
    for side, values in result["sides"].items():
        times = values["times"]
        found.append(
            [
                side,
                f"{values['seconds']['median']:.1f}",
                f"{times['median']:.2f} ({times['min']:.2f} to {times['max']:.2f})",
                mean_and_deviation(values["accuracy"]),
            ]
        )
    head = f"{result['model']}, {result['examples']:,} examples, {result['epochs']} epochs"
    return markdown([head, "seconds", "times the lab's", "accuracy on SST-2 dev, the test set"], found)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--model", default=str(SHIPPED / "wiki-tiny"))
    parser.add_argument("--examples", type=int, default=12_000)
    parser.add_argument("--side", choices=SIDES)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.side:
        print(json.dumps(one(options.side, options.model, options.seed, options.examples)))
        return
    result = measure(options.model, options.examples)
    report("finetuning", result | {"model": Path(options.model).name}, table)


if __name__ == "__main__":
    main()
