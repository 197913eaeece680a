"""Attention: what every head of the model looks at in a text, or a pair of texts."""

from functools import partial
from typing import Any

import gradio as gr
import numpy as np

from bertviz_lab.errors import InputError
from bertviz_lab.figures.interpret.attention import (
    attention_payload,
    difference_payload,
    head_cells,
    layer_cells,
    pair_payload,
)
from bertviz_lab.ui.app_state import AppState, CachedTrace
from bertviz_lab.ui.comparison_model import open_second, second_model
from bertviz_lab.ui.components import attention_grid
from bertviz_lab.ui.components.chips import chips
from bertviz_lab.ui.error_handling import clicked, picture
from bertviz_lab.ui.header import Header
from bertviz_lab.ui.links import with_link
from bertviz_lab.ui.pairs import follow_with_pair, pick_pair
from bertviz_lab.ui.validation import checked
from bertviz_lab.ui.view_contract import QUIET, CollapsedView, Tab

MODEL, CAUSAL, TEXT = "model", "causal", "text"

_EXPLANATION = """
<p><b>Multi-head self-attention.</b> In each layer, several heads decide in parallel which tokens every token attends
to.
Token <i>i</i> has a query vector <i>q</i><sub>i</sub>, token <i>j</i> a key vector <i>k</i><sub>j</sub>; their scaled
dot
product gives the attention weight:</p>
<p class="formula">attention(<i>i</i>, <i>j</i>) = softmax<sub>j</sub>(<i>q</i><sub>i</sub> · <i>k</i><sub>j</sub>
/ √<i>d</i><sub>head</sub>)</p>
<p>The weights of a row sum to 1, and the output for token <i>i</i> is the weighted sum of all value vectors. Attention
shows where information can flow; it does not prove why the model makes a prediction.
(Vaswani et al. 2017, section 3.2; Devlin et al. 2018, section 3)</p>
"""


def create_attention(session: AppState, header: Header) -> Tab:
    """Draw the tab and join its parts."""
    picker, direct = header.picker, header.direct
    gr.HTML(
        "<p class='lead'>Multi-head self-attention: which tokens each head of the model attends to. Sentence B is "
        "optional.</p>"
    )
    with gr.Row(elem_classes="ask"):
        text_a = gr.Textbox(label="Sentence A", lines=1, max_lines=4, scale=4, elem_id="attention-a")
        text_b = gr.Textbox(label="Sentence B", lines=1, max_lines=4, scale=4, elem_id="attention-b")
        show_button = gr.Button("Show attention", variant="primary", scale=0, min_width=150, elem_id="attention-show")
    examples = chips(elem_id="attention-examples")
    grid = attention_grid(
        exact_values=partial(exact_values, session),
        layer_values=partial(layer_values, session),
        query_key=partial(query_key, session),
        elem_id="attention-grid",
    )
    with gr.Accordion(
        "Compare attention: two models, two texts, causal mask", open=False, elem_id="attention-difference-part"
    ) as part:
        kind = gr.Radio(
            [("another model", MODEL), ("the same with a causal mask", CAUSAL), ("another text", TEXT)],
            value=MODEL,
            label="Compare this attention with",
            elem_id="attention-other",
        )
        other_model = second_model(elem_id="attention-other-model")
        other = gr.Textbox(
            label="Other sentence A (same number of tokens)",
            lines=1,
            max_lines=4,
            visible=False,
            elem_id="attention-other-text",
        )
        difference = attention_grid(label="Attention difference", elem_id="attention-difference")
    with gr.Accordion("How is this computed?", open=False):
        gr.HTML(_EXPLANATION, elem_classes="explanation")

    asked = [picker, text_a, text_b]
    apart = CollapsedView(
        direct, "difference", part, picture(partial(differ, session)), [*asked, kind, other, other_model], difference
    )
    draw = picture(partial(attention, session))
    for trigger in (show_button.click, text_a.submit, text_b.submit):
        apart.follow(direct.ask(trigger, draw, asked, grid))
    apart.follow(examples.pick(clicked(partial(pick_pair, _views, session)), picker, [text_a, text_b, grid], **QUIET))
    apart.follow(*(event(None, None, None, **QUIET) for event in (kind.input, other.submit, other_model.input)))
    kind.change(
        lambda kind: (gr.update(visible=kind == MODEL), gr.update(visible=kind == TEXT)),
        kind,
        [other_model, other],
        **QUIET,
    )
    return Tab(
        "attention",
        partial(follow_model, session),
        [examples, text_a, text_b],
        [examples, text_a, text_b, grid],
        (apart,),
        {"a": text_a, "b": text_b, "kind": kind, "other": other, "other_model": other_model},
        other_model,
    )


