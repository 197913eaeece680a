"""Norms layer by layer: of hidden states, and of what self-attention and the feed-forward network add to them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from bertviz_lab.interpret.attention.trace import trace_text
from bertviz_lab.interpret.inputs import backbone
from bertviz_lab.tokenization import Encoding
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint


@dataclass(frozen=True, eq=False)
class NormsByLayer:
    """Euclidean norms of each token's vectors."""

    encoding: Encoding
    hidden: NDArray[np.float32]  # (layers + 1, tokens), the embeddings first
    attention: NDArray[np.float32]  # (layers, tokens): what self-attention adds to a layer's input
    feed_forward: NDArray[np.float32]  # (layers, tokens): what the feed-forward network adds after that


@torch.inference_mode()
def norms_by_layer(checkpoint: Checkpoint, text_a: str, text_b: str | None = None) -> NormsByLayer:
    """Norms of a text's hidden states and of both updates of each layer, before LayerNorm (Kobayashi et al. 2021).

    Raises `InputError` without a text.
    """
    trace = trace_text(checkpoint, text_a, text_b)
    layers: Any = backbone(checkpoint).encoder.layers
    attention = torch.stack([layer.attention_projection[0].norm(dim=-1) for layer in trace.layers])
    feed_forward = torch.stack(
        [
            layer.output(of_layer.intermediate_output)[0].norm(dim=-1)
            for layer, of_layer in zip(layers, trace.layers, strict=True)
        ]
    )
    return NormsByLayer(
        trace.encoding,
        np.linalg.norm(trace.hidden_states, axis=-1),
        attention.float().numpy(),
        feed_forward.float().numpy(),
    )
