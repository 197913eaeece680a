"""Next sentence: does B follow A, and which words say so."""

import random
from functools import partial
from typing import Any

import gradio as gr

from bertviz_lab.figures.interpret.attribution import attribution_payload
from bertviz_lab.figures.interpret.predictions import next_sentence_payload
from bertviz_lab.ui.app_state import AppState
from bertviz_lab.ui.components.chart import chart
from bertviz_lab.ui.components.chips import chips
from bertviz_lab.ui.components.scores import scores
from bertviz_lab.ui.error_handling import clicked, in_order, picture
from bertviz_lab.ui.header import Header
from bertviz_lab.ui.links import with_link
from bertviz_lab.ui.pairs import follow_with_pair, pick_pair
from bertviz_lab.ui.validation import checked
from bertviz_lab.ui.view_contract import QUIET, CollapsedView, Tab

_EXPLANATION = """
<p><b>Next-sentence prediction (NSP).</b> In pretraining every example is a pair: half of the time B is the sentence
that follows A, otherwise it comes from another document. The model encodes both together; the last hidden state of
<code>[CLS]</code> goes through the pooler and a linear classifier:</p>
<p class="formula">p(B follows A) = softmax(<i>W</i> tanh(<i>P h</i><sub>[CLS]</sub> + <i>c</i>) +
<i>b</i>)<sub>0</sub></p>
<p>Class 0 is <code>IsNext</code>, class 1 <code>NotNext</code>. (Devlin et al. 2018, section 3.1, task 2)</p>
"""


def create_next_sentence(session: AppState, header: Header) -> Tab:
    """Draw the tab and join its parts."""
    picker, direct = header.picker, header.direct
    gr.HTML(
        "<p class='lead'>Next-sentence prediction (NSP): does sentence B follow sentence A, or come from another "
        "document?</p>"
    )
    with gr.Row(elem_classes="ask"):
        text_a = gr.Textbox(label="Sentence A", lines=1, max_lines=4, scale=4, elem_id="next-a")
        text_b = gr.Textbox(label="Sentence B", lines=1, max_lines=4, scale=4, elem_id="next-b")
        ask = gr.Button("Predict", variant="primary", scale=0, min_width=100, elem_id="next-ask")
    with gr.Row(elem_classes="tools"):
        swap = gr.Button("Swap A and B", size="sm", scale=0, min_width=140, elem_id="next-swap")
        elsewhere = gr.Button("Another B", size="sm", scale=0, min_width=140, elem_id="next-random")
    examples = chips(elem_id="next-examples")
    verdict = chart(label="Prediction", elem_id="next-verdict")
    with gr.Accordion("Attribution: which tokens decide?", open=False, elem_id="next-why-part") as why_part:
        strip = scores(label="Attribution of each token", elem_id="next-why")
    with gr.Accordion("How is this computed?", open=False):
        gr.HTML(_EXPLANATION, elem_classes="explanation")

    asked = [picker, text_a, text_b]
    why = CollapsedView(direct, "words", why_part, picture(partial(words, session)), asked, strip, slow=True)
    draw = picture(partial(answer, session))
    for trigger in (ask.click, text_a.submit, text_b.submit):
        why.follow(direct.ask(trigger, draw, asked, verdict))
    for button, change in ((swap, swapped), (elsewhere, other_b)):
        why.follow(direct.ask(button.click, in_order(partial(change, session)), asked, [text_a, text_b, verdict]))
    why.follow(examples.pick(clicked(partial(pick_pair, _views, session)), picker, [text_a, text_b, verdict], **QUIET))
    return Tab(
        "next",
        partial(follow_model, session),
        [examples, text_a, text_b],
        [examples, text_a, text_b, verdict],
        (why,),
        {"a": text_a, "b": text_b},
    )


def answer(session: AppState, model: str, text_a: str, text_b: str) -> str:
    """Whether B follows A."""
    from bertviz_lab.interpret import next_sentence

    found = next_sentence(session.models.open(model), checked(text_a), checked(text_b))
    payload = next_sentence_payload(found.is_next, found.is_random)
    return with_link(payload, "next", model, a=text_a, b=text_b)


def words(session: AppState, model: str, text_a: str, text_b: str) -> str:
    """Attribution of each token to the answer."""
    from bertviz_lab.interpret import METHODS, attribute, choose_target, encode_inputs

    checkpoint = session.models.open(model)
    inputs = encode_inputs(checkpoint, checked(text_a), checked(text_b))
    target = choose_target(checkpoint, inputs, "next")
    found = [attribute(checkpoint, text_a, text_b, method=method, target=target) for method in METHODS]
    title = f"Attribution for the prediction that {target.name}"
    return with_link(attribution_payload(found, title=title), "next", model, "words", a=text_a, b=text_b)


def swapped(session: AppState, model: str, text_a: str, text_b: str) -> tuple[Any, Any, str]:
    """A and B change places."""
    return text_b, text_a, picture(answer)(session, model, text_b, text_a)


def other_b(session: AppState, model: str, text_a: str, text_b: str) -> tuple[Any, Any, str]:
    """A second sentence drawn from the text that the model was trained on, or one of its examples."""
    others = [text for text in session.examples(model).others if text not in (text_a, text_b)]
    text_b = random.choice(others) if others else text_b
    return gr.skip(), text_b, picture(answer)(session, model, text_a, text_b)


def _views(session: AppState, model: str, text_a: str, text_b: str) -> tuple[str, ...]:
    return (picture(answer)(session, model, text_a, text_b),)


def follow_model(session: AppState, model: str, shown: str, text_a: str, text_b: str) -> tuple[Any, ...]:
    """Examples of another model, and the answer; the person's own sentences stay."""
    return follow_with_pair(_views, 1, session, model, shown, text_a, text_b)
