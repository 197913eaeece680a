"""Try it: ask a fine-tuned model for the label of a text, the names in it, or the answer to a question."""

from functools import partial
from typing import Any

import gradio as gr

from bertviz_lab.errors import InputError
from bertviz_lab.figures.charts import bars_payload
from bertviz_lab.figures.interpret.attribution import attribution_payload
from bertviz_lab.figures.marking import Span, marked_payload
from bertviz_lab.figures.payload import Payload, message_payload
from bertviz_lab.ui.app_state import AppState
from bertviz_lab.ui.components.chart import chart
from bertviz_lab.ui.components.chips import chip_items, chips, chips_payload
from bertviz_lab.ui.components.marked_text import marked_text
from bertviz_lab.ui.components.scores import scores
from bertviz_lab.ui.error_handling import clicked, in_order, picked, picture, sentence_of
from bertviz_lab.ui.examples import keep_or_replace
from bertviz_lab.ui.header import Header
from bertviz_lab.ui.links import with_link
from bertviz_lab.ui.tabs.whole_file import create_whole_file
from bertviz_lab.ui.validation import checked
from bertviz_lab.ui.view_contract import QUIET, CollapsedView, Tab

#: What each kind of model is asked, by the name of its architecture: the labels of the two fields.
ASKED = {
    "BertForSequenceClassification": ("Text", "Second text, for models of pairs"),
    "BertForTokenClassification": ("Text", "Not needed"),
    "BertForQuestionAnswering": ("Question", "Passage that holds the answer"),
}
#: What can be asked of each kind.
_CAN_TELL = {
    "BertForSequenceClassification": "labels for a text",
    "BertForTokenClassification": "entities in a text",
    "BertForQuestionAnswering": "the answer in a passage",
}
_EXPLANATION = """
<p>A fine-tuned model is BERT with a task head, trained together on labelled examples:</p>
<ul>
<li><b>Sequence classification</b>: softmax(<i>W h</i><sub>[CLS]</sub> + <i>b</i>), from the pooled output of
<code>[CLS]</code>.</li>
<li><b>Token classification</b>: the same from the last hidden state of each token; of a word with several subwords the
first one counts.</li>
<li><b>Extractive question answering</b>: a start and an end logit for each token; the span with the best sum, start ≤
end, is the answer, unless <code>[CLS]</code>, which stands for no answer, scores higher.</li>
</ul>
<p>(Devlin et al. 2018, section 4 and figure 4)</p>
"""


def create_try_it(session: AppState, header: Header) -> Tab:
    """Draw the tab and join its parts."""
    picker, direct = header.picker, header.direct
    gr.HTML(
        "<p class='lead'>Inference with a fine-tuned model: sequence classification, token classification or "
        "question answering.</p>"
    )
    with gr.Row(elem_classes="ask"):
        text_a = gr.Textbox(label="Text", lines=1, max_lines=6, scale=5, elem_id="try-a")
        text_b = gr.Textbox(label="Second text", lines=1, max_lines=12, scale=5, elem_id="try-b")
        ask = gr.Button("Predict", variant="primary", scale=0, min_width=100, elem_id="try-ask")
    examples = chips(elem_id="try-examples")
    others = chips(label="Models for other tasks", elem_id="try-others")
    marked = marked_text(label="Predictions in the text", elem_id="try-marked", visible=False)
    verdict = chart(label="Prediction", elem_id="try-verdict")
    with gr.Accordion("Attribution: which tokens decide?", open=False, elem_id="try-why-part") as why_part:
        strip = scores(label="Attribution of each token", elem_id="try-why")
    create_whole_file(session, picker)
    with gr.Accordion("How is this computed?", open=False):
        gr.HTML(_EXPLANATION, elem_classes="explanation")

    asked = [picker, text_a, text_b]
    why = CollapsedView(direct, "words", why_part, picture(partial(words, session)), asked, strip, slow=True)
    draw = in_order(partial(answer, session))
    for trigger in (ask.click, text_a.submit, text_b.submit):
        why.follow(direct.ask(trigger, draw, asked, [marked, verdict]))
    why.follow(examples.pick(clicked(partial(pick, session)), picker, [text_a, text_b, marked, verdict], **QUIET))
    return Tab(
        "try",
        partial(follow_model, session),
        [examples, text_a, text_b],
        [others, examples, text_a, text_b, marked, verdict],
        (why,),
        {"a": text_a, "b": text_b},
        others=others,
    )


def answer(session: AppState, model: str, text_a: str, text_b: str) -> tuple[Any, Any]:
    """The marked text and the chart, of which one is to be seen, or one sentence."""
    try:
        checkpoint, told = asked_model(session, model)
        if checkpoint.architecture == "BertForSequenceClassification":
            payload = _labels(checkpoint, told, text_a, text_b)
        elif checkpoint.architecture == "BertForTokenClassification":
            payload = _entities(checkpoint, told, text_a)
        else:
            payload = _passage(checkpoint, told, text_a, text_b)
        payload = with_link(payload, "try", model, a=text_a, b=text_b)
    except Exception as error:
        return gr.update(visible=False), gr.update(value=str(message_payload(sentence_of(error))), visible=True)
    drawn, hidden = gr.update(value=str(payload), visible=True), gr.update(visible=False)
    return (hidden, drawn) if checkpoint.architecture == "BertForSequenceClassification" else (drawn, hidden)


