"""What Attention asks: the weights of every head, more of them, and how they differ from other weights."""

from typing import Any, Literal

from bertviz_lab.config import family_notes
from bertviz_lab.errors import InputError
from bertviz_lab.figures import attention as figures
from bertviz_lab.figures.payload import Payload, figure
from bertviz_lab.tokenization import Encoding
from bertviz_lab.ui.lazy import interpret
from bertviz_lab.ui.server.visitors import Visitor
from bertviz_lab.ui.state.app_state import AppState, CachedTrace
from bertviz_lab.ui.view import Index, Input, ModelName, Text, Word, questions


def attention(state: AppState, visitor: Visitor, asked: Input, shown: Word = "weights") -> dict[str, Any]:
    """Return what the grid shows, weights or a term of the scores; the computation is kept for what the grid asks
    later. The `roles` of heads are those on a corpus where one was indexed.

    `shown` is "weights", "score" (before the softmax), or one of its terms. Where the scores of a model have no such
    term, weights are shown.
    """
    from bertviz_lab.training.loop.growth import joined_layers, joining_note

    checkpoint = asked.checkpoint(state)
    trace = interpret.trace_text(checkpoint, *asked.texts)
    scores = interpret.attention_scores(trace)
    terms = ("score", *scores.terms)
    is_score = shown in terms
    values = scores.values(shown) if is_score else scores.attentions
    sent = values / figures.score_unit(values) if is_score else values
    note = family_notes.positions_note(checkpoint.config)
    notes = [note, family_notes.windows_note(checkpoint.config), joining_note(joined_layers(checkpoint.model))]
    roles = {}
    if index := state.corpora.known(asked.name(state), visitor):
        roles = {"roles": interpret.head_roles(index)}
        notes.append(f"The names under heads are what they do on {len(index.texts):,} texts: {index.name}.")
    return roles | figures.attention_body(
        trace.encoding,
        values,
        f"Attention of {checkpoint.name}",
        number="score" if is_score else "weight",
        key=state.keep_trace(asked.model, (*asked.texts, shown), CachedTrace(sent, scores, note, is_signed=is_score)),
        windows=scores.windows,
        note=" ".join(filter(None, notes)),
        shown=shown if is_score else "",
        terms=terms,
    )


def difference(
    state: AppState,
    asked: Input,
    against: Literal["model", "causal", "text"],
    other: ModelName,
    other_text: Text,
) -> dict[str, Any]:
    """Return the attention of this model minus that of another; or with a causal mask, or of another text A, minus this
    one.

    Tokens of another model are matched by characters; `linked` says whether each stands where it does in the input.
    Raises `InputError` where the models differ in layers or heads, or another text has not as many tokens.
    """
    checkpoint = asked.checkpoint(state)
    encoding: Encoding | interpret.Alignment
    if against == "model":
        other_checkpoint = state.models.open_comparison(checkpoint, other)
        version = state.models.comparison_version(other)
        compared = interpret.compare_attention(checkpoint, other_checkpoint, *asked.texts)
        encoding, values = compared.alignment, compared.first - compared.second
        title = f"{checkpoint.name} minus {other_checkpoint.name}"
        is_linked = len(encoding.tokens) == compared.token_counts[0]
        matched = compared.token_counts
    else:
        first = interpret.trace_text(checkpoint, *asked.texts)
        if against == "causal":
            second = interpret.trace_text(checkpoint, *asked.texts, causal=True)
            title = "Causal minus bidirectional"
        elif other_text.strip():
            second, title = interpret.trace_text(checkpoint, other_text, asked.text_b), "Other text minus this one"
        else:
            raise InputError("Type the other text; it must have the same number of tokens.")
        values, encoding = interpret.attention_difference(first, second), first.encoding
        version, is_linked, matched = "", True, None
    return figures.attention_body(
        encoding,
        values,
        title,
        number="difference",
        key=state.keep_trace(
            asked.model, (title, version, *asked.texts, other_text), CachedTrace(values, is_signed=True)
        ),
        matched=matched,
        linked=is_linked,
    )


def layer_values(state: AppState, key: Word, layer: Index) -> dict[str, Any]:
    """Return a layer of a long text as `codes` (heads, tokens, tokens); {} where it is no longer kept."""
    trace = _trace(state, key, layer, 0)
    if trace is None:
        return {}
    return {"codes": figures.sqrt_codes(trace.values[layer], is_signed=trace.is_signed)}


def query_key(state: AppState, key: Word, layer: Index, head: Index, row: Index, column: Index) -> Payload | None:
    """Return the score of a pair of tokens by dimension and by term; None where it is no longer kept."""
    trace = _trace(state, key, layer, head)
    if trace is None or trace.scores is None or max(row, column) >= trace.values.shape[2]:
        return None
    return figure("query_key", note=trace.note, **vars(trace.scores.pair(layer, head, row, column)))


def _trace(state: AppState, key: str, layer: int, head: int) -> CachedTrace | None:
    """Return a computation that is still kept and has this head."""
    trace = state.trace(key)
    layers, heads = trace.values.shape[:2] if trace is not None else (0, 0)
    return trace if layer < layers and head < heads else None


QUESTIONS = questions(query_key, arrays=[attention, difference, layer_values])
