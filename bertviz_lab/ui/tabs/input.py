"""Input: what the model is really given in place of a sentence."""

from functools import partial
from typing import Any

import gradio as gr

from bertviz_lab.figures.interpret.embeddings import embedding_payload
from bertviz_lab.figures.interpret.tokens import token_payload
from bertviz_lab.figures.interpret.word_splits import splitting_payload
from bertviz_lab.ui.app_state import AppState
from bertviz_lab.ui.components import token_strip
from bertviz_lab.ui.components.chips import chips
from bertviz_lab.ui.components.scores import scores
from bertviz_lab.ui.components.word_split import word_split
from bertviz_lab.ui.error_handling import clicked, in_order, picture
from bertviz_lab.ui.header import Header
from bertviz_lab.ui.links import with_link
from bertviz_lab.ui.pairs import follow_with_pair, pick_pair
from bertviz_lab.ui.validation import checked
from bertviz_lab.ui.view_contract import QUIET, CollapsedView, Tab

_EXPLAINED = 4000  # characters; more words than a person would read


def create_input(session: AppState, header: Header) -> Tab:
    """Draw the tab and join its parts."""
    picker, direct = header.picker, header.direct
    gr.HTML(
        "<p class='lead'>A model takes numbers, not words. Type, and see the sentence become tokens, ids and "
        "segments. Sentence B is optional.</p>"
    )
    with gr.Row(elem_classes="ask"):
        text_a = gr.Textbox(label="Sentence A", lines=1, max_lines=4, elem_id="input-a")
        text_b = gr.Textbox(label="Sentence B", lines=1, max_lines=4, elem_id="input-b")
    examples = chips(elem_id="input-examples")
    strip = token_strip(elem_id="input-strip")
    with gr.Accordion("How does the tokenizer split the words?", open=False):
        splits = word_split(elem_id="input-splits")
    with gr.Accordion("Input embeddings: the sum of three vectors", open=False, elem_id="input-sum-part") as part:
        vectors = scores(label="token + segment + position", elem_id="input-sum")

    draw = in_order(partial(show, session))
    summed = CollapsedView(
        direct, "sum", part, picture(partial(embeddings, session)), [picker, text_a, text_b], vectors
    )
    for trigger in (text_a.input, text_b.input):
        summed.follow(direct.ask(trigger, draw, [picker, text_a, text_b], [strip, splits]))
    summed.follow(
        examples.pick(clicked(partial(pick_pair, show, session)), picker, [text_a, text_b, strip, splits], **QUIET)
    )
    return Tab(
        "input",
        partial(follow_model, session),
        [examples, text_a, text_b],
        [examples, text_a, text_b, strip, splits],
        (summed,),
        {"a": text_a, "b": text_b},
    )


def show(session: AppState, model: str, text_a: str, text_b: str) -> tuple[str, str]:
    """The strip of tokens and the explanation of its words."""
    return picture(tokens)(session, model, text_a, text_b), picture(splitting)(session, model, text_a, text_b)


def tokens(session: AppState, model: str, text_a: str, text_b: str) -> str:
    """The payload of the strip."""
    from bertviz_lab.interpret.inputs import encode_inputs

    checkpoint = session.models.open(model)
    encoding = encode_inputs(checkpoint, checked(text_a), checked(text_b) or None).encoding
    note = checkpoint.length_warning(len(encoding.ids))
    return with_link(token_payload(encoding, note=note), "input", model, a=text_a, b=text_b)


def embeddings(session: AppState, model: str, text_a: str, text_b: str) -> str:
    """The payload of the sum of token, segment and position vectors."""
    from bertviz_lab.interpret import embedding_sum

    found = embedding_sum(session.models.open(model), checked(text_a), checked(text_b) or None)
    return with_link(embedding_payload(found), "input", model, "sum", a=text_a, b=text_b)


def splitting(session: AppState, model: str, text_a: str, text_b: str) -> str:
    """The payload of the explanation, for both sentences together."""
    from bertviz_lab.tokenization import explain

    tokenizer = session.models.open(model).tokenizer
    text = " ".join(text for text in (checked(text_a), checked(text_b)) if text.strip())
    words = explain(tokenizer, text[:_EXPLAINED])
    return splitting_payload(words, tokenizer.algorithm, unknown=tokenizer.token(tokenizer.unk_id))


def follow_model(session: AppState, model: str, shown: str, text_a: str, text_b: str) -> tuple[Any, ...]:
    """Examples of another model, and its tokens; the person's own sentences stay."""
    return follow_with_pair(show, 2, session, model, shown, text_a, text_b)
