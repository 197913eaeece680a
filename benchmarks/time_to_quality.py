"""Quality after equal training time on Wikipedia: the lab beside transformers at the best of three learning rates.

One call trains one model and writes its curve; many calls make a comparison:

    python -m benchmarks.time_to_quality --side hf --lr 1e-3
    python -m benchmarks.time_to_quality --side lab --seed 0
    python -m benchmarks.time_to_quality --table --keep

`hf` is `BertForMaskedLM` as run_mlm.py trains it: documents packed into sequences of 128 tokens, its
DataCollatorForLanguageModeling, batches of 32, AdamW with decay 0.01, dropout 0.1, gradients clipped at 1, 6% warm-up
and linear decay, both on the clock so that the rate reaches zero when time is up, bf16 where a self-test finds that it
pays. Of peak rates of 5e-4, 1e-3 and 2e-3 the second was best. `lab` is `pretrain` with the recipe `lab` and nothing
else set. Both start from the same vocabulary; reading and tokenizing the text is not counted, nor are pauses for
evaluation and saving. Both are scored on the same held-out examples under the same masks: single runs of text, which is
what `hf` trains on and half of what `lab` does. NSP accuracy is that of the run's own last evaluation, on 2,000
held-out pairs.
"""

import argparse
import itertools
import json
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from torch import nn

from benchmarks.corpus import EVERYTHING, Text, find_text, learnt_tokenizer, tokenized, tokenizer_folder
from benchmarks.curves import compare, table
from benchmarks.machine import RESULTS, arguments, machine, report, slug
from bertviz_lab.config import IGNORE_INDEX, BertConfig, PretrainConfig
from bertviz_lab.config.cores import available_cores
from bertviz_lab.config.options import parse_duration
from bertviz_lab.data.pretraining.batches import PretrainingBatch, PretrainingData, masking_rule
from bertviz_lab.data.pretraining.tokenized_corpus import TokenizedCorpus
from bertviz_lab.model import BertForMaskedLM
from bertviz_lab.model.weights import load_state
from bertviz_lab.training.checkpoints.checkpoint import load_checkpoint
from bertviz_lab.training.loop.hardware import Hardware, cpu_multiplies_bf16
from bertviz_lab.training.loop.optim import lr_schedule
from bertviz_lab.training.pretraining.evaluate import EvalSize, eval_batches, evaluate_pretraining
from bertviz_lab.training.pretraining.pretrain import pretrain
from bertviz_lab.training.runs.events import CheckpointSaved, EvalDone, RunStarted, StepDone

CURVES = RESULTS / "time_to_quality" / slug(machine()["processor"])
SEQ_LEN, BATCH_SIZE, WARMUP = 128, 32, 0.06
_PREDICTIONS = 12_000  # held-out tokens that are predicted: accuracies are good to about 0.3 points


@dataclass(frozen=True)
class Point:
    """A score, after so many seconds of training."""

    seconds: float
    step: int
    mlm_loss: float
    mlm_accuracy: float
    precision: str
    nsp_accuracy: float | None = None  # of the lab at the end; transformers trains without sentence pairs


@dataclass(frozen=True)
class Setting:
    """What all trainings share."""

    preset: str
    vocab_size: int
    seconds: float
    every: float  # seconds of training between scores
    threads: int
    precision: str


def held_out(text: Text, vocab_size: int) -> list[PretrainingBatch]:
    """Fixed examples of the valid file, masked by the paper's rule; every side is scored on these."""
    tokenizer = learnt_tokenizer(text.train, vocab_size)
    corpus = tokenized(text.valid, tokenizer, EVERYTHING)
    data = PretrainingData(
        documents=corpus.select(np.arange(corpus.documents)),
        tokenizer=tokenizer,
        rule=masking_rule(tokenizer),
        seq_len=SEQ_LEN,
        batch_size=BATCH_SIZE,
        short_seq_probability=0.0,
        pairs="",
        seed=1,
    )
    return list(eval_batches(data, EvalSize(masked_tokens=_PREDICTIONS, pairs=0)))


def unigram_accuracy(examples: list[PretrainingBatch]) -> float:
    """The accuracy on these examples of always predicting their most frequent token."""
    labels = torch.cat([batch.labels[batch.labels != IGNORE_INDEX] for batch in examples])
    return float(labels.bincount().max() / len(labels))


