"""Embeddings: the input embeddings, sentence similarity, nearest tokens, contextual embeddings."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from bertviz_lab.data.batches import padded_rows
from bertviz_lab.errors import InputError
from bertviz_lab.interpret.inputs import (
    analysis,
    backbone,
    check_passes,
    encode_inputs,
    several_texts,
    single_token,
    variants_per_batch,
)
from bertviz_lab.tokenization import Encoding
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint
from bertviz_lab.training.checkpoints.sentence_transformers_files import POOLINGS, Pooling
from bertviz_lab.training.finetuning.tasks.embeddings import pool

_SHOWN = 80  # characters of a text in a sentence


@dataclass(frozen=True, eq=False)
class EmbeddingSum:
    """The three vectors that are added for each token, their sum, and the sum after LayerNorm: (tokens, hidden).

    Those that a family lacks, segments or positions, are zero.
    """

    encoding: Encoding
    token: NDArray[np.float32]
    segment: NDArray[np.float32]
    position: NDArray[np.float32]
    total: NDArray[np.float32]
    normalized: NDArray[np.float32]

    def parts(self) -> dict[str, NDArray[np.float32]]:
        return {"token": self.token, "segment": self.segment, "position": self.position}

    def norms(self) -> dict[str, NDArray[np.float32]]:
        """Return the norm of each vector, (tokens,)."""
        return {name: np.linalg.norm(part, axis=-1) for name, part in (self.parts() | {"sum": self.total}).items()}

    def cosines(self) -> dict[str, NDArray[np.float32]]:
        """Return the cosine similarity of each part and the sum, (tokens,)."""
        return {name: cosine(part, self.total) for name, part in self.parts().items()}


def cosine(a: NDArray[np.floating], b: NDArray[np.floating]) -> NDArray[np.float32]:
    """Return the cosine similarity of vectors, over the last dimension; 0 where one of them is 0."""
    lengths = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
    return ((a * b).sum(-1) / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)


@analysis
def embedding_sum(checkpoint: Checkpoint, text_a: str, text_b: str | None = None) -> EmbeddingSum:
    """Return the input embeddings of a text (Devlin et al. 2018, figure 2). Raises `InputError` without a text."""
    inputs = encode_inputs(checkpoint, text_a, text_b)
    embeddings = backbone(checkpoint).embeddings
    token, position, segment = embeddings.summands(inputs.input_ids, inputs.token_type_ids)
    segment, position = (torch.zeros_like(token) if part is None else part for part in (segment, position))
    total = token + position + segment
    names = ("token", "segment", "position", "total", "normalized")
    parts = (token, segment, position, total, embeddings.norm(total))
    vectors = {name: part[0].float().numpy() for name, part in zip(names, parts, strict=True)}
    return EmbeddingSum(inputs.encoding, **vectors)


@dataclass(frozen=True, eq=False)
class Similarity:
    """Sentence embeddings, to compare each pair of them."""

    texts: tuple[str, ...]
    vectors: NDArray[np.float32]  # (texts, hidden)

    @property
    def cosines(self) -> NDArray[np.float32]:
        """The cosine similarity of each pair, (texts, texts)."""
        return cosine(self.vectors[:, None], self.vectors[None])

    @property
    def products(self) -> NDArray[np.float64]:
        """The scalar product of each pair, (texts, texts): what a map of them follows from."""
        return _products(self.vectors)


@dataclass(frozen=True)
class SearchHit:
    """A text that matches a query: its place among the texts, from 0, and its cosine with the query."""

    index: int
    text: str
    cosine: float


def encode(
    checkpoint: Checkpoint, texts: Iterable[str], *, pooling: Pooling | None = None, normalize: bool = False
) -> NDArray[np.float32]:
    """Return one vector for each text, (texts, hidden): its sentence embedding.

    Pooled as the model's `modules.json` says, by default the mean; `normalize` makes vectors of length 1, as do models
    with a Normalize module. A text of more than `Checkpoint.max_length` tokens is truncated. Raises `InputError`
    without a text, where one is empty, for an unknown pooling, and where the model's own pooling is not one of the
    lab's and none is given; `TypeError` where one string stands for the texts.
    """
    vectors: NDArray[np.float32] = pooled_vectors(checkpoint, several_texts(texts), pooling).numpy()
    if normalize or (checkpoint.normalize and pooling is None):
        vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)
    return vectors


def semantic_search(checkpoint: Checkpoint, query: str, texts: Iterable[str], top_k: int = 10) -> tuple[SearchHit, ...]:
    """Return the `top_k` texts nearest to a query by the cosine of their sentence embeddings, the nearest first.

    Raises `InputError` and `TypeError` as `encode`, and for an empty query.
    """
    if not query.strip():
        raise InputError("Type a query first.")
    texts = several_texts(texts)
    distinct = list(dict.fromkeys([query, *texts]))
    vectors = dict(zip(distinct, encode(checkpoint, distinct, normalize=True), strict=True))
    cosines = np.array([vectors[text] @ vectors[query] for text in texts])
    nearest = np.argsort(-cosines, kind="stable")[:top_k]
    return tuple(SearchHit(int(n), texts[n], float(cosines[n])) for n in nearest)


@torch.inference_mode()
def similarity(
    checkpoint: Checkpoint, texts: Iterable[str], *, pooling: Pooling | None = None, layer: int = -1
) -> Similarity:
    """Compare sentences by the pooled vectors of a layer.

    As in sentence-transformers, a text's vector is the mean or the maximum over all its tokens, [CLS] and [SEP]
    included, or that of [CLS]; by default as in the model's `1_Pooling/config.json`, else the mean. A model that was
    only pretrained was not trained to give similar sentences similar vectors (Reimers and Gurevych 2019), so compare
    pairs rather than absolute values. `layer` counts from the embeddings, 0, or from the last layer, -1. Texts are
    truncated, and errors raised, as by `encode`.
    """
    texts = several_texts(texts)
    return Similarity(tuple(texts), pooled_vectors(checkpoint, texts, pooling, layer).numpy())


@analysis
def pooled_vectors(
    checkpoint: Checkpoint, texts: Sequence[str], pooling: Pooling | None, layer: int = -1
) -> torch.Tensor:
    """Return one vector for each text, (texts, hidden), in padded batches of texts of similar length."""
    if checkpoint.unsupported_modules and pooling is None:
        raise InputError(
            f"{checkpoint.name or 'This model'} computes sentence embeddings with {checkpoint.unsupported_modules}, "
            "which the lab does not have: choose a pooling, or use sentence-transformers."
        )
    pooling = pooling or checkpoint.pooling or "mean"
    if pooling not in POOLINGS:
        raise InputError(f"There is no pooling {pooling!r}: choose one of {', '.join(POOLINGS)}.")
    encodings = [encode_inputs(checkpoint, text).encoding for text in texts]
    longest = max(map(len, encodings))
    check_passes(checkpoint, longest, sum(map(len, encodings)) / longest, "Embedding these texts")
    order = sorted(range(len(texts)), key=lambda index: len(encodings[index]))
    vectors = torch.empty(len(texts), checkpoint.config.hidden_size)
    while order:
        size = variants_per_batch(len(encodings[order[-1]]))
        batch, order = order[-size:], order[:-size]
        ids_BL, mask_BL = padded_rows([encodings[index].ids for index in batch], checkpoint.tokenizer.pad_id)
        out = backbone(checkpoint)(ids_BL, mask_BL, output_hidden_states=True)
        vectors[batch] = pool(out.hidden_states[layer].float(), mask_BL, pooling)
    return vectors


@dataclass(frozen=True, eq=False)
class EmbeddingPlane:
    """The plane of the first two principal components, onto which other vectors can be projected."""

    mean: NDArray[np.float32]  # (hidden,)
    axes: NDArray[np.float32]  # (2, hidden), of length 1
    explained: float  # share of the variance

    def project(self, vectors: NDArray[np.floating]) -> NDArray[np.float32]:
        """Return (words, hidden) to (words, 2)."""
        return ((vectors - self.mean) @ self.axes.T).astype(np.float32)


def embedding_plane(vectors: NDArray[np.floating]) -> EmbeddingPlane:
    """Return the plane of the first two principal components of vectors, (words, hidden).

    The sign of a component is arbitrary; it is chosen so that the coordinate furthest from 0 is positive.
    """
    mean = vectors.mean(0)
    _, sizes, directions = np.linalg.svd((vectors - mean).astype(np.float64), full_matrices=False)
    axes = np.zeros((2, vectors.shape[1]))
    axes[: len(sizes)] = directions[:2] * (sizes[:2, None] > 0)
    points = (vectors - mean) @ axes.T
    furthest = np.take_along_axis(points, np.abs(points).argmax(0)[None], 0)
    axes *= np.where(furthest < 0, -1, 1).T
    variances = sizes**2
    explained = float(variances[:2].sum() / variances.sum()) if variances.any() else 1.0
    return EmbeddingPlane(mean, axes.astype(np.float32), explained)


@dataclass(frozen=True)
class Neighbour:
    """A token of the vocabulary and the cosine between its embedding and another's."""

    token: str
    id: int
    cosine: float


