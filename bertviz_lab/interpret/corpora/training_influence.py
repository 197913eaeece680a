"""Which training sentences taught a prediction: TracIn over the snapshots of a run, and BM25 as baseline.

TracIn (Pruthi et al. 2020, "Estimating Training Data Influence by Tracing Gradient Descent", section 3.2, TracInCP)
multiplies two gradients, that of a training sentence z and that of the prediction z', and sums the products over
snapshots k with learning rates eta_k:

    influence(z, z') = sum_k eta_k  grad loss(w_k, z) . grad loss(w_k, z')

The product with one fixed gradient is a directional derivative: forward-mode differentiation gives it for all sentences
of a batch in one pass, exactly and with respect to all weights, so that no gradient of a sentence is ever stored.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.autograd import forward_ad

from bertviz_lab.config import IGNORE_INDEX
from bertviz_lab.data.batches import padded_rows
from bertviz_lab.errors import InputError
from bertviz_lab.interpret.inputs import GRADIENT, OnProgress, forward_operations, nothing, part_of
from bertviz_lab.interpret.targets import Target, final_vectors, inputs_and_target, require_head
from bertviz_lab.tokenization import Encoding, Tokenizer
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint

#: Snapshots whose gradients are compared, and sentences that are compared in each, where nothing else is asked.
SNAPSHOTS, CANDIDATES = 5, 1000
_GROUPS = 4  # of a sentence's tokens: each group is masked once, so that every token is predicted once
_TOKENS_AT_ONCE = 4096
_LONGEST = 128  # tokens of a sentence
_K1, _B = 1.2, 0.75  # of BM25 (Robertson and Zaragoza 2009, section 3.2)


@dataclass(frozen=True, eq=False)
class TrainingInfluence:
    """The influence of training sentences on a prediction, in the order of the text; arrays are (sentences,)."""

    encoding: Encoding
    target: Target
    steps: tuple[int, ...]  # of the snapshots whose gradients are compared
    sentences: tuple[str, ...]  # the candidates
    counts: NDArray[np.int64]  # how often each occurs in the training text
    tracin: NDArray[np.float64]  # of one occurrence: above 0 it lowers the loss of the prediction, below 0 it raises it
    bm25: NDArray[np.float64]  # relevance to the text with its prediction
    total: int  # different sentences of the training text, of which the candidates were chosen

    def helpful(self, count: int) -> list[int]:
        """Return the candidates with the most positive influence ("proponents"), the first first."""
        return [at for at in np.argsort(-self.tracin, kind="stable")[:count].tolist() if self.tracin[at] > 0]

    def harmful(self, count: int) -> list[int]:
        """Return the candidates with the most negative influence ("opponents"), the first first."""
        return [at for at in np.argsort(self.tracin, kind="stable")[:count].tolist() if self.tracin[at] < 0]

    def nearest(self, count: int) -> list[int]:
        """Return the candidates that BM25 finds most relevant, the first first."""
        return [at for at in np.argsort(-self.bm25, kind="stable")[:count].tolist() if self.bm25[at] > 0]


def training_influence(
    open_snapshot: Callable[[int], Checkpoint],
    steps: Sequence[int],
    sentences: Sequence[NDArray[np.integer]],
    text_a: str,
    text_b: str | None = None,
    *,
    counts: NDArray[np.integer] | None = None,
    learning_rate: Callable[[int], float] = lambda step: 1.0,
    target: Target | None = None,
    snapshots: int = SNAPSHOTS,
    candidates: int = CANDIDATES,
    on_progress: OnProgress = nothing,
) -> TrainingInfluence:
    """Return the influence of training sentences on the prediction of a masked token.

    `open_snapshot` opens the model of one of the `steps`, and `learning_rate` is that of a step. `sentences` are token
    ids without special tokens, as `training_text` has them with their `counts`. Where there are more than `candidates`,
    or than the limits of the checkpoint allow, half of those compared are the first by BM25 and half are spread evenly
    over the text. By default the prediction is the last snapshot's most probable token at the first [MASK].

    Raises `InputError` for a run without snapshots or sentences, a model without a masked-LM head, and as
    `choose_target` does.
    """
    if not steps or not sentences:
        raise InputError("Influence needs snapshots of a run and the sentences that it was trained on.")
    last = open_snapshot(steps[-1])
    require_head(last, "token")
    inputs, target = inputs_and_target(last, text_a, text_b, target)
    if target.kind != "token":
        raise InputError("Training sentences are ranked for the prediction of a masked token.")

    def loss(checkpoint: Checkpoint) -> Tensor:
        vectors = final_vectors(checkpoint, target.read_position, inputs.arguments())
        return -target.score(checkpoint.model, vectors)[0]

    with torch.no_grad():
        losses = [float(loss(open_snapshot(step))) for step in steps]
    chosen = [steps[at] for at in choose_snapshots(losses, snapshots)]

    encoding = inputs.encoding
    shown = encoding.unmasked_positions(last.tokenizer.mask_id)
    query = [*(encoding.ids[at] for at in shown), target.index]
    relevance = bm25(sentences, query)
    most = max(1, min(candidates, _affordable(last, sentences, len(chosen))))
    places = _candidates(relevance, most)
    rows = [sentences[at] for at in places]
    influence = np.zeros(len(rows))
    for number, step in enumerate(chosen):
        checkpoint = open_snapshot(step)
        parameters = dict(checkpoint.model.named_parameters())
        gradients = torch.autograd.grad(loss(checkpoint), [*parameters.values()], materialize_grads=True)
        direction = dict(zip(parameters, gradients, strict=True))
        products = gradient_products(
            checkpoint, rows, direction, part_of(on_progress, number / len(chosen), 1 / len(chosen))
        )
        influence += learning_rate(step) * products
    tokenizer = last.tokenizer
    number_of = np.ones(len(sentences), dtype=np.int64) if counts is None else np.asarray(counts)
    return TrainingInfluence(
        encoding,
        target,
        tuple(chosen),
        tuple(tokenizer.decode(row, skip_special=False) for row in rows),
        number_of[places],
        influence,
        relevance[places],
        len(sentences),
    )


def choose_snapshots(losses: Sequence[float], count: int) -> list[int]:
    """Return the places of the snapshots between which the loss of a prediction falls by equal parts, at most `count`.

    Those are the first with a loss below levels in the middle of each part (Pruthi et al. 2020 choose snapshots with a
    steady decrease in loss). Where the loss never falls, the last one.
    """
    drop = losses[0] - min(losses)
    if drop <= 0:
        return [len(losses) - 1]
    levels = [losses[0] - drop * (part + 0.5) / count for part in range(count)]
    return sorted({next(at for at, loss in enumerate(losses) if loss <= level) for level in levels})


def bm25(sentences: Sequence[NDArray[np.integer]], query: Sequence[int]) -> NDArray[np.float64]:
    """Return the relevance of each sentence to a query, (sentences,), by the tokens that they share.

    Robertson and Zaragoza 2009, "The Probabilistic Relevance Framework: BM25 and Beyond", with the logarithm of Lucene,
    which is never negative.
    """
    lengths = np.array([len(sentence) for sentence in sentences])
    tokens, owners = np.concatenate(sentences), np.repeat(np.arange(len(sentences)), lengths)
    scores = np.zeros(len(sentences))
    for token in set(query):
        frequency = np.bincount(owners[tokens == token], minlength=len(sentences))
        having = int((frequency > 0).sum())
        weight = np.log(1 + (len(sentences) - having + 0.5) / (having + 0.5))
        scores += weight * frequency * (_K1 + 1) / (frequency + _K1 * (1 - _B + _B * lengths / lengths.mean()))
    return scores


def gradient_products(
    checkpoint: Checkpoint,
    sentences: Sequence[NDArray[np.integer]],
    direction: Mapping[str, Tensor],
    on_progress: OnProgress = nothing,
) -> NDArray[np.float64]:
    """Return the product of each sentence's gradient with a `direction` in the weights, (sentences,).

    The loss of a sentence is the sum over its tokens, each predicted once: it is read four times, with every fourth
    token masked, alone and in evaluation mode.
    """
    losses = _SentenceLosses(checkpoint.model)
    products = np.zeros(len(sentences))
    order = np.argsort([-len(sentence) for sentence in sentences], kind="stable")
    tokenizer, longest = checkpoint.tokenizer, _longest(checkpoint)
    start = 0
    while start < len(order):
        width = min(len(sentences[order[start]]), longest) + 2  # of the longest in the batch
        places = order[start : start + max(1, _TOKENS_AT_ONCE // (_GROUPS * width))]
        batch = _masked_copies([sentences[at][:longest] for at in places], tokenizer)

        with forward_ad.dual_level():
            dual = {
                f"model.{name}": forward_ad.make_dual(value.detach(), direction[name])
                for name, value in checkpoint.model.named_parameters()
            }
            change = forward_ad.unpack_dual(torch.func.functional_call(losses, dual, batch)).tangent
        products[places] = change.double().reshape(len(places), _GROUPS).sum(1).numpy()
        start += len(places)
        on_progress(start / len(order))
    return products


class _SentenceLosses(nn.Module):
    """The MLM loss of each copy of a sentence, summed over its masked tokens."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids_BL: Tensor, mask_BL: Tensor, positions_BP: Tensor, labels_BP: Tensor) -> Tensor:
        """Return the losses, (batch,); the labels of places that are none are -100."""
        # The fused attention has no forward-mode derivative on CPUs.
        out = self.model.bert(ids_BL, mask_BL, masked_positions=positions_BP, explicit=True)
        logits_BPV = self.model.mlm(out.last_hidden_state, self.model.bert.embeddings.word.weight).float()
        losses_BP = F.cross_entropy(
            logits_BPV.flatten(0, 1), labels_BP.flatten(), ignore_index=IGNORE_INDEX, reduction="none"
        )
        return losses_BP.reshape(labels_BP.shape).sum(1)


