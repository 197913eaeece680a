"""The memory that a run needs at its peak, by arithmetic, so that one that cannot fit is refused before it starts.

Four things are in memory at the worst moment of a step, the start of the backward pass:

1. The process itself: Python, the libraries, the tokenizer, the tables of examples.
2. For every weight, in fp32: the weight, and AdamW's two moments of its gradients (Muon: one). bf16 and fp16 add a
   16-bit copy of every matrix. Gradients appear during the backward pass while activations are freed: on a GPU the
   larger of gradients and item 3 counts. A CPU's allocator puts them beside activations, whose blocks have other sizes.
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
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil
import torch
from torch import Tensor

from bertviz_lab.config import BertConfig
from bertviz_lab.errors import InputError
from bertviz_lab.model import BertForPreTraining
from bertviz_lab.training.loop.hardware import Hardware, local_processes

_PROCESS = 470 * 2**20  # with what reading a text leaves, about 100 MB after 50 MB of it
_KERNELS = 200 * 2**20  # that oneDNN compiles for products of bf16 matrices, with their buffers
#: For memory that the allocator keeps: on a CPU also that of steps with fewer layers and of other lengths, of which a
#: fine-tuning has many. What oneDNN keeps for each of them lies between the tensors and divides the room for others.
_SLACK, _SLACK_ON_CPU, _SLACK_OF_WIDTHS = 1.1, 1.35, 1.6


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
        """Add what another model needs at the same time, in the same process."""
        sums = (getattr(self, name) + getattr(other, name) for name in ("weights", "step", "predictions"))
        return MemoryEstimate(self.process, *sums)


@dataclass(frozen=True)
class StepShape:
    """What one process computes in a step, or in a batch of an evaluation."""

    rows: int
    length: int  # tokens in a row
    predicted: int  # tokens that the head reads
    logits: int  # numbers that the head returns
    layers: int = 0  # that are trained; 0: all


def training_memory(
    model: BertConfig,
    steps: Sequence[StepShape],
    evaluation: StepShape,
    *,
    precision: str,
    device: str,
    dropout: float,
    moments: int = 2,
    frozen: Collection[str] = (),
    gradient_checkpointing: bool,
    processes: int,
    sharded: bool = False,
    widths_vary: bool = False,
) -> MemoryEstimate:
    """Return the peak memory of each process of a run with steps and evaluations of these shapes.

    `moments` are those that the optimizer keeps for a matrix, `frozen` the names of parameters that have none.
    `processes` share every step and, if `sharded`, the weights. `widths_vary`: the shapes are the largest of many.
    """
    half = precision in ("bf16", "fp16")
    parameters = _parameters(model)
    weights = sum(p.numel() for p in parameters.values())
    without = sum(parameters[name].numel() for name in frozen if name in parameters)
    matrices = sum(p.numel() for name, p in parameters.items() if p.dim() == 2 and ".layers." in name)
    table = model.vocab_size * model.hidden_size
    persistent = 4 * (weights + 2 * (weights - without) - (2 - moments) * matrices)
    persistent += 2 * (matrices + table) if half else 0

    # (all but the logits, logits) at the moments of which one is the peak
    backward = []
    for step in steps:
        layers = step.layers or model.num_hidden_layers
        idle = (model.num_hidden_layers - layers) * (0 if model.is_prenorm else 2)  # LayerNorms
        activations = _activations(model, layers, step, half, device, dropout, gradient_checkpointing)
        activations += 4 * idle * step.rows * step.length * model.hidden_size
        backward.append((activations + 4 * table, step.logits))
    gradients = 4 * (weights + table) * (2 if processes > 1 else 1)  # with DDP's buffers for their exchange
    if sharded:  # each holds its part; during a step one layer and the embeddings are gathered
        gathered = 4 * (weights // model.num_hidden_layers + table)
        persistent, gradients = persistent // processes + gathered, 4 * weights // processes
    forward = 4 * evaluation.rows * evaluation.length * (6 * model.hidden_size + 2 * model.intermediate_size)
    eval_bytes = 16 if half else 12  # bytes per logit
    on_cpu = device == "cpu"
    train_bytes = (4 if half else 8) if on_cpu else eval_bytes  # on a CPU the loss is computed in chunks
    peaks = [(moment, train_bytes) for moment in backward] + [((forward, evaluation.logits), eval_bytes)]
    if not on_cpu:
        peaks.append(((gradients, 0), 0))
    rest, predictions = max(((rest, each * count) for (rest, count), each in peaks), key=sum)
    if not on_cpu:
        return MemoryEstimate(0, persistent, int(_SLACK * rest), int(_SLACK * predictions))
    process = _PROCESS + (_KERNELS if half else 0)
    slack = _SLACK_OF_WIDTHS if widths_vary else _SLACK_ON_CPU
    return MemoryEstimate(process, persistent, int(slack * rest) + gradients, int(slack * predictions))


def forward_memory(model: BertConfig, tokens: int, predicted: int) -> MemoryEstimate:
    """Return the memory of a model that is not trained: its weights, a layer at a time, and twice its logits."""
    layer = tokens * (6 * model.hidden_size + 2 * model.intermediate_size)
    weights = sum(p.numel() for p in _parameters(model).values())
    return MemoryEstimate(0, 4 * weights, 4 * layer, 8 * predicted * model.vocab_size)


def _parameters(model: BertConfig) -> dict[str, Tensor]:
    """Return the parameters of a model for pretraining by name, without memory of their own."""
    with torch.device("meta"):
        return dict(BertForPreTraining(model).named_parameters())


def _activations(
    model: BertConfig, layers: int, step: StepShape, half: bool, device: str, dropout: float, checkpointing: bool
) -> int:
    """Return the bytes of the activations of `layers` layers that the backward pass needs, without the logits."""
    hidden, inner = model.hidden_size, model.intermediate_size
    plain, product = 4, 2 if half else 4  # bytes of a number, and of an input of a matrix product
    explicit_attention = dropout > 0 and device == "cpu"
    attended = 3 * product * hidden  # per token that is only attended to: the layer's input, k, v
    attending = (4 * product + 2 * plain) * hidden + 2 * product * inner  # per token that attends: all the rest
    if dropout > 0:
        attending += 2 * hidden
    elif half and device == "cpu":  # attention by plain matrix products
        attending += product * model.num_attention_heads * step.length
    if explicit_attention:
        attended += plain * hidden
        attending += plain * hidden + (4 * plain + 1) * model.num_attention_heads * step.length
    tokens = step.rows * step.length
    layer, last = tokens * (attended + attending), tokens * attended + (step.predicted + step.rows) * attending
    kept = (layers - 1) * layer + last
    if checkpointing:  # the input of each layer, and all of one
        kept = min(kept, layers * tokens * plain * hidden + max(layer, last))
    return kept + (2 * tokens + 4 * step.predicted) * plain * hidden  # and embeddings, and the head before its logits


def require_memory(
    needed: Callable[[int], MemoryEstimate], hardware: Hardware, batch_size: int, parts: int, smaller: str
) -> None:
    """Raise `InputError` with what is needed, what is free and what to change, where a run cannot fit.

    `needed` is the estimate with so many gradient accumulation steps, of which the run has `parts`; `smaller` is the
    advice where more of them do not help.
    """
    kind = hardware.device.type
    here = local_processes() if kind == "cpu" else 1  # processes that share this memory
    free = available_memory(hardware.device, here)
    total = here * needed(parts).total
    if total <= free:
        return
    more, least = parts, total
    while least > free and more < batch_size:
        more = min(2 * more, batch_size)
        least = here * needed(more).total
    most, room, less = (f"{count / 1e9:,.1f} GB" for count in (total, free, least))
    setting = f"`gradient_accumulation_steps={more}`"
    advice = f"with {setting} the same model is trained in {less}" if least <= free else smaller
    raise InputError(f"This run needs about {most} of memory, and {room} are free: {advice}.")


def available_memory(device: torch.device | None = None, processes: int = 1) -> int:
    """Bytes that `processes` like this one may use on this device: what is free, and what this one has already."""
    if device is not None and device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0] + torch.cuda.memory_reserved(device)
    free = min([psutil.virtual_memory().available, *_left_in_groups(), *_left_in_address_space()])
    return free + processes * min(psutil.Process().memory_info().rss, _PROCESS)


def _left_in_address_space() -> Iterator[int]:
    """Yield bytes that this process may still reserve where it has a limit (RLIMIT_AS), as the runs of a page have."""
    with contextlib.suppress(ImportError):
        import resource

        most, _ = resource.getrlimit(resource.RLIMIT_AS)
        if most != resource.RLIM_INFINITY:
            yield max(0, most - psutil.Process().memory_info().vms)


def _left_in_groups(groups: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")) -> Iterator[int]:
    """Yield bytes left in each control group of this process, the limits of containers (Linux)."""
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
