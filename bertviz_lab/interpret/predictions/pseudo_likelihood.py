"""Pseudo-log-likelihood: the surprisal of each token of a text, masked in turn (Salazar et al. 2020)."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from bertviz_lab.errors import InputError
from bertviz_lab.interpret.cost import check_passes
from bertviz_lab.interpret.inputs import OnProgress, encode_inputs, nothing, variants_per_batch
from bertviz_lab.interpret.predictions.predictions import Candidate, candidates_of
from bertviz_lab.interpret.targets import final_vectors, head_logits, require_head
from bertviz_lab.tokenization import Encoding
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint


@dataclass(frozen=True, eq=False)
class PseudoLogLikelihood:
    """The log-probability of each token of a text given all others.

    `log_probabilities` (tokens,) are in nats, NaN at special tokens and where the text itself has [MASK];
    `expected` has the most probable token at each position, None where there is no score.
    """

    encoding: Encoding
    log_probabilities: NDArray[np.float64]
    expected: tuple[Candidate | None, ...]

    @property
    def total(self) -> float:
        """The pseudo-log-likelihood of the text, in nats (Salazar et al. 2020)."""
        return float(np.nansum(self.log_probabilities))

    @property
    def perplexity(self) -> float:
        """Pseudo-perplexity: the number of equally likely tokens with the same uncertainty per position."""
        return float(np.exp(-np.nanmean(self.log_probabilities)))


@torch.inference_mode()
def pseudo_log_likelihood(
    checkpoint: Checkpoint,
    text_a: str,
    text_b: str | None = None,
    *,
    on_progress: OnProgress = nothing,
) -> PseudoLogLikelihood:
    """Mask each token in turn and take the log-probability of the original.

    The later pieces of a word are masked together with the one that is scored, because they would reveal it (Kauf and
    Ivanova 2023). A [MASK] in the text remains masked and is not scored. Raises `InputError` when there is no text or
    nothing but [MASK] in it, or the model has no masked-LM head.
    """
    model = require_head(checkpoint, "token")
    inputs = encode_inputs(checkpoint, text_a, text_b)
    encoding, tokenizer = inputs.encoding, checkpoint.tokenizer
    masks = encoding.mask_positions(tokenizer.mask_id)
    positions = [
        position
        for position, special in enumerate(encoding.special_tokens_mask)
        if not special and position not in masks
    ]
    if not positions:
        raise InputError("Every token of this text is masked: there is nothing whose probability could be asked for.")
    check_passes(checkpoint, len(encoding), len(positions), "Surprisal")
    scores = np.full(len(encoding), np.nan)
    expected: list[Candidate | None] = [None] * len(encoding)
    batch_size = variants_per_batch(len(encoding))
    for start in range(0, len(positions), batch_size):
        batch = positions[start : start + batch_size]
        ids_BL = inputs.input_ids.repeat(len(batch), 1)
        for row, position in enumerate(batch):
            ids_BL[row, _rest_of_word(encoding, position)] = tokenizer.mask_id
        vectors = final_vectors(checkpoint, torch.tensor(batch), inputs.variants(ids_BL))
        probabilities = head_logits(model, "token", vectors).float().softmax(-1)
        for position, row in zip(batch, probabilities, strict=True):
            scores[position] = float(row[encoding.ids[position]].log())
            (expected[position],) = candidates_of(tokenizer, row, 1)
        on_progress(min(1.0, (start + batch_size) / len(positions)))
    return PseudoLogLikelihood(encoding, scores, tuple(expected))


def _rest_of_word(encoding: Encoding, position: int) -> list[int]:
    """The position itself and the pieces of the same word that follow it."""
    return [at for at in encoding.word_at(position) if at >= position]
