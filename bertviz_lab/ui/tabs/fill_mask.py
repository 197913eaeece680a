"""Fill-mask: a sentence with masked tokens, and what the model would write into them."""

import json
from functools import partial
from typing import Any

import gradio as gr

from bertviz_lab.errors import InputError
from bertviz_lab.figures.interpret.comparison import comparison_payload, joint_payload
from bertviz_lab.figures.interpret.logit_lens import logit_lens_payload, surprisal_payload
from bertviz_lab.figures.interpret.predictions import fill_mask_payload
from bertviz_lab.figures.payload import message_payload
from bertviz_lab.ui.app_state import AppState
from bertviz_lab.ui.comparison_model import open_second, second_model
from bertviz_lab.ui.components import fill_mask_bars
from bertviz_lab.ui.components.chart import chart
from bertviz_lab.ui.components.chips import chip_items, chips, chips_payload
from bertviz_lab.ui.components.scores import scores
from bertviz_lab.ui.error_handling import clicked, picked, picture, sentence_of
from bertviz_lab.ui.examples import keep_or_replace
from bertviz_lab.ui.header import Header
from bertviz_lab.ui.links import with_link
from bertviz_lab.ui.rpc import tell_progress
from bertviz_lab.ui.validation import checked
from bertviz_lab.ui.view_contract import QUIET, CollapsedView, Tab

_MOST_CANDIDATES = 20

_EXPLANATION = """
<p><b>Masked language modelling (MLM).</b> BERT encodes the whole sentence at once, with the context to the left and to
the right of each masked token. The last hidden state <i>h</i> at <code>[MASK]</code> goes through the MLM head and is
compared with the embedding <i>e</i> of every token in the vocabulary by a dot product; a softmax turns these logits
into
probabilities:</p>
<p class="formula">probability(token) = exp(<i>e</i><sub>token</sub> · <i>t</i> + <i>b</i><sub>token</sub>)
/ Σ<sub>all tokens</sub> exp(<i>e</i> · <i>t</i> + <i>b</i>), with
<i>t</i> = LayerNorm(GELU(<i>W h</i> + <i>c</i>))</p>
<p>The probabilities of all tokens sum to 1. Several masked tokens are predicted in parallel, each independently of the
others. (Devlin et al. 2018, sections 3.1 and A.1)</p>
"""


def create_fill_mask(session: AppState, header: Header) -> Tab:
    """Draw the tab and join its parts."""
    picker, direct = header.picker, header.direct
    gr.HTML(
        "<p class='lead'>Masked language modelling (MLM): put <code>[MASK]</code> in place of a word, and the model "
        "predicts it.</p>"
    )
    with gr.Row(elem_classes="ask"):
        text = gr.Textbox(label="Sentence with [MASK]", lines=1, max_lines=4, scale=6, elem_id="fill-text")
        predict_button = gr.Button("Predict", variant="primary", scale=0, min_width=120, elem_id="fill-predict")
    examples = chips(elem_id="fill-examples")
    bars = fill_mask_bars(elem_id="fill-bars")
    with gr.Accordion("More predictions, or a word of your own", open=False, elem_id="fill-more"), gr.Row():
        top_k = gr.Slider(
            1, _MOST_CANDIDATES, 5, step=1, label="Predictions per masked token (top k)", elem_id="fill-top-k"
        )
        word = gr.Textbox(label="Probability of this word", lines=1, max_lines=1, elem_id="fill-word")
    with gr.Accordion("Logit lens", open=False, elem_id="fill-layers-part") as layers_part:
        layers = chart(label="Logit lens: the prediction at every layer", elem_id="fill-layers")
    with gr.Accordion("Compare with another model", open=False, elem_id="fill-other-part") as other_part:
        other = second_model(elem_id="fill-other")
        comparison = chart(label="Two models", elem_id="fill-comparison")
    with gr.Accordion("Several masked tokens jointly", open=False, elem_id="fill-together-part") as together_part:
        together = chart(label="All masked tokens jointly", elem_id="fill-together")
    with gr.Accordion("Surprisal (pseudo-log-likelihood)", open=False, elem_id="fill-surprise-part") as surprise_part:
        surprises = scores(label="Surprisal of each token", elem_id="fill-surprise")
    with gr.Accordion("How is this computed?", open=False):
        gr.HTML(_EXPLANATION, elem_classes="explanation")
    # The words behind the masked tokens that were made by a click, in their order, so that a click brings them back.
    hidden = gr.Textbox("[]", visible=False)

    asked = [picker, text]
    parts = (
        CollapsedView(direct, "layers", layers_part, picture(partial(by_layer, session)), asked, layers),
        CollapsedView(direct, "beside", other_part, picture(partial(beside, session)), [*asked, other], comparison),
        CollapsedView(direct, "together", together_part, picture(partial(jointly, session)), asked, together),
        CollapsedView(
            direct,
            "surprise",
            surprise_part,
            picture(partial(surprising, session)),
            [*asked, hidden],
            surprises,
            slow=True,
        ),
    )
    draw = picture(partial(predict, session))
    events = [
        direct.ask(trigger, draw, [*asked, top_k, word], bars)
        for trigger in (predict_button.click, text.submit, top_k.release, word.submit)
    ]
    knobs = [top_k, word]
    events.append(
        bars.toggle_mask(clicked(partial(toggle, session)), [*asked, hidden, *knobs], [text, hidden, bars], **QUIET)
    )
    events.append(examples.pick(clicked(partial(pick, session)), [picker, *knobs], [text, hidden, bars], **QUIET))
    for part in parts:
        part.follow(*events)
    parts[1].follow(other.input(None, None, None, **QUIET))
    return Tab(
        "fill",
        partial(follow_model, session),
        [examples, text, hidden, *knobs],
        [examples, text, hidden, bars],
        parts,
        {"text": text, "word": word, "top_k": top_k, "other": other, "hidden": hidden},
        other,
    )


