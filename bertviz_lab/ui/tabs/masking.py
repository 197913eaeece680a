"""Masking: BERT's game of masked tokens, played on the person's own sentence."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import gradio as gr

from bertviz_lab.errors import InputError
from bertviz_lab.figures.interpret.masking import (
    epochs_payload,
    losses_payload,
    masking_payload,
    masking_statistics_payload,
)
from bertviz_lab.figures.payload import Payload, message_payload
from bertviz_lab.ui.app_state import AppState
from bertviz_lab.ui.components import masking_strip
from bertviz_lab.ui.components.chart import chart
from bertviz_lab.ui.components.chips import chip_items, chips, chips_payload
from bertviz_lab.ui.components.scores import scores
from bertviz_lab.ui.error_handling import clicked, in_order, picked, picture, sentence_of
from bertviz_lab.ui.examples import keep_or_replace
from bertviz_lab.ui.header import Header
from bertviz_lab.ui.links import with_link
from bertviz_lab.ui.validation import checked
from bertviz_lab.ui.view_contract import QUIET, CollapsedView, Tab

_SEED = 1  # with it, the first example already shows a masked token
_PASSES, _SETS = 6, 3
_DYNAMIC, _STATIC = "dynamic", "static"
_KNOBS = ("rate", "mask", "swap", "unit", "seed")  # their names in links, in the order of the handlers' arguments


def create_masking(session: AppState, header: Header) -> Tab:
    """Draw the tab and join its parts."""
    picker, direct = header.picker, header.direct
    gr.HTML(
        "<p class='lead'>The input of masked language modelling (MLM): of the tokens selected for prediction most "
        "become <code>[MASK]</code>, some a random token, and some stay unchanged.</p>"
    )
    with gr.Row(elem_classes="ask"):
        text = gr.Textbox(label="Text", lines=1, max_lines=6, scale=6, elem_id="masking-text")
        again = gr.Button("Mask again", variant="primary", scale=0, min_width=130, elem_id="masking-again")
    examples = chips(elem_id="masking-examples")
    strip = masking_strip(elem_id="masking-strip")
    with gr.Accordion("Masking rule", open=False):
        with gr.Row():
            rate = gr.Slider(
                1, 90, 15, step=1, label="Masking probability (percent of all tokens)", elem_id="masking-rate"
            )
            mask = gr.Slider(0, 100, 80, step=1, label="of these: replaced by [MASK]", elem_id="masking-mask")
            swap = gr.Slider(0, 100, 10, step=1, label="of these: replaced by a random token", elem_id="masking-swap")
        with gr.Row():
            unit = gr.Radio(
                [("single tokens", "tokens"), ("whole words", "words"), ("spans (span masking)", "spans")],
                value="tokens",
                label="Masking unit",
                elem_id="masking-unit",
            )
            seed = gr.Number(_SEED, precision=0, label="Seed", elem_id="masking-seed")
    with gr.Accordion("MLM loss of this text", open=False, elem_id="masking-loss-part") as loss_part:
        losses = scores(label="MLM loss of this text", elem_id="masking-loss")
    with gr.Accordion(
        "Masking statistics: is it really 80/10/10?", open=False, elem_id="masking-draws-part"
    ) as draws_part:
        draws = gr.Radio(
            [(f"{count:,}", str(count)) for count in (100, 1000, 10_000, 100_000)],
            value="10000",
            label="Number of draws",
            elem_id="masking-draws",
        )
        counts = chart(label="Counts", elem_id="masking-counts")
    with gr.Accordion("Static or dynamic masking", open=False, elem_id="masking-passes-part") as passes_part:
        static = gr.Radio(
            [("dynamic: new masks each epoch", _DYNAMIC), ("static: three sets that repeat", _STATIC)],
            value=_DYNAMIC,
            label="Masks",
            elem_id="masking-static",
        )
        passes = chart(label="Masked tokens in each epoch", elem_id="masking-passes")

    knobs = [rate, mask, swap, unit, seed]
    draw = picture(partial(masked, session))
    asked = [picker, text, *knobs]
    parts = (
        CollapsedView(direct, "loss", loss_part, picture(partial(cost, session)), asked, losses),
        CollapsedView(
            direct, "draws", draws_part, picture(partial(counted, session)), [*asked, draws], counts, slow=True
        ),
        CollapsedView(direct, "passes", passes_part, picture(partial(over_passes, session)), [*asked, static], passes),
    )
    triggers = (text.input, text.submit, rate.release, mask.release, swap.release, unit.input, seed.input)
    events = [direct.ask(trigger, draw, asked, strip) for trigger in triggers]
    events.append(direct.ask(again.click, in_order(partial(mask_again, session)), asked, [seed, strip]))
    events.append(examples.pick(clicked(partial(pick, session)), [picker, *knobs], [text, strip], **QUIET))
    for part in parts:
        part.follow(*events)
    parts[1].follow(draws.input(None, None, None, **QUIET))
    parts[2].follow(static.input(None, None, None, **QUIET))
    outputs = [examples, text, strip]
    fields = {"text": text, **dict(zip(_KNOBS, knobs, strict=True)), "draws": draws, "static": static}
    return Tab("masking", partial(follow_model, session), [examples, text, *knobs], outputs, parts, fields)


def _mask(
    session: AppState, model: str, text: str, rate: float, mask: float, swap: float, unit: str, seed: float | None
) -> Any:
    """The text masked by the knobs, whose shares come in percent, and the rule they make."""
    from bertviz_lab.interpret import mask_text

    tokenizer, longest = _reading(session, model)
    rule = _rule(tokenizer, rate, mask, swap, unit)
    return mask_text(tokenizer, checked(text), seed=_whole(seed), rule=rule, max_length=longest), rule


def _reading(session: AppState, model: str) -> tuple[Any, int]:
    """How a model splits a text, and how many tokens of it it reads."""
    checkpoint = session.models.open(model)
    return checkpoint.tokenizer, checkpoint.config.max_position_embeddings


def _rule(tokenizer: Any, rate: float, mask: float, swap: float, unit: str) -> Any:
    from bertviz_lab.data.pretraining.batches import masking_rule

    if mask + swap > 100:
        raise InputError(
            f"{mask:.0f} percent [MASK] and {swap:.0f} percent random tokens exceed 100 percent: lower one of them."
        )
    shares = {"mask_share": mask / 100, "random_share": swap / 100}
    return masking_rule(tokenizer, rate / 100, unit == "words", unit == "spans", **shares)


def _whole(seed: float | None) -> int:
    return abs(int(seed or 0))


def masked(session: AppState, model: str, text: str, *knobs: Any) -> str:
    """The payload of the strip."""
    found, rule = _mask(session, model, text, *knobs)
    payload = masking_payload(
        found, mask_probability=rule.probability, mask_share=rule.mask_share, random_share=rule.random_share
    )
    return _linked(payload, "", model, text, knobs)


def cost(session: AppState, model: str, text: str, *knobs: Any) -> str:
    """What each chosen position costs under the chosen model."""
    from bertviz_lab.interpret import masked_loss

    found, _ = _mask(session, model, text, *knobs)
    payload = losses_payload(found, masked_loss(session.models.open(model), found))
    return _linked(payload, "loss", model, text, knobs)


def counted(session: AppState, model: str, text: str, *asked: Any) -> str:
    """The same text masked many times, beside the rule."""
    from bertviz_lab.interpret import masking_statistics

    *knobs, draws = asked
    *shares, seed = knobs
    tokenizer, longest = _reading(session, model)
    rule = _rule(tokenizer, *shares)
    found = masking_statistics(
        tokenizer, checked(text), draws=int(draws), seed=_whole(seed), rule=rule, max_length=longest
    )
    payload = masking_statistics_payload(
        found, {"mask": rule.mask_share, "random": rule.random_share, "kept": rule.kept_share}
    )
    return _linked(payload, "draws", model, text, knobs, draws=draws)


def over_passes(session: AppState, model: str, text: str, *asked: Any) -> str:
    """What a training asks for in its first passes over this text."""
    from bertviz_lab.interpret import mask_epochs

    *knobs, static = asked
    *shares, seed = knobs
    tokenizer, longest = _reading(session, model)
    found = mask_epochs(
        tokenizer,
        checked(text),
        epochs=_PASSES,
        repeat_after=_SETS if static == _STATIC else None,
        seed=_whole(seed),
        rule=_rule(tokenizer, *shares),
        max_length=longest,
    )
    return _linked(epochs_payload(found, static == _STATIC), "passes", model, text, knobs, static=static)


def _linked(payload: Payload, part: str, model: str, text: str, knobs: Sequence[Any], **more: Any) -> Payload:
    return with_link(payload, "masking", model, part, text=text, **dict(zip(_KNOBS, knobs, strict=True)), **more)


def mask_again(session: AppState, model: str, text: str, *knobs: Any) -> tuple[int, str]:
    """Draw with the next seed."""
    seed = abs(int(knobs[-1] or 0)) + 1
    return seed, picture(masked)(session, model, text, *knobs[:-1], seed)


def pick(session: AppState, data: dict[str, Any], model: str, *knobs: Any) -> tuple[str, str]:
    """Put an example into the field and mask it."""
    (text,) = picked(data, 1)
    return text, picture(masked)(session, model, text, *knobs)


def follow_model(session: AppState, model: str, shown: str, text: str, *knobs: Any) -> tuple[Any, ...]:
    """Examples and masks with another model's vocabulary; the person's own text stays."""
    try:
        items = [(single,) for single in session.examples(model).singles()]
    except Exception as error:
        return gr.skip(), gr.skip(), message_payload(sentence_of(error))
    (wanted,) = keep_or_replace((text or "",), chip_items(shown), items)
    strip = picture(masked)(session, model, wanted, *knobs)
    return chips_payload(items), gr.skip() if wanted == text else wanted, strip
