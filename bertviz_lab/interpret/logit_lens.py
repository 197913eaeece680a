"""The prediction at every layer: what the masked-LM head would say if the model stopped there.

The head was trained on the last layer only, so its predictions from earlier ones are an approximation
(nostalgebraist 2020, "interpreting GPT: the logit lens").
"""

from dataclasses import dataclass

import torch

from bertviz_lab.interpret.inputs import backbone, encode_inputs
from bertviz_lab.interpret.predictions.predictions import Candidate, candidates_of
from bertviz_lab.interpret.targets import Target, choose_target, head_logits, require_head
from bertviz_lab.tokenization import Encoding
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint


@dataclass(frozen=True)
class LayerPrediction:
    """The head's prediction from one layer."""

    layer: int  # 0 is the embeddings, before the first layer
    candidates: tuple[Candidate, ...]
    probability: float  # of the target's token
    rank: int  # of the target's token, 1 being the likeliest
    entropy: float  # of the whole prediction, in nats


@dataclass(frozen=True)
class LogitLens:
    """How a prediction comes about, from the embeddings to the last layer, which is the prediction itself."""

    encoding: Encoding
    target: Target
    layers: tuple[LayerPrediction, ...]


@torch.inference_mode()
def logit_lens(
    checkpoint: Checkpoint, text: str, text_b: str | None = None, *, target: Target | None = None, top_k: int = 5
) -> LogitLens:
    """Read every layer's vector at a [MASK] through the model's own masked-LM head.

    Raises `InputError` as `choose_target` does.
    """
    model = require_head(checkpoint, "token")
    inputs = encode_inputs(checkpoint, text, text_b)
    target = target or choose_target(checkpoint, inputs)
    states = backbone(checkpoint)(**inputs.arguments(), output_hidden_states=True).hidden_states
    vectors_ND = torch.cat([state[:, target.position] for state in states])
    probabilities_NV = head_logits(model, "token", vectors_ND).float().softmax(-1)
    at_target = probabilities_NV[:, target.index]
    ranks = (probabilities_NV > at_target[:, None]).sum(-1) + 1
    entropies = torch.special.entr(probabilities_NV).sum(-1)
    return LogitLens(
        inputs.encoding,
        target,
        tuple(
            LayerPrediction(layer, candidates_of(checkpoint.tokenizer, row, top_k), float(p), int(rank), float(entropy))
            for layer, (row, p, rank, entropy) in enumerate(
                zip(probabilities_NV, at_target, ranks, entropies, strict=True)
            )
        ),
    )