def predict(session: AppState, model: str, text: str, top_k: float, word: str) -> str:
    """The bars for a sentence; one without a masked token is shown as it is, to be clicked."""
    from bertviz_lab.interpret import FillMask, fill_mask
    from bertviz_lab.tokenization import check_mask_spelling

    checkpoint = session.models.open(model)
    text, word = checked(text), checked(word).strip()
    if (
        text.strip()
        and not _masked_spans(checkpoint.tokenizer, text)
        and not check_mask_spelling(text, checkpoint.tokenizer)
    ):
        longest = checkpoint.config.max_position_embeddings
        found = FillMask(checkpoint.tokenizer.encode(text, max_length=longest), ())
    else:
        most = min(_MOST_CANDIDATES, checkpoint.config.vocab_size)
        found = fill_mask(checkpoint, text, max(1, min(int(top_k), most)), word=word or None)
    payload = fill_mask_payload(found, title=checkpoint.name, vocab_size=checkpoint.config.vocab_size)
    return with_link(payload, "fill", model, text=text, word=word, top_k=int(top_k))


def by_layer(session: AppState, model: str, text: str) -> str:
    """The first masked token's answer at every layer."""
    from bertviz_lab.interpret import logit_lens

    payload = logit_lens_payload(logit_lens(session.models.open(model), checked(text)))
    return with_link(payload, "fill", model, "layers", text=text)


def beside(session: AppState, model: str, text: str, other: str) -> str:
    """The same masked tokens by two models."""
    from bertviz_lab.interpret import compare_fill_mask

    checkpoint = session.models.open(model)
    second = open_second(session, checkpoint, other)
    payload = comparison_payload(compare_fill_mask([checkpoint, second], checked(text)))
    return with_link(payload, "fill", model, "beside", text=text, other=other)


def jointly(session: AppState, model: str, text: str) -> str:
    """All masked tokens filled together."""
    from bertviz_lab.interpret import joint_fill

    payload = joint_payload(joint_fill(session.models.open(model), checked(text), beams=8))
    return with_link(payload, "fill", model, "together", text=text)


def surprising(session: AppState, model: str, text: str, hidden: str) -> str:
    """The surprisal of each token; masked tokens are first filled with the clicked word or the top prediction."""
    from bertviz_lab.interpret import pseudo_log_likelihood

    checkpoint = session.models.open(model)
    found = pseudo_log_likelihood(
        checkpoint, _filled(checkpoint, checked(text), _words(hidden)), on_progress=tell_progress
    )
    payload = surprisal_payload(found.encoding, found.log_probabilities, found.expected, found.total, found.perplexity)
    return with_link(payload, "fill", model, "surprise", text=text, hidden=hidden)


