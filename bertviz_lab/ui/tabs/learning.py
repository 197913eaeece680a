"""Learning: one slider over a training, and what the model makes of a sentence at every step of it."""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import gradio as gr

from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import message_payload, to_json
from bertviz_lab.figures.training.dynamics import opening_payload
from bertviz_lab.jobs.run_names import short_name
from bertviz_lab.ui.app_state import AppState
from bertviz_lab.ui.components.chips import chip_items, chips, chips_payload
from bertviz_lab.ui.components.scrubber import scrubber
from bertviz_lab.ui.dynamics_examples import followed_texts
from bertviz_lab.ui.error_handling import clicked, in_order, picked, picture, sentence_of
from bertviz_lab.ui.examples import keep_or_replace
from bertviz_lab.ui.header import Header
from bertviz_lab.ui.links import with_link
from bertviz_lab.ui.snapshots import Question
from bertviz_lab.ui.validation import checked
from bertviz_lab.ui.view_contract import TYPING, Tab

#: A text longer than this, or with more weights of attention in one frame, is refused: every frame is held at once.
_MOST_TOKENS, _MOST_CELLS = 192, 2**20
_MOST_WATCHED = 6

_NONE = "No snapshots yet: train a model in the tab Pretrain, and they appear here during training."

_EXPLANATION = """
<p>During training the lab saves the weights at steps 0, 1, 2, 5, 10, 20, 50 and so on, since most changes early; from
step 100 on there are some more in between. Each of these <em>snapshots</em> is a complete model: here every one of them
gets your sentence as input, and the slider runs through their predictions. Step 0 is the randomly initialised model:
its predictions are chance.</p>
<p>The curve is the training loss; the dots are the loss on the held-out set. Words on the map are
placed by their embeddings, projected onto the first two principal components of the last snapshot; the projection is
fixed, so what moves is the words. The predictions of each layer are read by the MLM head of the same snapshot (the
logit
lens). A head counts as a previous-token head, for example, once more than half of its attention goes to the previous
token and stays there.</p>
"""


def create_learning(session: AppState, header: Header, own: gr.BrowserState, tab: gr.Tab) -> Tab:
    """Draw the tab and join its parts; `own` are the runs of the visitor's browser."""
    direct = header.direct
    gr.HTML(
        "<p class='lead'>Training dynamics: drag through the snapshots of a training run and watch the predictions "
        "for a sentence emerge.</p>"
    )
    with gr.Row(elem_classes="ask"):
        history = gr.Dropdown(
            [], label="Training run", filterable=False, scale=3, min_width=230, elem_id="learning-history"
        )
        text_a = gr.Textbox(label="Sentence", lines=1, max_lines=3, scale=7, min_width=280, elem_id="learning-a")
        show_button = gr.Button("Show", variant="primary", scale=0, min_width=110, elem_id="learning-show")
    examples = chips(elem_id="learning-examples")
    with gr.Accordion("Second sentence, words to track", open=False, elem_id="learning-more"), gr.Row():
        text_b = gr.Textbox(label="Sentence B", lines=1, max_lines=3, scale=3, min_width=240, elem_id="learning-b")
        words = gr.Textbox(
            label="Words to track, separated by commas",
            info="If empty: the top three predictions of the last snapshot.",
            lines=1,
            max_lines=1,
            scale=2,
            min_width=240,
            elem_id="learning-words",
        )
    view = scrubber(frame=partial(frame, session), news=partial(news, session), elem_id="learning-view")
    with gr.Accordion("What am I looking at?", open=False):
        gr.HTML(_EXPLANATION, elem_classes="explanation")
    # What a link asks for, and what the page has chosen by itself: a person's own choice is not overridden.
    wanted = gr.Textbox("", visible=False)
    automatic = gr.Textbox("", visible=False)
    followed = gr.Textbox("", visible=False)  # the model at the top of the page that was followed last

    texts = [text_a, text_b, words]
    draw = picture(partial(learning, session))
    for trigger in (show_button.click, text_a.submit, text_b.submit, words.submit):
        direct.ask(trigger, draw, [history, *texts], view)
    # The picker's choices come by `direct`, so Gradio would refuse its value as the input of an event of its own.
    filled = examples.pick(clicked(pick), None, texts, **TYPING)
    direct.ask(filled.then, draw, [history, *texts], view)
    others = [examples, *texts, view]
    direct.ask(history.input, in_order(partial(choose, session)), [history, examples, *texts], others)
    inputs = [own, history, wanted, automatic, examples, *texts]
    outputs = [history, wanted, automatic, *others]
    direct.ask(tab.select, in_order(partial(come, session)), inputs, outputs)
    direct.ask(header.strip.run_changed, in_order(partial(renew, session)), inputs, outputs)
    return Tab(
        "learning",
        partial(follow_model, session),
        [followed, *inputs],
        [followed, *outputs],
        fields={"history": wanted, "a": text_a, "b": text_b, "words": words},
    )


