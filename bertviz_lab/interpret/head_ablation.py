"""Head ablation: one prediction without single heads, and without all heads of a layer (Michel et al. 2019)."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bertviz_lab.interpret.inputs import (
    ModelInputs,
    OnProgress,
    backbone,
    check_passes,
    encode_inputs,
    in_evaluation_mode,
    nothing,
    variants_per_batch,
)
from bertviz_lab.interpret.targets import Target, check_target, choose_target
from bertviz_lab.model.attention import extended_attention_mask
from bertviz_lab.tokenization import Encoding
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint


@dataclass(frozen=True, eq=False)
class HeadAblation:
    """The score of one prediction (see `Target.score`), with all heads and with some ablated."""

    encoding: Encoding
    target: Target
    baseline: float  # with all heads
    without_head: NDArray[np.float64]  # (layers, heads): with that head ablated
    without_layer: NDArray[np.float64]  # (layers,): with all heads of that layer ablated

    @property
    def effects(self) -> NDArray[np.float64]:
        """The effect of each head on the score, in nats, (layers, heads): negative where the head lowers it."""
        return self.baseline - self.without_head

    def top(self, k: int = 5) -> tuple[tuple[int, int, float], ...]:
        """Return (layer, head, effect) of the heads with the largest absolute effect."""
        effects = self.effects
        order = np.argsort(-np.abs(effects), axis=None, kind="stable")[:k]
        return tuple((int(i // effects.shape[1]), int(i % effects.shape[1]), float(effects.flat[i])) for i in order)


@torch.inference_mode()
@in_evaluation_mode
def ablate_heads(
    checkpoint: Checkpoint,
    text_a: str,
    text_b: str | None = None,
    *,
    target: Target | None = None,
    on_progress: OnProgress = nothing,
) -> HeadAblation:
    """Ablate every head in turn, then every layer's heads together, and score the same prediction again.

    By default the prediction is the most probable token of the first [MASK]. Layers below a head do not depend on it,
    so each layer's ablations start from the hidden states of the full model there: this is exact, and twice as fast.
    `on_progress` is called with the share that is done. Raises `InputError` for a target of another text or model, and
    as `choose_target` does.
    """
    inputs = encode_inputs(checkpoint, text_a, text_b)
    target = check_target(checkpoint, inputs, target) if target else choose_target(checkpoint, inputs)
    layers, heads = checkpoint.config.num_hidden_layers, checkpoint.config.num_attention_heads
    check_passes(checkpoint, len(inputs.encoding), (layers + 1) * (heads + 1) / 2, "Head ablation")
    states = backbone(checkpoint)(**inputs.arguments(), output_hidden_states=True).hidden_states
    final = states[-1] if target.read_position is None else states[-1][:, target.read_position]
    baseline = float(target.score(checkpoint.model, final))
    scores = np.empty((layers, heads + 1))
    finished, total = 0, layers * (layers + 1) // 2
    for layer in range(layers):
        head_masks = torch.ones(heads + 1, layers, heads, dtype=states[layer].dtype)
        head_masks[:heads, layer] -= torch.eye(heads)
        head_masks[heads, layer] = 0

        def report(share: float, before: int = finished, part: int = layers - layer) -> None:
            on_progress((before + part * share) / total)

        scores[layer] = _from_layer(checkpoint, inputs, target, states[layer], layer, head_masks, report)
        finished += layers - layer
    return HeadAblation(inputs.encoding, target, baseline, scores[:, :heads], scores[:, heads])


def _from_layer(
    checkpoint: Checkpoint,
    inputs: ModelInputs,
    target: Target,
    hidden_1LD: Tensor,
    layer: int,
    head_masks_NLH: Tensor,
    on_progress: OnProgress,
) -> NDArray[np.float64]:
    """Return the target's score, (variants,), when the encoder resumes at a layer with some of its heads ablated."""
    length = hidden_1LD.shape[1]
    attn_mask = extended_attention_mask(inputs.attention_mask, length, checkpoint.config.is_decoder, hidden_1LD.device)
    scores = []
    for head_mask_BLH in head_masks_NLH.split(variants_per_batch(length)):
        hidden_BLD = hidden_1LD.expand(len(head_mask_BLH), -1, -1)
        positions = None if target.read_position is None else torch.full((len(head_mask_BLH), 1), target.read_position)
        model = backbone(checkpoint)
        *_, (last, _) = model.encoder(hidden_BLD, attn_mask, head_mask_BLH, positions, start_layer=layer)
        last = model.as_final(last)
        scores.append(target.score(checkpoint.model, last if positions is None else last[:, 0]))
        on_progress(sum(map(len, scores)) / len(head_masks_NLH))
    return torch.cat(scores).double().numpy()
