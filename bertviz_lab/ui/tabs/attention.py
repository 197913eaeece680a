"""Attention: what every head of the model looks at in a text, or a pair of texts."""

from functools import partial
from typing import Any

import gradio as gr

from bertviz_lab.figures.attention import attention_payload, head_cells, layer_cells
from bertviz_lab.figures.payload import message_payload
from bertviz_lab.ui.components import attention_grid
from bertviz_lab.ui.components.chips import chip_items, chips, chips_payload
from bertviz_lab.ui.components.facts import facts, facts_payload
from bertviz_lab.ui.examples import keep_or_replace
from bertviz_lab.ui.session import Session, checked
from bertviz_lab.ui.wiring import QUIET, Tab, clicked, picked, picture, sentence_of

_EXPLANATION = """
<p>Each head of each layer asks, for every token: at which tokens shall I look? Token <i>i</i> carries a query vector
<i>q</i><sub>i</sub>, token <i>j</i> a key vector <i>k</i><sub>j</sub>; how well they agree decides:</p>
<p class="formula">attention(<i>i</i>, <i>j</i>) = softmax<sub>j</sub>(<i>q</i><sub>i</sub> · <i>k</i><sub>j</sub>
/ √size of the head)</p>
<p>So the weights of a row add up to 1, and token <i>i</i> takes from every token <i>j</i> that share of its value
vector. Attention shows where information can flow; it is no proof of why the model decides as it does.
(Vaswani et al. 2017, section 3.2; Devlin et al. 2018, section 3)</p>
"""


def create_attention(session: Session, picker: gr.Dropdown) -> Tab:
    """Draw the tab and join its parts."""
    gr.HTML("<p class='lead'>See which tokens every head of the model looks at. Sentence B may stay empty.</p>")
    with gr.Row(elem_classes="ask"):
        text_a = gr.Textbox(label="Sentence A", lines=1, max_lines=4, scale=4, elem_id="attention-a")
        text_b = gr.Textbox(label="Sentence B", lines=1, max_lines=4, scale=4, elem_id="attention-b")
        show_button = gr.Button("Show attention", variant="primary", scale=0, min_width=150, elem_id="attention-show")
    examples = chips(elem_id="attention-examples")
    verdict = facts(label="Next sentence", elem_id="attention-verdict")
    grid = attention_grid(
        exact_values=partial(exact_values, session),
        layer_values=partial(layer_values, session),
        elem_id="attention-grid",
    )
    with gr.Accordion("How is this computed?", open=False):
        gr.HTML(_EXPLANATION, elem_classes="explanation")

    draw = partial(look, session)
    for trigger in (show_button.click, text_a.submit, text_b.submit):
        trigger(draw, [picker, text_a, text_b], [verdict, grid], **QUIET)
    examples.pick(clicked(partial(pick, session)), picker, [text_a, text_b, verdict, grid], **QUIET)
    return Tab(
        "attention",
        partial(follow_model, session),
        [examples, text_a, text_b],
        [examples, text_a, text_b, verdict, grid],
    )


def look(session: Session, model: str, text_a: str, text_b: str) -> tuple[str, str]:
    """What the model thinks of B after A, and the grid of all heads."""
    return _verdict(session, model, text_a, text_b), picture(attention)(session, model, text_a, text_b)


def attention(session: Session, model: str, text_a: str, text_b: str) -> str:
    """The payload of the grid; the exact weights are kept for what it asks later."""
    from bertviz_lab.interpret import trace_text

    checkpoint = session.models.open(model)
    trace = trace_text(checkpoint, checked(text_a), checked(text_b) or None)
    key = session.keep_attention(model, (text_a, text_b), trace.attentions)
    return attention_payload(
        trace.tokens, trace.encoding.token_type_ids, trace.attentions, f"What {checkpoint.name} looks at", key=key
    )


def exact_values(session: Session, key: str, layer: int, head: int) -> str:
    """The exact weights of one head; "" where they are gone."""
    weights = session.attention(key)
    if weights is None or not (0 <= layer < weights.shape[0] and 0 <= head < weights.shape[1]):
        return ""
    return head_cells(weights, layer, head)


def layer_values(session: Session, key: str, layer: int) -> str:
    """The weights of one layer of a long text; "" where they are gone."""
    weights = session.attention(key)
    return "" if weights is None or not 0 <= layer < weights.shape[0] else layer_cells(weights, layer)


def pick(session: Session, data: dict[str, Any], model: str) -> tuple[Any, ...]:
    """Put an example into the fields and show its attention."""
    text_a, text_b = picked(data, 2)
    return text_a, text_b, *look(session, model, text_a, text_b)


def follow_model(session: Session, model: str, shown: str, text_a: str, text_b: str) -> tuple[Any, ...]:
    """Examples and attention of another model; the person's own sentences stay."""
    try:
        items = list(session.examples(model).pairs)
    except Exception as error:
        return gr.skip(), gr.skip(), gr.skip(), "", message_payload(sentence_of(error))
    current = (text_a or "", text_b or "")
    wanted = keep_or_replace(current, chip_items(shown), items)
    fields = (gr.skip(), gr.skip()) if wanted == current else wanted
    return chips_payload(items), *fields, *look(session, model, *wanted)


def _verdict(session: Session, model: str, text_a: str, text_b: str) -> str:
    """One line on whether B follows A; nothing where the model or the texts have no answer."""
    from bertviz_lab.interpret import next_sentence

    try:
        found = next_sentence(session.models.open(model), checked(text_a), checked(text_b))
    except Exception:
        return ""  # the grid says what is wrong with the texts; a model without this head is not wrong
    return facts_payload(
        [
            ("Next-sentence head: B follows A", f"{found.is_next:.1%}"),
            ("B comes from elsewhere", f"{found.is_random:.1%}"),
        ]
    )
