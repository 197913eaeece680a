"""The logit lens: the masked-LM head applied to the hidden state of every layer; and the tuned lens in its place.

The head was trained on the last layer only, so its predictions from earlier layers are an approximation
(nostalgebraist 2020, "interpreting GPT: the logit lens").
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from bertviz_lab.errors import InputError
from bertviz_lab.interpret.attention import trace_text
from bertviz_lab.interpret.corpora.tuned_lens import TunedLens, fingerprint
from bertviz_lab.interpret.inputs import analysis, backbone
from bertviz_lab.interpret.predictions import Candidate, candidates_of
from bertviz_lab.interpret.targets import Target, head_scores, inputs_and_target, require_head
from bertviz_lab.tokenization import Encoding
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint


@dataclass(frozen=True)
class LayerPrediction:
    """The head's prediction from one layer."""

    layer: int  # 0 is the embeddings, before the first layer
    candidates: tuple[Candidate, ...]
    probability: float  # of the target's token
    rank: int  # of the target's token; 1 is the most probable


@dataclass(frozen=True)
class LogitLens:
    """A prediction layer by layer, from the embeddings to the last layer, which is the model's own prediction."""

    encoding: Encoding
    target: Target
    layers: tuple[LayerPrediction, ...]
    is_tuned: bool = False


@analysis
def logit_lens(
    checkpoint: Checkpoint,
    text: str,
    text_b: str | None = None,
    *,
    target: Target | None = None,
    top_k: int = 5,
    tuned: TunedLens | None = None,
) -> LogitLens:
    """Apply the model's masked-LM head to every layer's hidden state at a [MASK], translated first by a `tuned` lens.

    A layer has its `top_k` most probable tokens, or all. Raises `InputError` as `choose_target` does, and for a target
    of another kind, text or model, or a lens of another model.
    """
    require_head(checkpoint, "token")
    if target and target.kind != "token":
        raise InputError(f'The logit lens predicts a token, not {target.name}: choose a target of the kind "token".')
    inputs, target = inputs_and_target(checkpoint, text, text_b, target)
    encoder = backbone(checkpoint)
    states = encoder(**inputs.arguments(), output_hidden_states=True).hidden_states
    states = [state[:, target.position] for state in states]
    if tuned:
        if tuned.fingerprint != fingerprint(checkpoint):
            raise InputError("This tuned lens was fitted for another model: fit one for this model.")
        states = tuned.translate(states)
    *earlier, last = states
    vectors_ND = torch.cat([*map(encoder.as_final, earlier), last])
    probabilities_NV = head_scores(checkpoint, "token", vectors_ND)
    target_N = probabilities_NV[:, target.index]
    ranks = (probabilities_NV > target_N[:, None]).sum(-1) + 1
    top = (candidates_of(checkpoint.tokenizer, row_V, top_k) for row_V in probabilities_NV)
    numbers = zip(top, target_N.tolist(), ranks.tolist(), strict=True)
    layers = tuple(LayerPrediction(layer, *of_layer) for layer, of_layer in enumerate(numbers))
    return LogitLens(inputs.encoding, target, layers, tuned is not None)


@dataclass(frozen=True, eq=False)
class NormsByLayer:
    """Euclidean norms of each token's vectors."""

    encoding: Encoding
    hidden: NDArray[np.float32]  # (layers + 1, tokens), the embeddings first
    attention: NDArray[np.float32]  # (layers, tokens): what self-attention adds to a layer's input
    feed_forward: NDArray[np.float32]  # (layers, tokens): what the feed-forward network adds after that


@analysis
def norms_by_layer(checkpoint: Checkpoint, text_a: str, text_b: str | None = None) -> NormsByLayer:
    """Return norms of hidden states and of both updates of each layer, before LayerNorm (Kobayashi et al. 2021).

    Raises `InputError` without a text.
    """
    trace = trace_text(checkpoint, text_a, text_b)
    attention = [layer.attention_projection for layer in trace.layers]
    feed_forward = [layer.feed_forward_projection for layer in trace.layers]
    updates = (torch.cat(of_layers).norm(dim=-1).float().numpy() for of_layers in (attention, feed_forward))
    return NormsByLayer(trace.encoding, np.linalg.norm(trace.hidden_states, axis=-1), *updates)
