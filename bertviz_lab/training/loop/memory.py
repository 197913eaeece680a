"""How much memory a run takes at its peak, by arithmetic, so that one that cannot fit is refused before it starts.

Four things lie in memory at the worst moment of a step, the beginning of the backward pass:

1. The process itself: Python, the libraries, the tokenizer, the tables of examples.
2. For every weight, in 32 bits: the weight, and AdamW's two averages (Muon: one) of its gradients. bf16 and fp16
   add a copy of every matrix in 16 bits. The gradients come as the backward pass goes on, while what it has used
   is freed: of gradients and 3 the larger counts.
3. What the backward pass must remember of the forward pass. For each token and layer: the layer's input, q, k, v,
   what attention gives (by head and side by side), what goes into both LayerNorms and what comes out of the first,
   each as long as the hidden size; and two vectors of the feed-forward width, before and after its activation. In
   bf16 what goes into a product is remembered in half the bytes. Dropout adds a byte for each number it may drop,
   and on the CPU it has attention written out: four tables of (tokens x tokens) in 32 bits for every head. The last
   layer does most of this for the predicted positions only.
4. The predictions: for every predicted position one number for every token of the vocabulary, and its gradient.
   On a GPU also their logarithms, in 32 bits. While a run reads forwards every position is predicted, not one in
   seven: then this is most of all.

Held-out text is scored a few examples at a time without a backward pass: nothing of 3, but as much of 4.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import psutil
import torch

from bertviz_lab.config import BertConfig, PretrainConfig
from bertviz_lab.errors import InputError
from bertviz_lab.model import BertForPreTraining
from bertviz_lab.training.loop.hardware import Hardware
from bertviz_lab.training.pretraining.evaluate import EVAL_BATCH_SIZE

_PROCESS = 400 * 2**20
_SLACK = 1.1  # what the allocator keeps of freed memory


@dataclass(frozen=True)
class MemoryEstimate:
    """Bytes at the peak of a run, by what they are for."""

    process: int  # 0 on a GPU
    weights: int  # with the optimiser's averages, and copies in 16 bits
    step: int  # what the backward pass remembers, or the gradients it leaves
    predictions: int  # logits and their gradients

    @property
    def total(self) -> int:
        return self.process + self.weights + self.step + self.predictions


def estimate_memory(
    model: BertConfig, settings: PretrainConfig, precision: str = "fp32", processes: int = 1, device: str = "cpu"
) -> MemoryEstimate:
    """What each process of a run takes at its peak; `processes` share every step."""
    half = precision in ("bf16", "fp16")
    with torch.device("meta"):
        shape = BertForPreTraining(model)
    weights = sum(p.numel() for p in shape.parameters())
    matrices = sum(p.numel() for name, p in shape.named_parameters() if p.dim() == 2 and ".layers." in name)
    table = model.vocab_size * model.hidden_size
    tables = shape.bert.embeddings
    unlearnt = 0 if settings.position_embeddings else tables.position.weight.numel()  # nothing is averaged for these
    unlearnt += 0 if settings.segment_embeddings else tables.token_type.weight.numel()
    averages = 2 * (weights - unlearnt) - (matrices if settings.optimizer == "muon" else 0)
    kept = 4 * (weights + averages) + (2 * (matrices + table) if half else 0)

    rows = -(-settings.batch_size // (settings.gradient_accumulation_steps * processes))
    masked = max(1, round(settings.mask_probability * settings.seq_len))
    reads_forwards = settings.causal_share > 0 and not settings.init_from
    asked = rows * (settings.seq_len - 1 if reads_forwards else masked)
    # (what is not predictions, predictions) at the three moments of which one is the worst
    backward = (_remembered(model, settings, rows, asked, half, device) + 4 * table, asked * model.vocab_size)
    update = (4 * (weights + table) * (2 if processes > 1 else 1), 0)  # gradients, and what is sent to the others
    scoring = (_passing(model, settings), EVAL_BATCH_SIZE * masked * model.vocab_size)
    scored = 16 if half else 12  # bytes for each of these numbers
    trained = (4 if half else 8) if device == "cpu" else scored  # on a CPU the loss takes the table row by row
    moments = ((backward, trained), (update, 0), (scoring, scored))
    step, predictions = max(((rest, each * count) for (rest, count), each in moments), key=sum)
    process = _PROCESS if device == "cpu" else 0
    return MemoryEstimate(process, kept, int(_SLACK * step), int(_SLACK * predictions))


def _remembered(model: BertConfig, settings: PretrainConfig, rows: int, asked: int, half: bool, device: str) -> int:
    """Bytes that the backward pass needs of the forward pass, the predictions aside."""
    hidden, inner = model.hidden_size, model.intermediate_size
    plain, product = 4, 2 if half else 4  # bytes of a number, and of one that goes into a product
    written_out = settings.dropout > 0 and device == "cpu"
    seen = 3 * product * hidden  # by a token that is only looked at: the layer's input, k, v
    asking = (4 * product + 2 * plain) * hidden + 2 * product * inner  # by one that looks: all the rest
    if settings.dropout > 0:
        asking += 2 * hidden
    elif half and device == "cpu":  # attention by plain products
        asking += product * model.num_attention_heads * settings.seq_len
    if written_out:
        seen += plain * hidden
        asking += plain * hidden + (4 * plain + 1) * model.num_attention_heads * settings.seq_len
    tokens = rows * settings.seq_len
    layers = (model.num_hidden_layers - 1) * tokens * (seen + asking) + tokens * seen + (asked + rows) * asking
    return layers + (2 * tokens + 4 * asked) * plain * hidden  # and the embeddings, and the head before its logits


def _passing(model: BertConfig, settings: PretrainConfig) -> int:
    """Bytes of a forward pass over a whole batch that remembers nothing: those of one layer."""
    return 4 * EVAL_BATCH_SIZE * settings.seq_len * (6 * model.hidden_size + 2 * model.intermediate_size)


_SMALLER = "choose a smaller --preset, --vocab-size, --seq-len or --batch-size"


def require_memory(model: BertConfig, settings: PretrainConfig, hardware: Hardware, smaller: str = _SMALLER) -> None:
    """Raise `InputError` with what is needed, what there is and what to change, where a run cannot fit.

    `smaller` is the advice where computing a step in parts does not help.
    """
    kind = hardware.device.type
    here = int(os.environ.get("LOCAL_WORLD_SIZE", "1")) if kind == "cpu" else 1  # processes that share this memory

    def needed(changed: PretrainConfig) -> int:
        return here * estimate_memory(model, changed, hardware.precision, hardware.processes, kind).total

    free = available_memory(hardware.device, here)
    if needed(settings) <= free:
        return
    fewer = settings
    while needed(fewer) > free and fewer.gradient_accumulation_steps < settings.batch_size:
        parts = min(2 * fewer.gradient_accumulation_steps, settings.batch_size)
        fewer = replace(fewer, gradient_accumulation_steps=parts)
    if needed(fewer) <= free:
        flag = f"--gradient-accumulation-steps {fewer.gradient_accumulation_steps}"
        advice = f"with {flag} the same model is trained in {_gigabytes(needed(fewer))}"
    else:
        advice = smaller
    raise InputError(
        f"This run needs about {_gigabytes(needed(settings))} of memory, and {_gigabytes(free)} are free: {advice}."
    )


def available_memory(device: torch.device | None = None, processes: int = 1) -> int:
    """Bytes that `processes` alike on this device may use: what is free, and what this one holds already."""
    if device is not None and device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0] + torch.cuda.memory_reserved(device)
    free = min([psutil.virtual_memory().available, *_left_in_groups()])
    return free + processes * min(psutil.Process().memory_info().rss, _PROCESS)


def _left_in_groups(groups: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")) -> Iterator[int]:
    """Bytes left in each control group around this process, which is how containers are limited (Linux)."""
    lines = groups.read_text().splitlines() if groups.is_file() else []
    for _, controllers, path in (line.split(":", 2) for line in lines):
        if "memory" in controllers.split(","):
            top, limit, used = root / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
        elif not controllers:  # version 2
            top, limit, used = root, "memory.max", "memory.current"
        else:
            continue
        inside = top / path.lstrip("/")
        for folder in (inside, *inside.parents):
            if not folder.is_relative_to(top):
                break
            try:
                most, taken = (folder / limit).read_text().strip(), int((folder / used).read_text())
                stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
            except (OSError, ValueError):  # the outermost group has no limit, others may not be seen from inside
                continue
            if most != "max":
                yield int(most) - taken + int(stat.get("inactive_file", 0))  # cached files give way


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:,.1f} GB"