def train_huggingface(setting: Setting, text: Text, learning_rate: float, seed: int) -> Iterator[Point]:
    """The library's own parts, put together with care."""
    tokenizer = learnt_tokenizer(text.train, setting.vocab_size)
    corpus = tokenized(text.train, tokenizer, EVERYTHING)
    config = PretrainConfig(preset=setting.preset, dropout=0.1).model_config(setting.vocab_size)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.set_num_threads(setting.threads or available_cores())
    precision = setting.precision
    if precision == "auto":
        precision = "bf16" if device.type == "cuda" or cpu_multiplies_bf16() else "fp32"
    hardware = Hardware(device, precision, torch.get_num_threads())
    torch.manual_seed(seed)
    model = transformers.BertForMaskedLM(transformers.BertConfig.from_dict(config.to_dict())).train()
    nn.Module.to(model, hardware.device)
    decayed: list[nn.Parameter] = []
    plain: list[nn.Parameter] = []
    for name, parameter in model.named_parameters():
        (plain if name.endswith("bias") or "LayerNorm" in name else decayed).append(parameter)
    groups = [{"params": decayed, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=learning_rate)
    fast = transformers.PreTrainedTokenizerFast.from_pretrained(tokenizer_folder(text.train, setting.vocab_size))
    loader: torch.utils.data.DataLoader = torch.utils.data.DataLoader(
        _packed(corpus, tokenizer.cls_id, tokenizer.sep_id),
        batch_size=BATCH_SIZE,
        shuffle=True,
        drop_last=True,
        collate_fn=transformers.DataCollatorForLanguageModeling(fast, mlm_probability=0.15),
    )
    examples = held_out(text, setting.vocab_size)
    batches = itertools.chain.from_iterable(itertools.repeat(loader))
    step, paused, due, start = 0, 0.0, 0.0, time.perf_counter()
    while True:
        seconds = time.perf_counter() - start - paused
        if seconds >= due or seconds >= setting.seconds:
            began = time.perf_counter()
            yield Point(seconds, step, *_score(_as_ours(model, config), examples), hardware.precision)
            paused += time.perf_counter() - began
            due += setting.every
            if seconds >= setting.seconds:
                return
        rate = learning_rate * max(lr_schedule(seconds / setting.seconds, WARMUP), 1e-3)
        for group in optimizer.param_groups:
            group["lr"] = rate
        inputs = {name: tensor.to(hardware.device) for name, tensor in next(batches).items()}
        with hardware.autocast():
            loss = model(**inputs).loss
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        step += 1


def _packed(corpus: TokenizedCorpus, cls_id: int, sep_id: int) -> Any:
    """All documents in one row with [SEP] between them, cut into [CLS] 126 tokens [SEP]: no place is wasted."""
    borders = corpus.sentence_ends[corpus.document_ends[:-1] - 1]
    row = np.insert(corpus.ids.astype(np.int64), borders, sep_id)
    whole = len(row) // (SEQ_LEN - 2) * (SEQ_LEN - 2)
    table = np.pad(row[:whole].reshape(-1, SEQ_LEN - 2), ((0, 0), (1, 1)), constant_values=((0, 0), (cls_id, sep_id)))
    return [{"input_ids": line} for line in torch.from_numpy(table)]


def _as_ours(model: nn.Module, config: BertConfig) -> BertForMaskedLM:
    """The lab's model with the weights of transformers' one, so that one function scores both."""
    copy = BertForMaskedLM(config)
    missing = load_state(
        copy, {name: tensor.detach().cpu().clone() for name, tensor in model.state_dict().items()}
    ).missing
    assert not missing, missing
    return copy.eval()


def _score(model: nn.Module, examples: list[PretrainingBatch]) -> tuple[float, float]:
    """Loss and accuracy in 32 bits, whatever a side trains in."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    hardware = Hardware(device, "fp32", torch.get_num_threads())
    scores = evaluate_pretraining(model.to(device), examples, hardware)
    return scores["mlm_loss"], scores["mlm_accuracy"]


def train_lab(setting: Setting, text: Text, seed: int, changes: dict[str, Any]) -> Iterator[Point]:
    """`pretrain` as anybody would call it; scored whenever it saves a checkpoint, of NSP when it ends."""
    examples = held_out(text, setting.vocab_size)
    config = PretrainConfig.of_recipe(
        "lab",
        corpus=(str(text.train),),
        preset=setting.preset,
        tokenizer=str(tokenizer_folder(text.train, setting.vocab_size)),
        time_budget=f"{setting.seconds:g}s",
        checkpoint_every=setting.every,
        eval_every=86_400.0,
        threads=setting.threads,
        precision=setting.precision,
        seed=seed,
        **changes,
    )
    last, precision = StepDone(0, 0.0, 0, 0.0, 0.0, 0.0, 0.0, 0.0), ""
    point = Point(0.0, 0, 0.0, 0.0, "")
    with tempfile.TemporaryDirectory() as folder:
        for event in pretrain(config, Path(folder) / "run"):
            if isinstance(event, RunStarted):
                precision = event.precision
            elif isinstance(event, StepDone):
                last = event
            elif isinstance(event, EvalDone):
                yield replace(point, nsp_accuracy=event.metrics.get("nsp_accuracy"))
            elif isinstance(event, CheckpointSaved):
                # The seconds of a step that was not itself reported, from the last that was.
                seconds = min(setting.seconds, last.seconds * event.step / max(last.step, 1))
                point = Point(seconds, event.step, *_score(load_checkpoint(event.path).model, examples), precision)
                yield point


def one(given: argparse.Namespace) -> None:
    """Train one model and write its curve; it is rewritten at every point, so that a run cut short is not lost."""
    text = find_text()
    seconds = parse_duration(given.budget)
    setting = Setting(given.preset, given.vocab_size, seconds, given.every, given.threads, given.precision)
    changes = json.loads(given.set)
    if given.side == "hf":
        name, points = f"hf-lr{given.lr:g}-seed{given.seed}", train_huggingface(setting, text, given.lr, given.seed)
    else:
        name, points = f"lab-seed{given.seed}", train_lab(setting, text, given.seed, changes)
    path = given.out or CURVES / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    body = {"name": name, "side": given.side, "seed": given.seed, "text": text.name, "machine": machine()}
    body |= {"unigram_accuracy": unigram_accuracy(held_out(text, given.vocab_size))}
    body |= {"setting": asdict(setting), "lr": given.lr if given.side == "hf" else None, "changes": changes}
    curve: list[dict[str, Any]] = []
    for point in points:
        print(
            f"{point.seconds:7.1f} s  step {point.step:6}  {point.mlm_loss:.4f}  {point.mlm_accuracy:.2%}", flush=True
        )
        row = asdict(point)
        body |= {"precision": row.pop("precision"), "nsp_accuracy": row.pop("nsp_accuracy")}
        curve = [earlier for earlier in curve if earlier["step"] != row["step"]]  # scored once more when it ends
        curve.append({key: round(value, 5) for key, value in row.items()})
        path.write_text(json.dumps(body | {"curve": curve}, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--side", choices=("hf", "lab"), help="train one model")
    parser.add_argument("--lr", type=float, default=1e-3, help="peak learning rate of hf; the lab chooses its own")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--budget", default="10m", help="how long to train")
    parser.add_argument("--every", type=float, default=15.0, help="seconds of training between scores")
    parser.add_argument("--preset", default="mini")
    parser.add_argument("--vocab-size", type=int, default=8192)
    parser.add_argument("--threads", type=int, default=0, help="CPU threads; 0 takes all cores")
    parser.add_argument(
        "--set", default="{}", help="settings of the lab to change, as JSON: to try what a recipe gains"
    )
    parser.add_argument("--precision", default="auto", help="number format of both sides; auto tries")
    parser.add_argument("--out", type=Path, help="file for the curve; by default in a folder of this processor")
    parser.add_argument("--table", nargs="*", type=Path, help="compare these curves; by default this processor's")
    given = parser.parse_args()
    if given.table is not None:
        paths = given.table or sorted(CURVES.glob("*.json"))
        report("time_to_quality", compare([json.loads(path.read_text(encoding="utf-8")) for path in paths]), table)
    elif given.side:
        if json.loads(given.set) and not given.out:
            parser.error("--set tries something other than the lab's recipe: name a file for its curve with --out")
        one(given)
    else:
        parser.error("give --side hf or --side lab to train, or --table to compare")


if __name__ == "__main__":
    main()