def attention(session: AppState, model: str, text_a: str, text_b: str) -> str:
    """The payload of the grid; the computation is kept for what the grid asks later."""
    from bertviz_lab.interpret import METRICS, head_metrics, trace_text

    checkpoint = session.models.open(model)
    trace = trace_text(checkpoint, checked(text_a), checked(text_b) or None)
    queries, keys = (
        np.stack([getattr(layer, name)[0].float().numpy() for layer in trace.layers])
        for name in ("query_states", "key_states")
    )
    key = session.keep_trace(model, (text_a, text_b), CachedTrace(trace.attentions, queries, keys))
    metrics = head_metrics(trace).metrics
    payload = attention_payload(
        trace.tokens,
        trace.encoding.token_type_ids,
        trace.attentions,
        f"Attention of {checkpoint.name}",
        key=key,
        special=trace.encoding.special_tokens_mask,
        metrics={name: (METRICS[name], values) for name, values in metrics.items()},
    )
    return with_link(payload, "attention", model, a=text_a, b=text_b)


def differ(
    session: AppState, model: str, text_a: str, text_b: str, kind: str, other: str, other_model: str | None
) -> str:
    """The attention of this model less that of another; or with another mask, or of another text, less this one."""
    from bertviz_lab.interpret import attention_difference, trace_text

    checkpoint = session.models.open(model)
    texts = (checked(text_a), checked(text_b) or None)
    one = trace_text(checkpoint, *texts)
    if kind == TEXT:
        if not checked(other).strip():
            raise InputError("Type the other sentence; it must have the same number of tokens.")
        second, title = trace_text(checkpoint, other, texts[1]), "Other text minus this one"
    elif kind == CAUSAL:
        second, title = trace_text(checkpoint, *texts, causal=True), "Causal minus bidirectional"
    else:
        other_checkpoint = open_second(session, checkpoint, other_model)
        one, second = trace_text(other_checkpoint, *texts), one
        title = f"{checkpoint.name} minus {other_checkpoint.name}"
        if one.tokens != second.tokens:
            raise InputError("The two models tokenize this text differently, so their attention cannot be subtracted.")
    difference = attention_difference(one, second)
    payload = difference_payload(
        one.tokens, one.encoding.token_type_ids, difference, title, special=one.encoding.special_tokens_mask
    )
    fields = {"a": text_a, "b": text_b, "kind": kind, "other": other, "other_model": other_model}
    return with_link(payload, "attention", model, "difference", **fields)


def exact_values(session: AppState, key: str, layer: int, head: int) -> str:
    """The exact weights of one head; "" where they are gone."""
    kept = session.trace(key)
    if kept is None or not _is_head(kept, layer, head):
        return ""
    return head_cells(kept.attentions, layer, head)


def layer_values(session: AppState, key: str, layer: int) -> str:
    """The weights of one layer of a long text; "" where they are gone."""
    kept = session.trace(key)
    return layer_cells(kept.attentions, layer) if kept is not None and _is_head(kept, layer, 0) else ""


def query_key(session: AppState, key: str, layer: int, head: int, looking: int, looked_at: int) -> str:
    """Why one token looks at another; "" where the computation is gone."""
    kept = session.trace(key)
    if kept is None or not _is_head(kept, layer, head):
        return ""
    length = kept.attentions.shape[-1]
    if not (0 <= looking < length and 0 <= looked_at < length):
        return ""
    query, offered = kept.queries[layer, head, looking], kept.keys[layer, head, looked_at]
    products = query * offered / np.sqrt(len(query))
    weight = float(kept.attentions[layer, head, looking, looked_at])
    return pair_payload(query, offered, products, float(products.sum()), weight)


def _is_head(kept: CachedTrace, layer: int, head: int) -> bool:
    layers, heads = kept.attentions.shape[:2]
    return 0 <= layer < layers and 0 <= head < heads


def _views(session: AppState, model: str, text_a: str, text_b: str) -> tuple[str, ...]:
    return (picture(attention)(session, model, text_a, text_b),)


def follow_model(session: AppState, model: str, shown: str, text_a: str, text_b: str) -> tuple[Any, ...]:
    """Examples of another model, and its attention; the person's own sentences stay."""
    return follow_with_pair(_views, 1, session, model, shown, text_a, text_b)