def learning(session: AppState, history: str, text_a: str, text_b: str, words: str) -> str:
    """The payload of the scrubber for a history and a text: how it begins, and the last frame."""
    from bertviz_lab.interpret import METRICS, analyze_snapshot, related_tokens

    if not history:
        raise InputError(_NONE)
    text_a, text_b = checked(text_a), checked(text_b)
    past = session.histories.past(history)
    steps = past.steps()
    if not steps:
        raise InputError(f"{past.name} has no snapshots any more; choose another training run.")
    checkpoint = session.histories.snapshot(history, steps[-1])
    _refuse_long(checkpoint, text_a, text_b)
    watched = watch(checkpoint, checked(words))
    analysis = analyze_snapshot(checkpoint, text_a, text_b or None)
    likeliest = [candidate.id for masked in analysis.masked_tokens for candidate in masked.candidates]
    if not watched and analysis.masked_tokens:
        watched = likeliest[:3]
    mapped = (
        related_tokens(checkpoint, [*watched, *likeliest, *analysis.encoding.ids])
        if analysis.losses is not None
        else ()
    )
    question = Question(history, text_a, text_b, tuple(watched), mapped)
    payload = opening_payload(
        question=question.body(),
        title=past.name,
        encoding=analysis.encoding,
        shape=analysis.attentions.shape[:2],
        steps=steps,
        tracked=[checkpoint.tokenizer.token(token) for token in watched],
        projected=[checkpoint.tokenizer.token(token) for token in mapped],
        plane=session.histories.plane(question, steps[-1]) if mapped else {},
        curve=session.histories.curve(history),
        metric_descriptions=METRICS,
        labels=checkpoint.config.labels if analysis.labels else (),
        words=[word.text for word in analysis.words],
        vocab_size=checkpoint.config.vocab_size,
        live=session.histories.is_live(history),
        first=session.histories.frame(question, steps[-1]),
    )
    return with_link(payload, "learning", "", history=history, a=text_a, b=text_b, words=words)


def watch(checkpoint: Any, words: str) -> list[int]:
    """The ids of words that a person named. Raises `InputError` for one that is not one token, or too many."""
    from bertviz_lab.interpret.targets import single_token

    names = [name for name in words.split(",") if name.strip()]
    if len(names) > _MOST_WATCHED:
        raise InputError(f"Track at most {_MOST_WATCHED} words at a time.")
    return list(dict.fromkeys(single_token(checkpoint, name) for name in names))


