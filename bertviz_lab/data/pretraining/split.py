"""Training and held-out text: about a tenth of the tokens, the same ones every time."""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.data.pretraining.tokenized_corpus import CorpusView, TokenizedCorpus

#: Tokens that are enough however large the corpus is: those of 2,000 sentence pairs of 512 tokens, twice over.
MAX_HELD_OUT_TOKENS = 2_000_000
_GOLDEN_RATIO = (math.sqrt(5) - 1) / 2
_MIN_SENTENCES = 2  # of a part of a document: fewer make no sentence pair


def split_corpus(corpus: TokenizedCorpus, *, min_documents: int = 1) -> tuple[CorpusView, CorpusView]:
    """Return the documents to train on and the held-out ones, at least `min_documents` in each; nothing is random.

    Whole documents, spread over the corpus, are held out where that comes to about a tenth of the tokens. Where a few
    documents are most of the corpus, the ends of the longest ones are held out instead, cut between sentences. A
    corpus too short for either is returned as both parts: its scores are then on text that is also trained on.
    """
    everything = corpus.select(np.arange(corpus.documents))
    target_tokens = min(0.1 * corpus.tokens, MAX_HELD_OUT_TOKENS)
    held_out = _whole_documents(corpus, target_tokens, min_documents)
    if held_out is not None:
        return corpus.select(np.setdiff1d(np.arange(corpus.documents), held_out)), corpus.select(held_out)
    ends = _ends_of_documents(everything, target_tokens, min_documents)
    if not ends or corpus.documents < min_documents:
        return everything, everything
    kept = everything.spans.copy()
    for document, first, _ in ends:
        kept[document, 1] = min(kept[document, 1], first)
    return CorpusView(corpus, kept), CorpusView(corpus, np.array([span for _, *span in ends], dtype=np.int64))


def _whole_documents(corpus: TokenizedCorpus, target_tokens: float, least: int) -> NDArray[np.int64] | None:
    """Return indices of documents with about `target_tokens` tokens together; None where no choice comes near."""
    sizes = corpus.document_sizes()
    # Multiples of the golden ratio, modulo 1, are spread evenly however many of them are taken (Weyl's sequence).
    spread = np.argsort((np.arange(len(sizes)) + 0.5) * _GOLDEN_RATIO % 1.0, kind="stable")
    chosen: list[int] = []
    tokens = 0
    for document in spread.tolist():
        size = int(sizes[document])
        nearer = abs(tokens + size - target_tokens) < abs(tokens - target_tokens)
        if nearer or (len(chosen) < least and tokens + size <= 2 * target_tokens):
            chosen.append(document)
            tokens += size
        if tokens >= target_tokens and len(chosen) >= least:
            break
    enough = len(chosen) >= least and len(sizes) - len(chosen) >= least
    return np.sort(np.array(chosen)) if enough and target_tokens / 2 <= tokens <= 2 * target_tokens else None


def _ends_of_documents(everything: CorpusView, target_tokens: float, least: int) -> list[tuple[int, int, int]]:
    """Return parts at the ends of the longest documents, as (document, first sentence, end); none where all are too
    short.

    Each of the `least` longest gives a part in proportion to its length. Where one document is nearly all of the
    corpus, it gives that many parts, one after another, so that there is still another to draw a random sentence from.
    """
    sizes = everything.corpus.document_sizes()
    longest = np.argsort(-sizes, kind="stable")[:least]
    comparable = len(longest) == least and sizes[longest[-1]] >= sizes[longest[0]] / 10
    for documents in (longest, longest[:1]) if comparable else (longest[:1],):
        parts: list[tuple[int, int, int]] = []
        for document in documents.tolist():
            tokens = target_tokens * sizes[document] / sizes[documents].sum()
            parts += _last_parts(everything, document, tokens, least // len(documents))
        if len(parts) == least:
            return parts
    return []


def _last_parts(everything: CorpusView, document: int, tokens: float, count: int) -> Iterator[tuple[int, int, int]]:
    """Yield the last `count` parts of a document with about `tokens` together; none where the rest is too short."""
    bounds = everything.sentence_bounds(document)
    first, end = int(everything.spans[document, 0]), len(bounds) - 1
    if end < _MIN_SENTENCES * (count + 1):
        return
    for part in range(count):
        target = bounds[-1] - (part + 1) * tokens / count
        start = int(np.abs(bounds - target).argmin())
        start = max(min(start, end - _MIN_SENTENCES), _MIN_SENTENCES * (count - part))
        yield document, first + start, first + end
        end = start
