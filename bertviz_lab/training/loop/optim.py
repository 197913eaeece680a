"""Optimizers: AdamW as in the paper or Muon, and which parameters decay."""

import torch
from torch import Tensor, nn

from bertviz_lab.config import FinetuneConfig, PretrainConfig
from bertviz_lab.errors import InputError
from bertviz_lab.model.embeddings import Embeddings
from bertviz_lab.model.layers import Embedding, Linear

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
        optimizers.append(
            torch.optim.Muon(
                [{"params": matrices, "factor": MUON_FACTOR}],
                lr=MUON_FACTOR * learning_rate,
                weight_decay=settings.weight_decay,
                adjust_lr_fn="match_rms_adamw",
                ns_steps=MUON_ITERATIONS,
            )
        )
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
        raise InputError(
            f"--freeze-layers {settings.freeze_layers} leaves nothing to train: the model has {layers} layers."
        )
    return torch.optim.AdamW(groups, lr=learning_rate, betas=(0.9, 0.999), eps=1e-6, fused=True)


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
