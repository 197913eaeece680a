"""The inside of a model: the panels Attention, Layers and Embeddings."""

from collections.abc import Mapping, Sequence

from bertviz_lab.figures.interpret.attention import (
    SCORE_TITLES,
    attention_body,
    attention_payload,
    difference_body,
    pair_payload,
    scores_body,
)
from bertviz_lab.figures.interpret.embeddings import (
    context_payloads,
    embedding_payload,
    map_payload,
    neighbours_payload,
    similarity_payload,
)
from bertviz_lab.figures.interpret.layers import NormKind, logit_lens_payload, norms_payload, token_norms_payload
from bertviz_lab.figures.interpret.predictions import heads_payload
from bertviz_lab.interpret import (
    METRICS,
    AttentionComparison,
    ContextComparison,
    EmbeddingSum,
    LogitLens,
    Neighbour,
    NormsByLayer,
    QueryKey,
    Similarity,
    TextTrace,
    attention_difference,
    head_metrics,
)
from bertviz_lab.interpret import attention_scores as scores_of
from bertviz_lab.show.view import View, chart, view


def attention(trace: TextTrace, title: str = "") -> View:
    """Show every head of a trace: the grid, one head in detail, lines, filters, metrics."""
    metrics = {name: (METRICS[name], values) for name, values in head_metrics(trace).metrics.items()}
    encoding = trace.encoding
    body = attention_body(
        trace.tokens,
        encoding.token_type_ids,
        trace.attentions,
        title,
        layers=range(len(trace.layers)),  # there is no server to ask for others
        special=encoding.special_tokens_mask,
        metrics=metrics,
        windows=[layer.window for layer in trace.layers],
    )
    return view("attention", "Attention of every head", attention_payload(body), 900)


def attention_scores(trace: TextTrace, term: str = "score", title: str = "") -> View:
    """Show the scores before the softmax, or one of their terms (`AttentionScores.terms`), in the same way.

    Raises `InputError` for a term that these scores do not have.
    """
    scores, encoding = scores_of(trace), trace.encoding
    body = scores_body(
        trace.tokens,
        encoding.token_type_ids,
        scores.values(term),
        title or SCORE_TITLES[term],
        special=encoding.special_tokens_mask,
        windows=scores.windows,
    )
    return view("attention", "Attention scores of every head", attention_payload(body), 900)


def query_key(pair: QueryKey) -> View:
    """Show the score of a pair of tokens in a head: query times key, dimension by dimension."""
    return chart("Query times key", pair_payload(pair))


def difference(first: TextTrace, second: TextTrace, title: str = "The second minus the first") -> View:
    """Show attention of the second trace minus the first; both have the same tokens, layers and heads."""
    encoding = first.encoding
    weights = attention_difference(first, second)
    special = encoding.special_tokens_mask
    body = difference_body(first.tokens, encoding.token_type_ids, weights, title, special=special)
    return view("attention", title, attention_payload(body), 900)


def attention_comparison(compared: AttentionComparison, title: str = "The second minus the first") -> View:
    """Show attention of the second model minus the first, between stretches that are whole tokens in both."""
    shared = compared.alignment
    weights, special = compared.second - compared.first, shared.special_tokens_mask
    body = difference_body(shared.tokens, shared.segment_ids, weights, title, special=special)
    return view("attention", title, attention_payload(body), 900)


def heads(traces: Mapping[str, TextTrace]) -> View:
    """Show all heads of several models side by side, by their names."""
    grids = [
        attention_payload(
            attention_body(
                trace.tokens,
                trace.encoding.token_type_ids,
                trace.attentions,
                windows=[layer.window for layer in trace.layers],
            )
        )
        for trace in traces.values()
    ]
    return view("heads", "Heads of several models", heads_payload(list(traces), grids), 640)


def logit_lens(lens: LogitLens) -> View:
    """Show the prediction at every layer."""
    return chart("Logit lens", logit_lens_payload(lens), 560)


def norms(by_layer: NormsByLayer, position: int | None = None) -> View:
    """Show norms by layer, of hidden states and of what both sub-layers add: of a token, or the median of all."""
    return chart("Norms by layer", norms_payload(by_layer, position))


def token_norms(by_layer: NormsByLayer, kind: NormKind = "hidden") -> View:
    """Show the norms of one kind of vector, layer by layer and token by token."""
    return view("tokens", "Norms by layer and token", token_norms_payload(by_layer, kind), 420)


def embedding_sum(embeddings: EmbeddingSum) -> View:
    """Show the norms of the vectors that are added for each token, and their cosines with the sum."""
    return view("tokens", "Embedding sum", embedding_payload(embeddings), 420)


def similarity(result: Similarity) -> View:
    """Show cosine similarity of sentences."""
    return chart("Cosine similarity of the sentences", similarity_payload(result.texts, result.cosines), 480)


def sentence_map(result: Similarity) -> View:
    """Show sentences in the plane of the first two principal components of their vectors."""
    return chart("Map of the sentences", map_payload(result.texts, result.map, result.explained), 480)


def neighbours(word: str, nearest: Sequence[Neighbour]) -> View:
    """Show the tokens whose embeddings are nearest to a word's."""
    return chart(f"Nearest neighbors of {word}", neighbours_payload(word, nearest))


def context_similarity(contexts: ContextComparison) -> View:
    """Show a word in two contexts: the similarity of its two vectors at each layer."""
    return chart("Contextual embeddings", context_payloads(contexts)[0])


def context_paths(contexts: ContextComparison) -> View:
    """Show the same as two paths through the layers, in one plane."""
    return chart("Paths through the layers", context_payloads(contexts)[1], 480)
