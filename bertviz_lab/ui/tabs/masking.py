"""Masking: BERT's game of blanks, played on the person's own sentence."""

from functools import partial
from typing import Any

import gradio as gr

from bertviz_lab.errors import InputError
from bertviz_lab.figures.masking import masking_payload
from bertviz_lab.figures.payload import message_payload
from bertviz_lab.ui.components import masking_strip
from bertviz_lab.ui.components.chips import chip_items, chips, chips_payload
from bertviz_lab.ui.examples import keep_or_replace
from bertviz_lab.ui.session import Session, checked
from bertviz_lab.ui.wiring import QUIET, TYPING, Tab, clicked, picked, picture, sentence_of

_SEED = 1  # with it, the first example already shows a blank


def create_masking(session: Session, picker: gr.Dropdown) -> Tab:
    """Draw the tab and join its parts."""
    gr.HTML(
        "<p class='lead'>To learn, BERT hides words from itself and guesses them: of the chosen tokens most become "
        "<code>[MASK]</code>, some a random token, and some stay as they are.</p>"
    )
    with gr.Row(elem_classes="ask"):
        text = gr.Textbox(label="Text", lines=1, max_lines=6, scale=6, elem_id="masking-text")
        again = gr.Button("Mask again", variant="primary", scale=0, min_width=130, elem_id="masking-again")
    examples = chips(elem_id="masking-examples")
    strip = masking_strip(elem_id="masking-strip")
    with gr.Accordion("Change the rule", open=False):
        with gr.Row():
            rate = gr.Slider(1, 90, 15, step=1, label="Chosen tokens, in percent of all", elem_id="masking-rate")
            mask = gr.Slider(0, 100, 80, step=1, label="of these become [MASK]", elem_id="masking-mask")
            swap = gr.Slider(0, 100, 10, step=1, label="of these become a random token", elem_id="masking-swap")
        with gr.Row():
            whole = gr.Checkbox(False, label="Choose whole words, not pieces of words", elem_id="masking-whole")
            seed = gr.Number(
                _SEED, precision=0, label="Seed: the same seed gives the same masks", elem_id="masking-seed"
            )

    knobs = [rate, mask, swap, whole, seed]
    draw = picture(partial(masked, session))
    text.input(draw, [picker, text, *knobs], strip, **TYPING)
    for trigger in (text.submit, rate.release, mask.release, swap.release, whole.input, seed.input):
        trigger(draw, [picker, text, *knobs], strip, **QUIET)
    again.click(partial(mask_again, session), [picker, text, *knobs], [seed, strip], **QUIET)
    examples.pick(clicked(partial(pick, session)), [picker, *knobs], [text, strip], **QUIET)
    return Tab("masking", partial(follow_model, session), [examples, text, *knobs], [examples, text, strip])


def masked(
    session: Session, model: str, text: str, rate: float, mask: float, swap: float, whole: bool, seed: float | None
) -> str:
    """The payload of the strip; the shares come in percent."""
    from bertviz_lab.data.batching import masking_rule
    from bertviz_lab.interpret import mask_text

    if mask + swap > 100:
        raise InputError(
            f"{mask:.0f} percent [MASK] and {swap:.0f} percent random tokens are more than all: lower one of them."
        )
    tokenizer = session.models.open(model).tokenizer
    rule = masking_rule(tokenizer, rate / 100, bool(whole), mask_share=mask / 100, random_share=swap / 100)
    found = mask_text(tokenizer, checked(text), seed=abs(int(seed or 0)), rule=rule)
    return masking_payload(
        found, mask_probability=rule.probability, mask_share=rule.mask_share, random_share=rule.random_share
    )


def mask_again(session: Session, model: str, text: str, *knobs: Any) -> tuple[int, str]:
    """Draw with the next seed."""
    seed = abs(int(knobs[-1] or 0)) + 1
    return seed, picture(masked)(session, model, text, *knobs[:-1], seed)


def pick(session: Session, data: dict[str, Any], model: str, *knobs: Any) -> tuple[str, str]:
    """Put an example into the field and mask it."""
    (text,) = picked(data, 1)
    return text, picture(masked)(session, model, text, *knobs)


def follow_model(session: Session, model: str, shown: str, text: str, *knobs: Any) -> tuple[Any, ...]:
    """Examples and masks with another model's vocabulary; the person's own text stays."""
    try:
        items = [(single,) for single in session.examples(model).singles()]
    except Exception as error:
        return gr.skip(), gr.skip(), message_payload(sentence_of(error))
    (wanted,) = keep_or_replace((text or "",), chip_items(shown), items)
    strip = picture(masked)(session, model, wanted, *knobs)
    return chips_payload(items), gr.skip() if wanted == text else wanted, strip