@torch.inference_mode()
def nearest_tokens(checkpoint: Checkpoint, word: str, top_k: int = 10) -> tuple[Neighbour, ...]:
    """Return the `top_k` tokens, or all, with the most similar word embeddings by cosine, without the word itself.

    Raises `InputError` where the word is not one token.
    """
    token_id = single_token(checkpoint, word)
    table = torch.nn.functional.normalize(backbone(checkpoint).embeddings.word.weight.float(), dim=-1)
    cosines = table @ table[token_id]
    cosines[token_id] = -torch.inf
    cosines[checkpoint.tokenizer.vocab_size :] = -torch.inf  # padding rows of the embedding matrix
    values, ids = cosines.topk(min(top_k, checkpoint.tokenizer.vocab_size - 1))
    tokenizer = checkpoint.tokenizer
    return tuple(Neighbour(tokenizer.token(i), i, v) for i, v in zip(ids.tolist(), values.tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class ContextComparison:
    """A word in two sentences, layer by layer: `vectors_a` and `vectors_b` (layers + 1, hidden), embeddings first."""

    word: str
    vectors_a: NDArray[np.float32]
    vectors_b: NDArray[np.float32]

    @property
    def cosines(self) -> NDArray[np.float32]:
        """The cosine similarity of the two at each layer, (layers + 1,)."""
        return cosine(self.vectors_a, self.vectors_b)

    @property
    def products(self) -> NDArray[np.float64]:
        """The scalar product of each pair of the vectors in A and then in B, 2 x (layers + 1) a side: what their paths
        in a plane follow from."""
        return _products(np.concatenate([self.vectors_a, self.vectors_b]))


def _products(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    exact = vectors.astype(np.float64)
    return exact @ exact.T


def compare_contexts(checkpoint: Checkpoint, text_a: str, text_b: str, word: str) -> ContextComparison:
    """Return how the embeddings of one word diverge in two contexts, such as "bank" by a river and in a street.

    The word may also be several, such as "New York", or have punctuation in it, such as "don't". The mean of its tokens
    is taken; of several occurrences the first. Raises `InputError` where the word is not in both texts.
    """
    return ContextComparison(word, *(_layer_vectors(checkpoint, text, word) for text in (text_a, text_b)))


@analysis
def _layer_vectors(checkpoint: Checkpoint, text: str, word: str) -> NDArray[np.float32]:
    """Return a word's vector at every layer, (layers + 1, hidden)."""
    inputs = encode_inputs(checkpoint, text)
    encoding = inputs.encoding
    positions = _tokens_of(encoding, word)
    if not positions:
        name = word.strip() or "(none)"
        advice = " (what is left of it: the text is longer than the model reads)" if encoding.dropped_a else ""
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
        raise InputError(f"The word {name} is not in the sentence “{shown}”{advice}: name a whole word as it is there.")
    states = backbone(checkpoint)(**inputs.arguments(), output_hidden_states=True).hidden_states
    return np.stack([state[0, positions].float().mean(0).numpy() for state in states])


def _tokens_of(encoding: Encoding, word: str) -> list[int]:
    """Return the positions of the first occurrence of a word, or of several, that begins and ends where a word does."""
    spans = [encoding.span(positions) for positions in encoding.words]
    starts, ends = {start for start, _ in spans}, {end for _, end in spans}
    characters = r"\s+".join(map(re.escape, word.split()))
    for match in re.finditer(characters, encoding.text_a, re.IGNORECASE) if characters else ():
        if match.start() in starts and match.end() in ends:
            first, last = match.span()
            return [at for at, (start, end) in enumerate(encoding.offsets) if first <= start < end <= last]
    return []
