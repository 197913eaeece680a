"""Searches in a corpus index: which heads link tokens as an example does, which neurons fire at a token, and why."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from bertviz_lab.data.batches import same_length
from bertviz_lab.errors import InputError
from bertviz_lab.interpret.attention import trace_text
from bertviz_lab.interpret.corpora.corpus_index import REACH, TOKENS_PER_BATCH, CorpusIndex, corpus_rows, traces
from bertviz_lab.interpret.embeddings import nearest_tokens
from bertviz_lab.interpret.inputs import OnProgress, analysis, backbone, encode_inputs, nothing
from bertviz_lab.interpret.targets import choose_target, head_logits, target_kinds
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint

_ALIKE = 8  # nearest word embeddings of a token that count as tokens like it
_MOST_PAIRS = 400
_SHARE, _SQUARED = 0.5, 0.25  # of attention; a squared weight of 0.25 is half of the attention on one token
#: Metrics of a `CorpusIndex` that say what a head does, the plainer first, and above what a head has that role.
ROLES = dict.fromkeys(("previous", "next", "same", "same_word", "cls", "separator"), _SHARE)
ROLES |= dict.fromkeys(("position", "content"), _SQUARED)


def head_roles(index: CorpusIndex) -> list[list[str]]:
    """Return for each layer and head the first of `ROLES` that it has on average over the corpus, "" for none."""
    layers, heads = index.metrics["entropy"].shape
    return [
        [next((role for role, least in ROLES.items() if index.metrics[role][at] > least), "") for at in row]
        for row in ([(layer, head) for head in range(heads)] for layer in range(layers))
    ]


@dataclass(frozen=True, eq=False)
class HeadSearch:
    """Which heads link pairs of tokens like those of an example; arrays are (layers, heads)."""

    example: tuple[str, str]  # the tokens: the attending one, and the one attended to
    masked: str  # what the model predicts for the attending token where that is [MASK]; else ""
    alike: tuple[tuple[str, ...], tuple[str, ...]]  # tokens that count as like each; of the second none if repeated
    pairs: int  # found in the corpus
    example_weights: NDArray[np.float64]
    weights: NDArray[np.float64]  # mean over the pairs
    expected: NDArray[np.float64]  # mean weight of the head at the same distances in the whole corpus
    largest: NDArray[np.float64]  # share of pairs with the largest weight of the attending token to the text

    @property
    def lift(self) -> NDArray[np.float64]:
        """What distance does not explain: `weights` minus `expected`."""
        return self.weights - self.expected


@analysis
def find_heads(
    checkpoint: Checkpoint,
    index: CorpusIndex,
    text_a: str,
    text_b: str | None = None,
    *,
    query: int,
    key: int,
    on_progress: OnProgress = nothing,
) -> HeadSearch:
    """Find the heads that attend from tokens like `query` to tokens like `key`, positions in a text.

    Pairs are alike if each token is one of the nearest word embeddings of the example's, in the same order; where the
    example repeats a token, both must be the same one of these. A [MASK] as `query` counts as the model's prediction,
    and the tokens like it are masked in the corpus. The mean weight is compared with what the head gives to that
    distance anyway.

    Raises `InputError` for positions that are not there, [MASK] as `key`, and without a pair in the corpus.
    """
    inputs = encode_inputs(checkpoint, text_a, text_b)
    tokenizer, encoding = checkpoint.tokenizer, inputs.encoding
    if not (0 <= query < len(encoding) and 0 <= key < len(encoding)) or query == key:
        raise InputError("Choose two different tokens of the text.")
    if encoding.ids[key] == tokenizer.mask_id:
        raise InputError("The token attended to must not be masked: the corpus has no [MASK].")
    is_masked = encoding.ids[query] == tokenizer.mask_id
    query_id = choose_target(checkpoint, inputs, position=query).index if is_masked else encoding.ids[query]
    key_id = encoding.ids[key]
    repeats = query_id == key_id
    queries, keys = (_alike(checkpoint, token) for token in (query_id, key_id))

    rows = corpus_rows(checkpoint, index.texts)
    places = []
    for at, ids in enumerate(map(np.asarray, rows)):
        same = np.isin(ids, queries)[:, None] & np.isin(ids, keys)
        if repeats:
            same &= ids[:, None] == ids
        pairs = np.argwhere(np.triu(same, 1) if key > query else np.tril(same, -1))
        places += [(at, int(i), int(j)) for i, j in pairs[:3]]  # a text of many is not to outweigh the others
    if not places:
        raise InputError(
            f"The corpus has no such pair: no text has {encoding.tokens[query]} and {encoding.tokens[key]}, or tokens "
            "like them, in this order. Choose other tokens, or another corpus."
        )
    places = places[:: -(-len(places) // _MOST_PAIRS)]
    texts = [list(rows[at]) for at, _, _ in places]
    if is_masked:
        for row, (_, at, _) in zip(texts, places, strict=True):
            row[at] = tokenizer.mask_id
    shape = (len(places), *index.metrics["entropy"].shape)
    weights, largest = np.zeros(shape), np.zeros(shape)
    batches = same_length([*map(len, texts)], TOKENS_PER_BATCH)
    for done, batch in enumerate(batches):
        at_Q, at_K = (torch.tensor([places[at][side] for at in batch]) for side in (1, 2))
        for layer, trace in enumerate(traces(checkpoint, torch.tensor([texts[at] for at in batch]))):
            rows_BHL = trace.attention_probs[torch.arange(len(batch)), :, at_Q]
            weight_BH = rows_BHL[torch.arange(len(batch)), :, at_K]
            weights[batch, layer] = weight_BH.numpy()
            largest[batch, layer] = (weight_BH >= rows_BHL[..., 1:-1].amax(-1)).numpy()
        on_progress((done + 1) / len(batches))
    if key_id in (tokenizer.cls_id, tokenizer.sep_id):
        expected = index.metrics["cls" if key_id == tokenizer.cls_id else "separator"]
    else:
        distances = np.clip([j - i for _, i, j in places], -REACH, REACH)
        expected = index.profile[..., distances + REACH].mean(-1)
    name = tokenizer.token
    return HeadSearch(
        (encoding.tokens[query], encoding.tokens[key]),
        name(query_id) if is_masked else "",
        (tuple(map(name, queries)), () if repeats else tuple(map(name, keys))),
        len(places),
        trace_text(checkpoint, text_a, text_b).attentions[:, :, query, key].astype(np.float64),
        weights.mean(0),
        expected,
        largest.mean(0),
    )


def _alike(checkpoint: Checkpoint, token_id: int) -> list[int]:
    """Return a token and the nearest that begin or continue a word as it does; a special one is like itself only."""
    tokenizer = checkpoint.tokenizer
    if token_id in tokenizer.special_ids:
        return [token_id]
    near = nearest_tokens(checkpoint, tokenizer.token(token_id), top_k=3 * _ALIKE)
    continues = tokenizer.continuation
    same = [each.id for each in near if each.id != token_id and continues[each.id] == continues[token_id]]
    return [token_id, *same[:_ALIKE]]


@dataclass(frozen=True)
class FiringNeuron:
    """A neuron at a token: its activation there, and as a share of its largest in the corpus."""

    layer: int
    neuron: int
    activation: float
    share: float


@analysis
def find_neurons(
    checkpoint: Checkpoint,
    index: CorpusIndex,
    text_a: str,
    text_b: str | None = None,
    *,
    position: int,
    top_k: int = 20,
) -> tuple[FiringNeuron, ...]:
    """Return the neurons nearest at a token to their largest activation in the corpus, the nearest first.

    Raises `InputError` for a position that is not there, and an index without neurons.
    """
    trace = trace_text(checkpoint, text_a, text_b)
    if not 0 <= position < len(trace.encoding) or not index.neurons.size:
        raise InputError("Choose a token of the text.")
    here = torch.stack([layer.intermediate_output[0, position].float() for layer in trace.layers]).numpy()
    shares = here / np.maximum(index.neurons["activation"][..., 0], 1e-6)
    order = np.argsort(-shares, axis=None, kind="stable")[:top_k]
    places = (np.unravel_index(at, shares.shape) for at in order)
    return tuple(FiringNeuron(int(n), int(f), float(here[n, f]), float(shares[n, f])) for n, f in places)


@dataclass(frozen=True)
class PromotedTokens:
    """The tokens whose log-probability a neuron raises and lowers most, with the mean change in nats."""

    promoted: tuple[tuple[str, float], ...]
    suppressed: tuple[tuple[str, float], ...]
    is_exact: bool  # the neuron is of the last layer, so that nothing is left out


@analysis
def promoted_tokens(
    checkpoint: Checkpoint, index: CorpusIndex, layer: int, neuron: int, *, top_k: int = 8
) -> PromotedTokens | None:
    """Return the tokens that a neuron promotes: the masked-LM head with it and without it, where it is most active.

    Geva et al. 2022 project a neuron's value vector onto the vocabulary. In a post-norm BERT LayerNorm and the head's
    dense layer come in between, so here the layer's output is computed with and without the neuron at the tokens of its
    examples, both go through the head, and the log-probabilities are subtracted. This is exact in the last layer; from
    earlier ones the layers in between are skipped, as by the logit lens. None for a model without the head.
    """
    if "token" not in target_kinds(checkpoint):
        return None
    backbone_, tokenizer = backbone(checkpoint), checkpoint.tokenizer
    module: Any = backbone_.encoder.layers[layer]
    changes = []
    for text, position, _ in index.neurons[layer, neuron].tolist():
        if text < 0:  # no example
            continue
        row = torch.tensor(corpus_rows(checkpoint, [index.texts[text]]))
        trace = next(islice(traces(checkpoint, row), layer, None))
        write_D = trace.intermediate_output[0, position, neuron] * module.output.weight[:, neuron]
        sum_D = trace.attention_output[0, position] + trace.feed_forward_projection[0, position]
        states_2D = torch.stack([sum_D, sum_D - write_D])
        states_2D = backbone_.as_final(states_2D if module.is_prenorm else module.output_norm(states_2D))
        logs_2V = head_logits(checkpoint.model, "token", states_2D).float().log_softmax(-1)
        changes.append(logs_2V[0] - logs_2V[1])
    change_V = torch.stack(changes).mean(0)[: tokenizer.vocab_size]
    order = change_V.argsort(descending=True).tolist()

    def named(ids: Sequence[int]) -> tuple[tuple[str, float], ...]:
        return tuple((tokenizer.token(at), float(change_V[at])) for at in ids)

    is_last = layer == checkpoint.config.num_hidden_layers - 1
    return PromotedTokens(named(order[:top_k]), named(order[::-1][:top_k]), is_last)
