"""The memory that a run needs at its peak, by arithmetic, so that one that cannot fit is refused before it starts.

Four things are in memory at the worst moment of a step, the start of the backward pass:

1. The process itself: Python, the libraries, the tokenizer, the tables of examples.
2. For every weight, in fp32: the weight, and AdamW's two moments of its gradients (Muon: one). bf16 and fp16 add a
   16-bit copy of every matrix. Gradients appear during the backward pass while activations are freed: of gradients and
   item 3 the larger counts.
3. The activations that the backward pass needs. Per token and layer: the layer's input, q, k, v, the attention output
   (by head and merged), the inputs of both LayerNorms and the output of the first, each of the hidden size; and two
   vectors of the intermediate size, before and after its activation function. In bf16, inputs of matrix products take
   half the bytes. Dropout adds a byte for each number it may drop, and on the CPU it needs explicit attention: four
   matrices of (tokens x tokens) in fp32 for every head. The last layer computes most of this for the predicted
   positions only. With gradient checkpointing only the input of every layer is kept, and all of one layer at a time.
   Of layers that have not joined (progressive stacking) only the inputs of their LayerNorms are kept.
4. The logits: for every predicted position one number for every token of the vocabulary, and its gradient. On a GPU
   also their logarithms, in fp32. During causal-LM warm-up every position is predicted, not the masked ones alone:
   then this is the largest item.

Distillation adds the teacher's weights and its forward pass, replaced-token detection all of the generator's.

Evaluation runs a few examples at a time without a backward pass: nothing of item 3, but as much of item 4.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import psutil
import torch

from bertviz_lab.config import BertConfig, PretrainConfig
from bertviz_lab.data.pretraining.masking import MaskingRule
from bertviz_lab.errors import InputError
from bertviz_lab.model import BertForPreTraining
from bertviz_lab.training.loop.hardware import Hardware, local_processes
from bertviz_lab.training.pretraining.evaluate import EVAL_BATCH_SIZE
from bertviz_lab.training.pretraining.phases import phases

_PROCESS = 400 * 2**20
_SLACK = 1.1  # for memory that the allocator keeps


@dataclass(frozen=True)
class MemoryEstimate:
    """Bytes at the peak of a run, by what they are for."""

    process: int  # 0 on a GPU
    weights: int  # with the optimizer's moments, and 16-bit copies
    step: int  # activations for the backward pass, or the gradients it leaves
    predictions: int  # logits and their gradients

    @property
    def total(self) -> int:
        return self.process + self.weights + self.step + self.predictions

    def plus(self, other: "MemoryEstimate") -> "MemoryEstimate":
        """With what another model needs at the same time, in the same process."""
        return MemoryEstimate(
            self.process,
            self.weights + other.weights,
            self.step + other.step,
            self.predictions + other.predictions,
        )


def estimate_memory(
    model: BertConfig,
    settings: PretrainConfig,
    precision: str = "fp32",
    processes: int = 1,
    device: str = "cpu",
    teacher: BertConfig | None = None,
    *,
    sharded: bool = False,
) -> MemoryEstimate:
    """The peak memory of each process of a run; `processes` share every step, and each has the `teacher`.

    If `sharded`, they share the weights, too.
    """
    half = precision in ("bf16", "fp16")
    with torch.device("meta"):
        shape = BertForPreTraining(model)
    weights = sum(p.numel() for p in shape.parameters())
    matrices = sum(p.numel() for name, p in shape.named_parameters() if p.dim() == 2 and ".layers." in name)
    table = model.vocab_size * model.hidden_size
    tables = shape.bert.embeddings
    kept = ((tables.position, settings.position_embeddings), (tables.token_type, settings.segment_embeddings))
    frozen = sum(table.weight.numel() for table, is_trained in kept if table and not is_trained)  # no moments
    moments = 2 * (weights - frozen) - (matrices if settings.optimizer == "muon" else 0)
    persistent = 4 * (weights + moments) + (2 * (matrices + table) if half else 0)

    rows = -(-settings.batch_size // (settings.gradient_accumulation_steps * processes))
    masked = max(1, round(settings.mask_probability * settings.seq_len))
    # (all but the logits, logits) at the moments of which one is the peak
    backward = []
    for phase in phases(settings, model.num_hidden_layers):
        predicted = rows * (settings.seq_len - 1 if phase.causal else masked)
        if settings.replaces_tokens:  # the discriminator reads every token, and its logits are one number each
            predicted = rows * settings.seq_len
        logits = 0 if settings.replaces_tokens else predicted * model.vocab_size
        idle = (model.num_hidden_layers - phase.layers) * (0 if model.is_prenorm else 2)  # LayerNorms
        activations = _activations(model, phase.layers, settings, rows, predicted, half, device)
        activations += 4 * idle * rows * settings.seq_len * model.hidden_size
        backward.append((activations + 4 * table, logits))
    update = (4 * (weights + table) * (2 if processes > 1 else 1), 0)  # gradients, and DDP's buffers for their exchange
    if sharded:  # each holds its part; during a step one layer and the embeddings are gathered
        gathered = 4 * (weights // model.num_hidden_layers + table)
        persistent, update = persistent // processes + gathered, (4 * weights // processes, 0)
    # An evaluation keeps one layer at a time, and masks by the paper's rule whatever the run's is.
    forward = 4 * EVAL_BATCH_SIZE * settings.seq_len * (6 * model.hidden_size + 2 * model.intermediate_size)
    scored = 0 if settings.replaces_tokens else round(MaskingRule.probability * settings.seq_len)
    scoring = (forward, EVAL_BATCH_SIZE * scored * model.vocab_size)
    eval_bytes = 16 if half else 12  # bytes per logit
    train_bytes = (4 if half else 8) if device == "cpu" else eval_bytes  # on a CPU the loss is computed in chunks
    peaks = (*((moment, train_bytes) for moment in backward), (update, 0), (scoring, eval_bytes))
    step, predictions = max(((rest, each * count) for (rest, count), each in peaks), key=sum)
    process = _PROCESS if device == "cpu" else 0
    estimate = MemoryEstimate(process, persistent, int(_SLACK * step), int(_SLACK * predictions))
    if teacher:
        estimate = estimate.plus(_forward(teacher, rows * settings.seq_len, rows * masked))
    if settings.replaces_tokens:
        generator, mlm = settings.generator_config(model), replace(settings, family="electra", objective="mlm")
        mlm = replace(mlm, causal_share=0.0)
        estimate = estimate.plus(estimate_memory(generator, mlm, precision, processes, device))
    return estimate


def _forward(model: BertConfig, tokens: int, predicted: int) -> MemoryEstimate:
    """A model that is not trained beside the one that is: its weights, a layer at a time, and twice its logits."""
    with torch.device("meta"):
        weights = sum(p.numel() for p in BertForPreTraining(model).parameters())
    layer = tokens * (6 * model.hidden_size + 2 * model.intermediate_size)
    return MemoryEstimate(0, 4 * weights, 4 * layer, 8 * predicted * model.vocab_size)


def _activations(
    model: BertConfig, layers: int, settings: PretrainConfig, rows: int, predicted: int, half: bool, device: str
) -> int:
    """Bytes of the activations of `layers` layers that the backward pass needs, without the logits."""
    hidden, inner = model.hidden_size, model.intermediate_size
    plain, product = 4, 2 if half else 4  # bytes of a number, and of an input of a matrix product
    explicit_attention = settings.dropout > 0 and device == "cpu"
    attended = 3 * product * hidden  # per token that is only attended to: the layer's input, k, v
    attending = (4 * product + 2 * plain) * hidden + 2 * product * inner  # per token that attends: all the rest
    if settings.dropout > 0:
        attending += 2 * hidden
    elif half and device == "cpu":  # attention by plain matrix products
        attending += product * model.num_attention_heads * settings.seq_len
    if explicit_attention:
        attended += plain * hidden
        attending += plain * hidden + (4 * plain + 1) * model.num_attention_heads * settings.seq_len
    tokens = rows * settings.seq_len
    layer, last = tokens * (attended + attending), tokens * attended + (predicted + rows) * attending
    kept = (layers - 1) * layer + last
    if settings.gradient_checkpointing:  # the input of each layer, and all of one
        kept = min(kept, layers * tokens * plain * hidden + max(layer, last))
    return kept + (2 * tokens + 4 * predicted) * plain * hidden  # and the embeddings, and the head before its logits


_SMALLER = "choose a smaller --preset, --vocab-size, --seq-len or --batch-size"


def require_memory(
    model: BertConfig,
    settings: PretrainConfig,
    hardware: Hardware,
    smaller: str = _SMALLER,
    teacher: BertConfig | None = None,
) -> None:
    """Raise `InputError` with what is needed, what is free and what to change, where a run cannot fit.

    `smaller` is the advice where gradient accumulation does not help.
    """
    kind = hardware.device.type
    here = local_processes() if kind == "cpu" else 1  # processes that share this memory

    def needed(changed: PretrainConfig) -> int:
        shared = (hardware.precision, hardware.processes, kind, teacher)
        return here * estimate_memory(model, changed, *shared, sharded=hardware.is_sharded).total

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
    """Bytes that `processes` like this one may use on this device: what is free, and what this one has already."""
    if device is not None and device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0] + torch.cuda.memory_reserved(device)
    free = min([psutil.virtual_memory().available, *_left_in_groups(), *_left_in_address_space()])
    return free + processes * min(psutil.Process().memory_info().rss, _PROCESS)


def _left_in_address_space() -> Iterator[int]:
    """Bytes that this process may still reserve where it has a limit (RLIMIT_AS), as the runs of a page have."""
    with contextlib.suppress(ImportError):
        import resource

        most, _ = resource.getrlimit(resource.RLIMIT_AS)
        if most != resource.RLIM_INFINITY:
            yield max(0, most - psutil.Process().memory_info().vms)


def _left_in_groups(groups: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")) -> Iterator[int]:
    """Bytes left in each control group of this process, the limits of containers (Linux)."""
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
                maximum, usage = (folder / limit).read_text().strip(), int((folder / used).read_text())
                stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
            except (OSError, ValueError):  # the root group has no limit, others may be hidden
                continue
            if maximum != "max":
                yield int(maximum) - usage + int(stat.get("inactive_file", 0))  # the page cache can be reclaimed


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:,.1f} GB"