def _masked_copies(sentences: Sequence[NDArray[np.integer]], tokenizer: Tokenizer) -> tuple[Tensor, ...]:
    """Return ids, mask, masked positions and labels of `_GROUPS` copies of each sentence, one after another."""
    rows, positions, labels = [], [], []
    for sentence in sentences:
        encoded = np.concatenate(([tokenizer.cls_id], sentence, [tokenizer.sep_id]))
        for group in range(_GROUPS):
            masked, places = encoded.copy(), np.arange(1 + group, len(encoded) - 1, _GROUPS)
            masked[places] = tokenizer.mask_id
            rows.append(masked)
            positions.append(places)
            labels.append(encoded[places])
    ids, mask = padded_rows(rows, tokenizer.pad_id)
    return ids, mask, padded_rows(positions, 0)[0], padded_rows(labels, IGNORE_INDEX)[0]


def _candidates(relevance: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """Return the places of the sentences that are compared, in the order of the text."""
    total = len(relevance)
    if total <= most:
        return np.arange(total)
    first = np.argsort(-relevance, kind="stable")[: (most + 1) // 2]
    others = np.setdiff1d(np.arange(total), first)
    spread = others[np.linspace(0, len(others) - 1, most - len(first)).astype(int)]
    return np.sort(np.concatenate([first, spread]))


def _longest(checkpoint: Checkpoint) -> int:
    return min(_LONGEST, checkpoint.max_length) - 2


def _affordable(checkpoint: Checkpoint, sentences: Sequence[NDArray[np.integer]], snapshots: int) -> int:
    """Return the number of sentences that one question may compare, by the operations that they take."""
    length = min(_longest(checkpoint), sum(map(len, sentences)) / len(sentences)) + 2
    passes = snapshots * _GROUPS * GRADIENT
    each = passes * forward_operations(checkpoint.config, max(1, round(length)))
    return int(min(checkpoint.limits.operations / each, len(sentences)))
