"""Objectives and layers that are only tried here; each has its source, and `training` applies it."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from bertviz_lab.config import IGNORE_INDEX
from bertviz_lab.data.pretraining.batches import PretrainingBatch, PretrainingData
from bertviz_lab.data.pretraining.sentence_pairs import Examples
from bertviz_lab.model.heads import MaskedLMHead
from bertviz_lab.model.layers import Linear

_BAG = 4  # next tokens
_FROM_LAST = 3.0  # logit of the last layer's share at the start: nearly all of the mixture


@dataclass(frozen=True)
class VariedData(PretrainingData):
    """Batches of which some are causal throughout, or whose masks prefer rare tokens."""

    causal_throughout: float = 0.0  # fraction of all batches, evenly spread
    keep_V: NDArray[np.float64] | None = None  # probability that a chosen token stays chosen, by its id

    def batch_at(self, rows: Examples, epoch: int, number: int) -> PretrainingBatch:
        """Make a batch causal where the fraction says so, whatever the stage (GPT-BERT, Charpentier & Samuel 2024).

        GPT-BERT also shifts masked tokens by one, so that both objectives read a token at the position before it;
        here a token is read where it is masked, as everywhere in the lab.
        """
        if int((number + 1) * self.causal_throughout) > int(number * self.causal_throughout):
            return self.causal_batch(rows)
        return super().batch_at(rows, epoch, number)

    def batch(self, rows: Examples, rng: np.random.Generator) -> PretrainingBatch:
        batch = super().batch(rows, rng)
        return batch if self.keep_V is None else _thinned(batch, torch.from_numpy(self.keep_V))


def preferring_rare_tokens(data: VariedData, counts_V: NDArray[np.int64]) -> VariedData:
    """Mask as many tokens as before, rare ones more often (frequency-informed masking, Kosmopoulou et al. 2025).

    Twice as many are chosen, and half of these stay chosen: of each token the share that word2vec keeps of frequent
    words, the root of a threshold over its frequency (Mikolov et al. 2013).
    """
    shares_V = np.maximum(counts_V, 1) / np.maximum(counts_V, 1).sum()
    low, high = 0.0, 1.0  # the threshold is between them
    for _ in range(50):
        threshold = (low + high) / 2
        keep_V = np.minimum(1.0, np.sqrt(threshold / shares_V))
        low, high = (threshold, high) if (shares_V * keep_V).sum() < 0.5 else (low, threshold)
    return replace(data, rule=replace(data.rule, probability=2 * data.rule.probability), keep_V=keep_V)


def varied(data: PretrainingData, causal_throughout: float = 0.0) -> VariedData:
    """Return the same data with what can be varied here."""
    return VariedData(**vars(data), causal_throughout=causal_throughout)


def _thinned(batch: PretrainingBatch, keep_V: Tensor) -> PretrainingBatch:
    """Put back the chosen tokens that are not kept."""
    asked = batch.labels != IGNORE_INDEX
    kept = asked & (batch.draws < keep_V[batch.labels.clamp(min=0)])
    rows, places = torch.nonzero(asked & ~kept, as_tuple=True)
    input_ids = batch.input_ids.clone()
    input_ids[rows, batch.masked_positions[rows, places]] = batch.labels[rows, places]
    width = max(1, int(kept.sum(1).max()))
    order = kept.int().argsort(dim=1, descending=True, stable=True)[:, :width]
    return replace(
        batch,
        input_ids=input_ids,
        masked_positions=batch.masked_positions.gather(1, order),
        labels=batch.labels.where(kept, IGNORE_INDEX).gather(1, order),
        draws=batch.draws.gather(1, order),
        label_count=int(kept.sum()),
    )


class BagOfNextTokens:
    """A loss in causal batches: each position predicts the next few tokens in any order, by a transform of its own.

    Predicting exactly each of several next tokens is too hard a task for a small model, their order less so (Zuhri et
    al. 2025); here it is their set. The word embeddings are the decoder, as in the MLM head.
    """

    def __init__(self, model: nn.Module) -> None:
        (head,) = (module for module in model.modules() if isinstance(module, MaskedLMHead))
        head.bag = Linear(head.transform.in_features, head.transform.out_features)
        nn.init.normal_(head.bag.weight, std=0.02)
        nn.init.zeros_(head.bag.bias)
        head.register_forward_pre_hook(self._see)

    def _see(self, head: Any, inputs: tuple[Tensor, Tensor]) -> None:
        self._head, (self._hidden_BPD, self._word_VD) = head, inputs

    def loss(self, batch: PretrainingBatch) -> Tensor:
        """Return the mean loss of the tokens after each position of the batch that the head has just seen."""
        x_BPD = self._head.norm(F.gelu(self._head.bag(self._hidden_BPD)))
        log_BPV = F.log_softmax(F.linear(x_BPD, self._word_VD, self._head.bias).float(), -1)
        width = batch.labels.shape[1]
        ahead = range(min(_BAG, width))
        losses = [
            F.nll_loss(log_BPV[:, : width - skip].flatten(0, 1), batch.labels[:, skip:].flatten(), reduction="sum")
            for skip in ahead
        ]
        return torch.stack(losses).sum() / max(1, len(ahead) * batch.label_count)


def weigh_layers(model: Any) -> None:
    """Let each layer read a learned mixture of the embeddings and of the outputs of all layers before it.

    Source: ELC-BERT (Charpentier & Samuel 2023); here layers keep their own residual connections, and at first nearly
    all of the mixture is the layer before.
    """
    layers = model.bert.encoder.layers
    outputs: list[Tensor] = []

    def begin(layer: Any, inputs: tuple[Tensor, ...]) -> None:
        outputs[:] = [inputs[1]]

    def mix(layer: Any, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
        outputs.append(output)
        return torch.stack([share * each for share, each in zip(layer.shares.softmax(0), outputs, strict=True)]).sum(0)

    layers[0].register_forward_pre_hook(begin)
    for place, layer in enumerate(layers[:-1], 1):
        layer.shares = nn.Parameter(torch.tensor([0.0] * place + [_FROM_LAST]))
        layer.register_forward_hook(mix)
