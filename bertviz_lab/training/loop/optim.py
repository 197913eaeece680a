"""Optimizers: AdamW as in the paper or Muon, which parameters decay, gradient clipping, learning-rate schedule."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from bertviz_lab.config import BertConfig, FinetuneConfig, PretrainConfig
from bertviz_lab.errors import InputError
from bertviz_lab.model.embeddings import Embeddings
from bertviz_lab.model.layers import Embedding, Linear
from bertviz_lab.training.loop.hardware import cpu_multiplies_bf16
from bertviz_lab.training.loop.sharding import whole

#: Muon's learning rate in terms of AdamW's: measured best on Wikipedia and Tiny Town.
MUON_FACTOR = 2.5
#: Newton-Schulz iterations of an update. Three instead of the usual five make a step cheaper: on Wikipedia a mini model
#: took 12% more steps in the same time and reached a loss 0.06 nats lower.
MUON_ITERATIONS = 3


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict]:
    """Matrices and embedding tables decay; biases and LayerNorm do not (google-research/bert, optimization.py).

    Decided by the type of module that owns a parameter, not by its name; every parameter is in one group.
    """
    decayed = {id(m.weight) for m in model.modules() if isinstance(m, (Linear, Embedding))}
    parameters = [p for p in model.parameters() if p.requires_grad]
    return [
        {"params": [p for p in parameters if id(p) in decayed], "weight_decay": weight_decay},
        {"params": [p for p in parameters if id(p) not in decayed], "weight_decay": 0.0},
    ]


def build_optimizers(model: nn.Module, settings: PretrainConfig, learning_rate: float) -> list[torch.optim.Optimizer]:
    """AdamW for everything, or Muon (Jordan et al. 2024) for the encoder's matrices and AdamW for the rest.

    The learning rate is AdamW's; Muon's is `MUON_FACTOR` times that, now and whenever the rate is set.
    """
    groups = parameter_groups(model, settings.weight_decay)
    matrices: list[Tensor] = []
    if settings.optimizer == "muon":
        matrices = [m.weight for name, m in model.named_modules() if isinstance(m, Linear) and ".layers." in name]
        chosen = {id(p) for p in matrices}
        for group in groups:
            group["params"] = [p for p in group["params"] if id(p) not in chosen]
    optimizers: list[torch.optim.Optimizer] = [
        torch.optim.AdamW(groups, lr=learning_rate, betas=(0.9, settings.adam_beta2), eps=1e-6, fused=True)
    ]
    if matrices:
        group = {"params": matrices, "factor": MUON_FACTOR}
        decay = settings.weight_decay
        optimizers.append(Muon([group], MUON_FACTOR * learning_rate, decay, ns_steps=MUON_ITERATIONS))
    return optimizers


def build_finetuning_optimizer(
    model: nn.Module, settings: FinetuneConfig, learning_rate: float
) -> torch.optim.Optimizer:
    """AdamW over the trainable parameters: the embeddings and the lowest `freeze_layers` layers are frozen, if any.

    With `layerwise_lr_decay` d a layer n below the head learns at d^n of the rate, the embeddings slowest
    (Howard and Ruder 2018; Sun et al. 2019, section 5.3).
    """
    depths = _depths(model)
    layers = max(depths.values(), default=0)
    for parameter in () if settings.lora else model.parameters():  # with adapters, which are trained is decided already
        parameter.requires_grad_(
            depths.get(id(parameter), layers + 1) > settings.freeze_layers or settings.freeze_layers == 0
        )
    ablate_embeddings(model)
    groups = []
    for group in parameter_groups(model, settings.weight_decay):
        for depth in range(layers + 2):
            chosen = [p for p in group["params"] if depths.get(id(p), layers + 1) == depth]
            if chosen:
                factor = settings.layerwise_lr_decay ** (layers + 1 - depth)
                groups.append({"params": chosen, "weight_decay": group["weight_decay"], "factor": factor})
    if not groups:
        raise InputError(f"`freeze_layers={settings.freeze_layers}` freezes all: the model has {layers} layers.")
    return torch.optim.AdamW(groups, lr=learning_rate, betas=(0.9, 0.999), eps=1e-6, fused=True)


def clip_and_step(
    model: nn.Module, optimizers: Sequence[torch.optim.Optimizer], max_grad_norm: float, scaler: torch.amp.GradScaler
) -> Tensor:
    """Clip the gradient, update the weights and clear the gradient; return the norm before clipping.

    In fp16 a step whose gradient overflowed anywhere is skipped by all optimizers, the loss scale is lowered, and
    the norm is reported as 0. All skip together because the clipping norm is that of all gradients.
    """
    for optimizer in optimizers:
        scaler.unscale_(optimizer)
    norm = whole(nn.utils.clip_grad_norm_(model.parameters(), max_grad_norm))
    overflow = scaler.is_enabled() and not bool(norm.isfinite())
    for optimizer in optimizers:
        if not overflow:
            scaler.step(optimizer)
        optimizer.zero_grad(set_to_none=True)
    scaler.update()
    return torch.zeros_like(norm) if overflow else norm


@torch.no_grad()
def ablate_embeddings(model: nn.Module, *, positions: bool = False, segments: bool = False) -> None:
    """Ablate these embeddings: their vectors become zero, which adds nothing, and are frozen.

    The table stays in the checkpoint, so that it remains a standard BERT. A table that is all zeros already, because
    the model was trained without it, is frozen too.
    """
    for module in model.modules():
        if isinstance(module, Embeddings):
            for table, unwanted in ((module.position, positions), (module.token_type, segments)):
                if table is None:  # a family without it
                    continue
                if unwanted:
                    table.weight.zero_()
                if not table.weight.any():
                    table.weight.requires_grad_(False)


def _depths(model: nn.Module) -> dict[int, int]:
    """Depth of each parameter of the backbone, by its identity: 0 in the embeddings, n in layer n."""
    depths: dict[int, int] = {}
    for name, parameter in model.named_parameters():
        if ".embeddings." in f".{name}":  # an encoder without a head has no prefix
            depths[id(parameter)] = 0
        elif ".layers." in name:
            depths[id(parameter)] = 1 + int(name.split(".layers.")[1].split(".")[0])
    return depths


#: Peak learning rates that worked best for minutes of training, by hidden size: smaller models take larger steps.
_LEARNING_RATES = ((128, 2e-3), (256, 1.2e-3), (512, 7e-4), (768, 3e-4), (math.inf, 1e-4))
#: The same for fine-tuning: a base-size model takes the middle of the paper's grid.
_FINETUNING_RATES = ((128, 1e-3), (256, 4e-4), (512, 1e-4), (768, 3e-5), (math.inf, 2e-5))


def default_learning_rate(config: BertConfig, finetuning: bool = False) -> float:
    """Return the default peak learning rate for a size of model."""
    rates = _FINETUNING_RATES if finetuning else _LEARNING_RATES
    return next(rate for hidden, rate in rates if config.hidden_size <= hidden)


def lr_schedule(progress: float, warmup: float) -> float:
    """Return the fraction of the peak learning rate at `progress` (0 to 1): linear warm-up, then decay to zero."""
    if progress < warmup:
        return progress / warmup
    return max(0.0, (1.0 - progress) / (1.0 - warmup))


def set_learning_rate(optimizers: Sequence[torch.optim.Optimizer], rate: float) -> None:
    """Set the learning rate of every parameter group, times the group's own factor."""
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = rate * group.get("factor", 1.0)


