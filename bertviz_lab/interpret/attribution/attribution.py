"""Attribution: what each token contributes to a prediction, by three methods; attention is none of them.

Attention says from where a head gathers vectors. It does not say what these do to the answer: large weights can
carry vectors that change nothing, and what is left out of one head comes in by another or by the residual path
(Jain and Wallace 2019). These three ask the answer itself.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bertviz_lab.errors import InputError
from bertviz_lab.interpret.inputs import ModelInputs, backbone, encode_inputs, variants_per_batch
from bertviz_lab.interpret.targets import Target, choose_target, final_vectors
from bertviz_lab.tokenization import Encoding
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint

Method = Literal["integrated gradients", "gradient x input", "occlusion"]
METHODS: tuple[Method, ...] = ("integrated gradients", "gradient x input", "occlusion")

_FIRST_STEPS, _MOST_STEPS = 16, 256
_GOOD_ENOUGH = 0.02  # of what is to be explained


@dataclass(frozen=True)
class Attribution:
    """Attribution of a prediction to its tokens, in nats of log-probability, or of the log-ratio to another's.

    `change` is the score with the text less that with every word replaced by [MASK]. The scores of integrated
    gradients sum to it but for `error`; for the other methods `error` is None, they promise no sum.
    """

    encoding: Encoding
    target: Target
    method: Method
    scores: NDArray[np.float64]  # (tokens,)
    change: float
    error: float | None
    steps: int = 0  # of the integral

    def top(self, k: int = 5) -> tuple[tuple[int, float], ...]:
        """(position, score) of the tokens that matter most, whichever way."""
        order = np.argsort(-np.abs(self.scores), kind="stable")[:k]
        return tuple((int(position), float(self.scores[position])) for position in order)


def attribute(
    checkpoint: Checkpoint,
    text_a: str,
    text_b: str | None = None,
    *,
    method: Method = "integrated gradients",
    target: Target | None = None,
) -> Attribution:
    """Attribute a prediction to the tokens; by default the most probable token of the first [MASK].

    - integrated gradients: the gradient with respect to the word embeddings, integrated on the straight line from a
      text of nothing but [MASK] to this one (Sundararajan et al. 2017); special tokens stay, so they get 0.
    - gradient x input: the gradient here, times the word embedding.
    - occlusion: what is lost when one token alone is replaced by [MASK] (Zeiler and Fergus 2014).

    Raises `InputError` for an unknown method, and as `choose_target` does.
    """
    if method not in METHODS:
        raise InputError(f"Unknown method {method}: choose one of {', '.join(METHODS)}.")
    inputs = encode_inputs(checkpoint, text_a, text_b)
    target = target or choose_target(checkpoint, inputs)
    hidden = _all_masked(checkpoint, inputs)
    with torch.inference_mode():
        both = inputs.variants(torch.cat([inputs.input_ids, hidden]))
        shown, nothing = target.score(checkpoint.model, final_vectors(checkpoint, target.read_position, both))
        change = float(shown - nothing)
    error, steps = None, 0
    if method == "occlusion":
        scores = _occlusion(checkpoint, inputs, target, float(shown))
    elif method == "gradient x input":
        words_LD = _word_embeddings(checkpoint, inputs.input_ids)
        scores = (_gradients(checkpoint, inputs, target, words_LD[None])[0] * words_LD).sum(-1)
    else:
        scores, steps = _integrated(checkpoint, inputs, hidden, target, change)
        error = change - float(scores.sum())
    return Attribution(inputs.encoding, target, method, scores.double().numpy(), change, error, steps)


def _all_masked(checkpoint: Checkpoint, inputs: ModelInputs) -> Tensor:
    """The same ids with [MASK] for every token of the person's text."""
    special = torch.tensor([inputs.encoding.special_tokens_mask]).bool()
    return inputs.input_ids.masked_fill(~special, checkpoint.tokenizer.mask_id)


def _integrated(
    checkpoint: Checkpoint, inputs: ModelInputs, hidden: Tensor, target: Target, change: float
) -> tuple[Tensor, int]:
    """The integral by Gauss and Legendre, with twice as many points until it sums to what it should."""
    shown_LD, from_LD = _word_embeddings(checkpoint, inputs.input_ids), _word_embeddings(checkpoint, hidden)
    way_LD = shown_LD - from_LD
    steps = _FIRST_STEPS
    while True:
        nodes, weights = np.polynomial.legendre.leggauss(steps)
        places = torch.tensor((nodes + 1) / 2, dtype=torch.float32)
        shares = torch.tensor(weights / 2, dtype=torch.float32)
        total_LD = torch.zeros_like(way_LD)
        for place, share in zip(*(t.split(variants_per_batch(len(way_LD))) for t in (places, shares)), strict=True):
            points_BLD = from_LD + place[:, None, None] * way_LD
            total_LD += (share[:, None, None] * _gradients(checkpoint, inputs, target, points_BLD)).sum(0)
        scores = (total_LD * way_LD).sum(-1)
        if abs(change - float(scores.sum())) <= max(_GOOD_ENOUGH * abs(change), 1e-3) or steps >= _MOST_STEPS:
            return scores, steps
        steps *= 2


def _word_embeddings(checkpoint: Checkpoint, ids: Tensor) -> Tensor:
    """(1, tokens) to (tokens, hidden): the word embeddings alone, before position and segment are added."""
    return backbone(checkpoint).embeddings.word(ids)[0].detach()


def _gradients(checkpoint: Checkpoint, inputs: ModelInputs, target: Target, words_BLD: Tensor) -> Tensor:
    """The gradient of the target's score with respect to the word vectors, (batch, tokens, hidden)."""
    words_BLD = words_BLD.detach().clone().requires_grad_()
    arguments = inputs.variants(inputs.input_ids.expand(len(words_BLD), -1)) | {"inputs_embeds": words_BLD}
    del arguments["input_ids"]
    with torch.enable_grad():
        vectors = final_vectors(checkpoint, target.read_position, arguments)
        (gradient,) = torch.autograd.grad(target.score(checkpoint.model, vectors).sum(), words_BLD)
    return gradient


@torch.inference_mode()
def _occlusion(checkpoint: Checkpoint, inputs: ModelInputs, target: Target, shown: float) -> Tensor:
    """What is lost when a token is masked; nothing where it is masked already, or was added by the tokenizer."""
    hidden = _all_masked(checkpoint, inputs)[0]
    places = (hidden != inputs.input_ids[0]).nonzero()[:, 0]
    scores = torch.zeros(len(hidden))
    for some in places.split(variants_per_batch(len(hidden))):
        ids_BL = inputs.input_ids.repeat(len(some), 1)
        ids_BL[torch.arange(len(some)), some] = checkpoint.tokenizer.mask_id
        vectors = final_vectors(checkpoint, target.read_position, inputs.variants(ids_BL))
        scores[some] = shown - target.score(checkpoint.model, vectors)
    return scores
