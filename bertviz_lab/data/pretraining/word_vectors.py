"""Word vectors of a text, counted before any training: what the word embeddings of a model begin as.

A token is described by its neighbors: how much more often than by chance each frequent token stands directly before it,
and directly after it (positive pointwise mutual information). A singular value decomposition reduces that to as many
dimensions as the model has, and tokens that are used alike have similar vectors (Levy and Goldberg 2014).
"""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from bertviz_lab.data.pretraining.tokenized_corpus import CorpusView

_MOST_TOKENS = 4_000_000  # are counted
_AT_ONCE = 250_000  # so that counting takes little memory
_CONTEXTS = 1024  # the most frequent tokens
_SMOOTHING = 0.75  # exponent of the frequencies of contexts, against rare ones (Levy, Goldberg and Dagan 2015)


def word_vectors(documents: CorpusView, vocab_size: int, size: int, seed: int) -> NDArray[np.float32]:
    """Return a vector for each token, (vocab_size, size), its root mean square 1; zeros for one without neighbors."""
    from scipy.linalg import eigh

    vectors = np.zeros((vocab_size, size), dtype=np.float32)
    associations = _associations(documents.sample(_MOST_TOKENS), vocab_size)
    known = np.diff(associations.indptr) > 0
    if not known.any():
        return vectors
    products = (associations.T @ associations).toarray()  # its eigenvectors are the right singular vectors
    rank = min(size, len(products))
    _, axes = eigh(products, subset_by_index=[len(products) - rank, len(products) - 1])
    # Turned at random, all dimensions vary alike, and fewer than a model has are spread over all that it has.
    directions, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((size, rank)))
    projected = (associations @ axes @ directions.T)[known]
    projected -= projected.mean(0)  # what all have in common distinguishes none
    vectors[known] = projected / np.maximum(np.sqrt((projected**2).mean(1, keepdims=True)), 1e-12)
    return vectors


def _associations(ids: NDArray[np.integer], vocab_size: int) -> csr_array:
    """Return the positive pointwise mutual information of each token and its neighbors, (vocab_size, 2 x contexts)."""
    frequencies = np.bincount(ids, minlength=vocab_size)
    contexts = np.argsort(-frequencies, kind="stable")[: min(_CONTEXTS, np.count_nonzero(frequencies))]
    place = np.full(vocab_size, -1)
    place[contexts] = np.arange(len(contexts))
    starts = range(0, max(1, len(ids) - 1), _AT_ONCE)
    counts = sum(_neighbors(ids[start : start + _AT_ONCE + 1], place, len(contexts)) for start in starts).tocoo()
    of_token, of_context = counts.sum(1), counts.sum(0) ** _SMOOTHING
    expected = of_token[counts.row] * of_context[counts.col] / of_context.sum()
    counts.data = np.log(np.maximum(counts.data / expected, 1))
    counts.eliminate_zeros()
    return counts.tocsr()


def _neighbors(ids: NDArray[np.integer], place: NDArray[np.integer], contexts: int) -> csr_array:
    """Count the neighbors that have a `place` among the contexts, (vocab_size, 2 x contexts): before, then after."""
    tokens = np.stack([ids[1:], ids[:-1]])
    columns = place[[ids[:-1], ids[1:]]]  # (sides, pairs)
    counted = columns >= 0
    columns += contexts * np.array([[0], [1]])
    places = tokens[counted], columns[counted]
    return coo_array((np.ones(len(places[0])), places), (len(place), 2 * contexts)).tocsr()