class Muon(torch.optim.Muon):
    """PyTorch's Muon, with its state and settings, whose matrix products are in fp32 where bf16 is slow.

    PyTorch's are in bf16 everywhere. Processors without instructions for it take 20 to 50 times as long as in fp32
    (one thread of an AMD EPYC with AVX2, matrices of 128 to 512 rows), which made a step of a tiny model 7 times as
    long. The learning rate is adjusted to the size of AdamW's updates (`match_rms_adamw`, Liu et al. 2025).
    """

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Update the matrices that have a gradient; on a GPU those of one shape together, in a few large kernels."""
        for group in self.param_groups:
            trained = [matrix for matrix in group["params"] if matrix.grad is not None]
            updates = [self._update(matrix, group["momentum"]) for matrix in trained]
            settings = (group["ns_steps"], group["ns_coefficients"], group["eps"])
            stacked = bool(trained) and trained[0].is_cuda and not hasattr(trained[0], "full_tensor")  # of a DTensor
            groups: dict[Any, list[int]] = {}  # places of the matrices that are updated together
            for place, update in enumerate(updates):
                groups.setdefault(update.shape if stacked else place, []).append(place)
            for places in groups.values():
                if len(places) == 1:
                    directions = [orthogonalized(updates[places[0]], *settings)]
                else:
                    directions = list(orthogonalized(torch.stack([updates[place] for place in places]), *settings))
                for place, update in zip(places, directions, strict=True):
                    matrix = trained[place]
                    matrix.mul_(1 - group["lr"] * group["weight_decay"])
                    matrix.add_(update, alpha=-0.2 * group["lr"] * math.sqrt(max(matrix.shape)))

    def _update(self, matrix: Tensor, momentum: float) -> Tensor:
        """Return the direction of a matrix before it is made orthogonal, by Nesterov's momentum."""
        gradient, state = matrix.grad, self.state[matrix]
        assert gradient is not None
        if not state:
            state["momentum_buffer"] = torch.zeros_like(gradient)
        return gradient.lerp(state["momentum_buffer"].lerp_(gradient, 1 - momentum), momentum)


def orthogonalized(update: Tensor, iterations: int, coefficients: tuple[float, float, float], eps: float) -> Tensor:
    """Return a matrix (..., rows, columns) with its singular values moved toward 1, by Newton-Schulz iterations.

    Each iteration maps a singular value s to a s + b s^3 + c s^5 with the `coefficients` a, b, c.
    """
    slow = update.device.type == "cpu" and not cpu_multiplies_bf16()
    a, b, c = coefficients
    x = update.to(torch.float32 if slow else torch.bfloat16)
    is_tall = x.shape[-2] > x.shape[-1]
    x = x.mT if is_tall else x
    x = x / torch.linalg.matrix_norm(x, keepdim=True).clamp(min=eps)  # no singular value is above 1
    add_product = torch.addmm if x.dim() == 2 else torch.baddbmm
    for _ in range(iterations):
        gram = x @ x.mT
        x = add_product(x, add_product(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.mT if is_tall else x