def toggle(
    session: AppState, data: dict[str, Any], model: str, text: str, hidden: str, top_k: float, word: str
) -> tuple[Any, ...]:
    """Hide the word at a position behind a masked token, or bring back what stands behind the masked token there."""
    try:
        text, words = toggled(session, model, checked(text), _words(hidden), int(data["position"]))
    except Exception as error:
        return gr.skip(), gr.skip(), message_payload(sentence_of(error))
    return text, json.dumps(words), picture(predict)(session, model, text, top_k, word)


def toggled(session: AppState, model: str, text: str, words: list[str], position: int) -> tuple[str, list[str]]:
    """The sentence after a click on a position, and the words behind its masked tokens.

    A masked token that nobody's click has made is filled with the model's first guess.
    """
    from bertviz_lab.interpret import fill_mask

    checkpoint = session.models.open(model)
    tokenizer = checkpoint.tokenizer
    mask = tokenizer.token(tokenizer.mask_id)
    masked_tokens = _masked_spans(tokenizer, text)
    words = words if len(words) == len(masked_tokens) else [""] * len(masked_tokens)
    encoding = tokenizer.encode(text, max_length=checkpoint.config.max_position_embeddings)
    if not 0 < position < len(encoding):
        raise InputError("That word is no longer there; press Predict.")
    start, end = encoding.offsets[position]
    if encoding.ids[position] == tokenizer.mask_id:
        place = masked_tokens.index((start, end)) if (start, end) in masked_tokens else 0
        word = words.pop(place)
        if not word:
            word = _as_word(fill_mask(checkpoint, text, 1).masks[place].candidates[0].token)
        return text[:start] + word + text[end:], words
    word_id = encoding.word_ids[position]
    pieces = [encoding.offsets[at] for at, other in enumerate(encoding.word_ids) if other == word_id]
    start, end = pieces[0][0], pieces[-1][1]
    words.insert(sum(blank < start for blank, _ in masked_tokens), text[start:end])
    return text[:start] + mask + text[end:], words


def pick(session: AppState, data: dict[str, Any], model: str, top_k: float, word: str) -> tuple[Any, ...]:
    """Put an example into the field and predict it."""
    (text,) = picked(data, 1)
    return text, "[]", picture(predict)(session, model, text, top_k, word)


def follow_model(
    session: AppState, model: str, shown: str, text: str, hidden: str, top_k: float, word: str
) -> tuple[Any, ...]:
    """Examples and predictions of another model; the person's own sentence stays."""
    try:
        items = [(masked,) for masked in session.examples(model).masked]
    except Exception as error:
        return gr.skip(), gr.skip(), gr.skip(), message_payload(sentence_of(error))
    (wanted,) = keep_or_replace((text or "",), chip_items(shown), items)
    bars = picture(predict)(session, model, wanted, top_k, word)
    if wanted == text:
        return chips_payload(items), gr.skip(), gr.skip(), bars
    return chips_payload(items), wanted, "[]", bars


def _masked_spans(tokenizer: Any, text: str) -> list[tuple[int, int]]:
    """(start, end) of every mask token in a text."""
    encoding = tokenizer.encode(text)
    return [encoding.offsets[position] for position in encoding.mask_positions(tokenizer.mask_id)]


def _filled(checkpoint: Any, text: str, words: list[str]) -> str:
    """The text with the words behind its masked tokens in their places, the first guess where no word is known."""
    from bertviz_lab.interpret import fill_mask

    masked_tokens = _masked_spans(checkpoint.tokenizer, text)
    words = words if len(words) == len(masked_tokens) else [""] * len(masked_tokens)
    guesses = (
        [_as_word(mask.candidates[0].token) for mask in fill_mask(checkpoint, text, 1).masks] if masked_tokens else []
    )
    for place in reversed(range(len(guesses))):  # from the end, so that the places before stay where they are
        start, end = masked_tokens[place]
        text = text[:start] + (words[place] or guesses[place]) + text[end:]
    return text


def _as_word(token: str) -> str:
    """A token without the marks of its tokenizer."""
    return token.removeprefix("##").lstrip("Ġ▁")


def _words(hidden: str) -> list[str]:
    try:
        return [str(word) for word in json.loads(hidden)]
    except (ValueError, TypeError):
        return []
