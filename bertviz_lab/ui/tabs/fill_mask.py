"""Fill-mask: a sentence with blanks, and what the model would write into them."""

import json
from functools import partial
from typing import Any

import gradio as gr

from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import message_payload
from bertviz_lab.figures.predictions import fill_mask_payload
from bertviz_lab.ui.components import fill_mask_bars
from bertviz_lab.ui.components.chips import chip_items, chips, chips_payload
from bertviz_lab.ui.examples import keep_or_replace
from bertviz_lab.ui.session import Session, checked
from bertviz_lab.ui.wiring import QUIET, Tab, clicked, picked, picture, sentence_of

_EXPLANATION = """
<p>BERT reads the whole sentence at once, left and right of every blank. For the blank it ends with a vector
<i>h</i> of as many numbers as the hidden size. That vector is compared with the embedding <i>e</i> of every token
in the vocabulary; the better they agree, the likelier the token:</p>
<p class="formula">probability(token) = exp(<i>e</i><sub>token</sub> · <i>t</i> + <i>b</i><sub>token</sub>)
/ Σ<sub>all tokens</sub> exp(<i>e</i> · <i>t</i> + <i>b</i>), with
<i>t</i> = LayerNorm(GELU(<i>W h</i> + <i>c</i>))</p>
<p>The probabilities of all tokens add up to 1. Several blanks are guessed at the same time, each without knowing
the guesses for the others. (Devlin et al. 2018, sections 3.1 and A.1)</p>
"""


def create_fill_mask(session: Session, picker: gr.Dropdown) -> Tab:
    """Draw the tab and join its parts."""
    gr.HTML("<p class='lead'>Hide a word behind <code>[MASK]</code> and let the model guess it.</p>")
    with gr.Row(elem_classes="ask"):
        text = gr.Textbox(label="Sentence with [MASK]", lines=1, max_lines=4, scale=6, elem_id="fill-text")
        predict_button = gr.Button("Predict", variant="primary", scale=0, min_width=120, elem_id="fill-predict")
    examples = chips(elem_id="fill-examples")
    bars = fill_mask_bars(elem_id="fill-bars")
    with gr.Accordion("More candidates", open=False):
        top_k = gr.Slider(1, 20, 5, step=1, label="Candidates for each blank", elem_id="fill-top-k")
    with gr.Accordion("How is this computed?", open=False):
        gr.HTML(_EXPLANATION, elem_classes="explanation")
    # The words behind the blanks that were made by a click, in their order, so that a click brings them back.
    hidden = gr.Textbox("[]", visible=False)

    draw = picture(partial(predict, session))
    for trigger in (predict_button.click, text.submit, top_k.release):
        trigger(draw, [picker, text, top_k], bars, **QUIET)
    bars.toggle_mask(clicked(partial(toggle, session)), [picker, text, hidden, top_k], [text, hidden, bars], **QUIET)
    examples.pick(clicked(partial(pick, session)), [picker, top_k], [text, hidden, bars], **QUIET)
    return Tab("fill", partial(follow_model, session), [examples, text, hidden, top_k], [examples, text, hidden, bars])


def predict(session: Session, model: str, text: str, top_k: float) -> str:
    """The bars for a sentence; one without a blank is shown as it is, to be clicked."""
    from bertviz_lab.interpret import FillMask, fill_mask
    from bertviz_lab.tokenization import check_mask_spelling

    checkpoint = session.models.open(model)
    text = checked(text)
    if text.strip() and not _blanks(checkpoint.tokenizer, text) and not check_mask_spelling(text, checkpoint.tokenizer):
        longest = checkpoint.config.max_position_embeddings
        found = FillMask(checkpoint.tokenizer.encode(text, max_length=longest), ())
    else:
        found = fill_mask(checkpoint, text, min(int(top_k), checkpoint.config.vocab_size))
    return fill_mask_payload(found, title=checkpoint.name, vocab_size=checkpoint.config.vocab_size)


def toggle(session: Session, data: dict[str, Any], model: str, text: str, hidden: str, top_k: float) -> tuple[Any, ...]:
    """Hide the word at a position behind a blank, or bring back what stands behind the blank there."""
    try:
        text, words = toggled(session, model, checked(text), _words(hidden), int(data["position"]))
    except Exception as error:
        return gr.skip(), gr.skip(), message_payload(sentence_of(error))
    return text, json.dumps(words), picture(predict)(session, model, text, top_k)


def toggled(session: Session, model: str, text: str, words: list[str], position: int) -> tuple[str, list[str]]:
    """The sentence after a click on a position, and the words behind its blanks.

    A blank that nobody's click has made is filled with the model's first guess.
    """
    from bertviz_lab.interpret import fill_mask

    checkpoint = session.models.open(model)
    tokenizer = checkpoint.tokenizer
    mask = tokenizer.token(tokenizer.mask_id)
    blanks = _blanks(tokenizer, text)
    words = words if len(words) == len(blanks) else [""] * len(blanks)
    encoding = tokenizer.encode(text, max_length=checkpoint.config.max_position_embeddings)
    if not 0 < position < len(encoding):
        raise InputError("That word is no longer there; press Predict.")
    start, end = encoding.offsets[position]
    if encoding.ids[position] == tokenizer.mask_id:
        place = blanks.index((start, end)) if (start, end) in blanks else 0
        word = words.pop(place)
        if not word:
            guess = fill_mask(checkpoint, text, 1).masks[place].candidates[0].token
            word = guess.removeprefix("##").lstrip("Ġ▁")
        return text[:start] + word + text[end:], words
    word_id = encoding.word_ids[position]
    pieces = [encoding.offsets[at] for at, other in enumerate(encoding.word_ids) if other == word_id]
    start, end = pieces[0][0], pieces[-1][1]
    words.insert(sum(blank < start for blank, _ in blanks), text[start:end])
    return text[:start] + mask + text[end:], words


def pick(session: Session, data: dict[str, Any], model: str, top_k: float) -> tuple[Any, ...]:
    """Put an example into the field and predict it."""
    (text,) = picked(data, 1)
    return text, "[]", picture(predict)(session, model, text, top_k)


def follow_model(session: Session, model: str, shown: str, text: str, hidden: str, top_k: float) -> tuple[Any, ...]:
    """Examples and predictions of another model; the person's own sentence stays."""
    try:
        items = [(masked,) for masked in session.examples(model).masked]
    except Exception as error:
        return gr.skip(), gr.skip(), gr.skip(), message_payload(sentence_of(error))
    (wanted,) = keep_or_replace((text or "",), chip_items(shown), items)
    bars = picture(predict)(session, model, wanted, top_k)
    if wanted == text:
        return chips_payload(items), gr.skip(), gr.skip(), bars
    return chips_payload(items), wanted, "[]", bars


def _blanks(tokenizer: Any, text: str) -> list[tuple[int, int]]:
    """(start, end) of every mask token in a text."""
    encoding = tokenizer.encode(text)
    return [encoding.offsets[position] for position in encoding.mask_positions(tokenizer.mask_id)]


def _words(hidden: str) -> list[str]:
    try:
        return [str(word) for word in json.loads(hidden)]
    except (ValueError, TypeError):
        return []
