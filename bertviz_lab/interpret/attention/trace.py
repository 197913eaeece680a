"""Traces: every intermediate result of every layer for one text."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from bertviz_lab.errors import InputError
from bertviz_lab.interpret.cost import check_memory
from bertviz_lab.interpret.inputs import at_least_one, backbone, encode_inputs, head_mask_for
from bertviz_lab.model import LayerTrace
from bertviz_lab.tokenization import Encoding
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint


@dataclass(frozen=True, eq=False)
class TextTrace:
    """What a model computed for a text; batch size 1 throughout.

    `attentions`: (layers, heads, tokens, tokens), row = query token, column = key token;
    every row sums to 1. `hidden_states`: (layers + 1, tokens, hidden), the embeddings first.
    """

    encoding: Encoding
    layers: tuple[LayerTrace, ...]
    hidden_states: NDArray[np.float32]

    @cached_property
    def attentions(self) -> NDArray[np.float32]:
        return np.stack([layer.attention_probs[0].float().numpy() for layer in self.layers])

    @property
    def tokens(self) -> tuple[str, ...]:
        return self.encoding.tokens

    def top(self, layer: int, head: int, token: int, k: int = 5) -> tuple[tuple[int, float], ...]:
        """The k positions that `token` attends to most in a head, with their weights, largest first; at most all.

        Raises `InputError` for a layer, head or token that does not exist, and for k below 1.
        """
        k = at_least_one(k, "k")
        try:
            row = self.attentions[layer, head, token]
        except IndexError:
            raise InputError("That layer, head or token is not there.") from None
        return tuple((int(i), float(row[i])) for i in np.argsort(-row, kind="stable")[:k])


@torch.no_grad()  # and not inference mode, whose tensors no probe could be trained on
def trace_text(
    checkpoint: Checkpoint,
    text_a: str,
    text_b: str | None = None,
    *,
    max_length: int | None = None,
    head_mask: NDArray[np.floating] | None = None,
    causal: bool = False,
) -> TextTrace:
    """Run a model on a text, or a pair, and return all intermediate results.

    `head_mask` (layers, heads) scales each head's output; `causal` masks later tokens, as in GPT.
    Raises `InputError` when there is no text, or the shape of the head mask does not match the model.
    """
    inputs = encode_inputs(checkpoint, text_a, text_b, max_length)
    check_memory(checkpoint, len(inputs.encoding), traced=True)
    out = backbone(checkpoint)(
        **inputs.arguments(),
        output_trace=True,
        output_hidden_states=True,
        head_mask=head_mask_for(checkpoint, head_mask),
        causal=causal,
    )
    hidden = np.stack([state[0].float().numpy() for state in out.hidden_states])
    return TextTrace(inputs.encoding, out.trace, hidden)