def asked_model(session: AppState, model: str) -> tuple[Any, str]:
    """The model that answers, and a sentence where it is another than the chosen one, which was not fine-tuned.

    Raises `InputError` where there is none.
    """
    name = session.models.tuned(model)
    if name == (model.strip() or session.models.default()):
        return session.models.open(name), ""
    chosen = session.models.open(model).name
    if not name:
        raise InputError(
            f"{chosen} has not been fine-tuned: choose a model that was, or fine-tune this one in the tab Fine-tune."
        )
    return session.models.open(
        name
    ), f"{chosen} has not been fine-tuned; {name}, which comes with the lab, is used instead."


def _labels(checkpoint: Any, told: str, text_a: str, text_b: str) -> Payload:
    from bertviz_lab.interpret import classify

    found = classify(checkpoint, checked(text_a), checked(text_b).strip() or None)
    if len(found.labels) == 1 and not found.multi_label:
        value = found.labels[0].score
        return bars_payload(
            [found.labels[0].label],
            [("number", [value])],
            title="Predicted value",
            texts=[[f"{value:.2f}"]],
            sentence=told,
            file="number",
        )
    said = [label.label for label in found.labels if label.score > 0.5 or not found.multi_label]
    return bars_payload(
        [label.label for label in found.labels],
        [("probability", [label.score for label in found.labels])],
        title=f"Predicted label: {(', '.join(said) or 'none of its labels') if found.multi_label else said[0]}",
        texts=[[f"{label.score:.1%}" for label in found.labels]],
        peak=1.0,
        sentence=f"{told} Each label has its own probability (multi-label)." if found.multi_label else told,
        file="labels",
    )


def _entities(checkpoint: Any, told: str, text: str) -> Payload:
    from bertviz_lab.interpret import label_words

    found = label_words(checkpoint, checked(text))
    spans = [Span(e.start, e.end, e.type, e.probability) for e in found.entities]
    if not any("-" in label for label in found.labels):  # parts of speech: every word has one
        spans = [Span(word.start, word.end, word.label, word.probability) for word in found.words]
    names = f"{len(spans):,} entit{'y' if len(spans) == 1 else 'ies'}" if spans else "no entities"
    sentence = f"{names} in {len(found.words):,} words." if found.entities or not spans else ""
    return marked_payload(found.text, spans, title="Entities", sentence=f"{sentence} {told}".strip(), file="names")


def _passage(checkpoint: Any, told: str, question: str, passage: str) -> Payload:
    from bertviz_lab.interpret import answer_question

    found = answer_question(checkpoint, checked(question), checked(passage))
    sentence = f"Answer: “{found.text}”." if found.text else "Prediction: the passage has no answer."
    sentence += f" Probability of no answer: {found.no_answer_probability:.1%}."
    return marked_payload(
        passage,
        (),
        found.best,
        title=question,
        sentence=f"{sentence} {told}".strip(),
        chosen=0 if found.text else None,
        file="answers",
    )


def words(session: AppState, model: str, text_a: str, text_b: str) -> str:
    """Attribution of each token to the answer."""
    from bertviz_lab.interpret import METHODS, attribute, choose_target, encode_inputs

    checkpoint, _ = asked_model(session, model)
    kinds = {"BertForTokenClassification": "word", "BertForQuestionAnswering": "start"}
    kind: Any = kinds.get(checkpoint.architecture, "label")
    texts = (checked(text_a), checked(text_b).strip() or None if kind != "word" else None)
    target = choose_target(checkpoint, encode_inputs(checkpoint, *texts), kind)
    found = [attribute(checkpoint, *texts, method=method, target=target) for method in METHODS]
    return with_link(attribution_payload(found), "try", model, "words", a=text_a, b=text_b)


def pick(session: AppState, data: dict[str, Any], model: str) -> tuple[Any, ...]:
    """Put an example into the fields and ask."""
    text_a, text_b = picked(data, 2)
    return text_a, text_b, *answer(session, model, text_a, text_b)


def follow_model(session: AppState, model: str, shown: str, text_a: str, text_b: str) -> tuple[Any, ...]:
    """Fields and examples that suit the model, and its answer; the person's own texts stay."""
    try:
        checkpoint, _ = asked_model(session, model)
        items = session.task_examples(session.models.tuned(model))
    except Exception as error:
        said = gr.update(value=str(message_payload(sentence_of(error))), visible=True)
        return _others(session, ""), *(gr.skip(),) * 3, gr.update(visible=False), said
    first, second = ASKED.get(checkpoint.architecture, ("Text", "Second text"))
    current = (text_a or "", text_b or "")
    wanted = keep_or_replace(current, chip_items(shown), items) if items else current
    needs_second = checkpoint.architecture != "BertForTokenClassification"
    fields = [gr.update(label=first), gr.update(label=second, visible=needs_second)]
    if wanted != current:  # an untouched field keeps what is being typed into it
        for field, value in zip(fields, wanted, strict=True):
            field["value"] = value
    others = _others(session, checkpoint.architecture)
    return others, chips_payload(items), *fields, *answer(session, model, *wanted)


def _others(session: AppState, architecture: str) -> str:
    """Models that come with the lab and answer something else than one of this architecture."""
    there = session.models.tuned_shipped().items()
    items = [(f"{_CAN_TELL[head]} ({name})", name) for name, head in there if head != architecture]
    return chips_payload(items, "Or ask", shown=1, does="Choose the model for this")