def _refuse_long(checkpoint: Any, text_a: str, text_b: str) -> None:
    config = checkpoint.config
    heads = config.num_hidden_layers * config.num_attention_heads
    most = min(_MOST_TOKENS, checkpoint.max_length, math.isqrt(_MOST_CELLS // heads))
    length = len(checkpoint.tokenizer.encode(text_a, text_b or None))
    if length > most:
        raise InputError(
            f"This text has {length:,} tokens, and the page holds every snapshot at once: shorten it to {most} at most."
        )


def frame(session: AppState, question: str, step: int) -> str:
    """The frame of one step, asked for by the page; a message where it cannot be had."""
    try:
        return session.histories.frame(Question.read(question), step)
    except Exception as error:  # whatever happens, the page must live on
        return message_payload(sentence_of(error))


def news(session: AppState, question: str, last: int) -> str:
    """What has happened to a history since `last` was the last step that the page knew."""
    try:
        asked = Question.read(question)
        steps = session.histories.past(asked.history).steps()
        body: dict[str, Any] = {"live": session.histories.is_live(asked.history), "steps": steps}
        body["curve"] = session.histories.curve(asked.history)
        if steps and steps[-1] != last and asked.mapped:
            body["plane"] = session.histories.plane(asked, steps[-1])
        return to_json(body)
    except Exception as error:
        return message_payload(sentence_of(error))


def pick(data: dict[str, Any]) -> tuple[str, ...]:
    """The fields of an example that was clicked: sentence A, sentence B, words to track."""
    return picked(data, 3)


def choose(session: AppState, history: str, shown: str, *texts: str) -> tuple[Any, ...]:
    """Another history: (examples, sentence A, sentence B, words, view); a person's own sentences stay."""
    try:
        items: Sequence[tuple[str, ...]] = followed_texts(session, history) if history else []
    except Exception as error:
        return *(gr.skip(),) * 4, message_payload(sentence_of(error))
    current = tuple(text or "" for text in texts)
    kept = keep_or_replace(current, chip_items(shown), items)
    fields = (gr.skip(),) * 3 if kept == current else kept
    return chips_payload(items, shown=2), *fields, picture(learning)(session, history, *kept)


def come(
    session: AppState, own: Any, history: str | None, wanted: str, automatic: str, shown: str, *texts: str
) -> tuple[Any, ...]:
    """The tab is looked at, or a run has begun or ended: what there is, and the run under way unless a person chose.

    (history, wanted, automatic, examples, sentence A, sentence B, words, view)
    """
    mine = [run_id for run_id in own if isinstance(run_id, str)] if isinstance(own, list) else []
    choices = session.histories.choices(mine)
    names = [name for _, name in choices]
    best = session.histories.default(mine)
    chosen = history if history in names else ""
    if chosen == automatic and not session.histories.is_live(chosen) and session.histories.is_live(best):
        chosen = ""  # the page had chosen it, and now a run is under way; one that has ended stays where it is
    if wanted:  # a link leads to it; of a run only those who know its id are told
        chosen = wanted
        if wanted not in names and session.models.is_run(wanted):
            choices = [(short_name(wanted), wanted), *choices]
    found = chosen or best
    automatic = automatic if chosen else found
    picker = gr.update(choices=choices, value=found or None)
    if found == history and not wanted and shown:
        return picker, "", automatic, *(gr.skip(),) * 5
    return picker, "", automatic, *choose(session, found, shown, *texts)


def renew(
    session: AppState, own: Any, history: str | None, wanted: str, automatic: str, shown: str, *texts: str
) -> tuple[Any, ...]:
    """As `come`; but nothing is computed before somebody has come to the tab, or a link leads to it."""
    if not wanted and not shown:
        return (gr.skip(),) * 8
    return come(session, own, history, wanted, automatic, shown, *texts)


def follow_model(
    session: AppState, model: str, followed: str, own: Any, history: str | None, wanted: str, *others: str
) -> tuple[Any, ...]:
    """Another model was chosen at the top of the page: its history is shown where it has one."""
    mine = own if isinstance(own, list) else []
    if not wanted and followed and model != followed and model in [name for _, name in session.histories.choices(mine)]:
        wanted = model
    return model, *renew(session, own, history, wanted, *others)
