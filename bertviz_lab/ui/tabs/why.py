"""Why: what a prediction rests on, token by token and head by head, and what becomes of it without some of them."""

import json
from functools import partial
from typing import Any

import gradio as gr
import numpy as np

from bertviz_lab.figures.interpret.attribution import attribution_payload
from bertviz_lab.figures.interpret.head_ablation import change_payload, head_ablation_payload
from bertviz_lab.figures.payload import message_payload
from bertviz_lab.ui.app_state import AppState
from bertviz_lab.ui.components.chart import chart
from bertviz_lab.ui.components.chips import chip_items, chips, chips_payload
from bertviz_lab.ui.components.facts import facts, facts_payload
from bertviz_lab.ui.components.scores import scores
from bertviz_lab.ui.error_handling import clicked, in_order, picked, picture, sentence_of
from bertviz_lab.ui.examples import keep_or_replace
from bertviz_lab.ui.header import Header
from bertviz_lab.ui.links import with_link
from bertviz_lab.ui.rpc import tell_progress
from bertviz_lab.ui.validation import checked
from bertviz_lab.ui.view_contract import QUIET, CollapsedView, Tab

_EXPLANATION = """
<p><b>Integrated gradients.</b> Let <i>F</i> be the log-probability of the prediction, <i>x</i> the token embeddings
of the
text and <i>x</i>′ the baseline, in which every token is <code>[MASK]</code>. The attribution of token <i>i</i> is</p>
<p class="formula">(<i>x</i><sub>i</sub> − <i>x</i>′<sub>i</sub>) · ∫<sub>0</sub><sup>1</sup>
∂<i>F</i>/∂<i>x</i><sub>i</sub> (<i>x</i>′ + α(<i>x</i> − <i>x</i>′)) dα</p>
<p>The attributions sum to <i>F</i>(<i>x</i>) − <i>F</i>(<i>x</i>′) (completeness); the residual is reported.
(Sundararajan et al. 2017)</p>
<p>With a word under "Contrast with", <i>F</i> is the log-ratio of the two probabilities: a contrastive explanation of
what decides between two predictions. (Yin and Neubig 2022)</p>
<p><b>Head ablation.</b> A head is ablated by multiplying its output by 0; the rest of the model is unchanged.
(Michel et al. 2019)</p>
<p><b>Causal mask.</b> Each token attends only to itself and the tokens before it, as in GPT. BERT was trained with
bidirectional attention, so its predictions get worse.</p>
"""
#: A model of more weights is asked when the button is pressed, not whenever the page opens.
_SMALL = 20_000_000


def create_why(session: AppState, header: Header) -> Tab:
    """Draw the tab and join its parts."""
    picker, direct = header.picker, header.direct
    gr.HTML(
        "<p class='lead'>Attribution (integrated gradients, gradient x input, occlusion) of a prediction to its "
        "tokens, and head "
        "ablation.</p>"
    )
    with gr.Row(elem_classes="ask"):
        text = gr.Textbox(label="Sentence with [MASK]", lines=1, max_lines=4, scale=6, elem_id="why-text")
        word = gr.Textbox(
            label="Prediction to explain",
            placeholder="the top prediction",
            lines=1,
            max_lines=1,
            scale=2,
            elem_id="why-word",
        )
        against = gr.Textbox(
            label="Contrast with", placeholder="anything else", lines=1, max_lines=1, scale=2, elem_id="why-against"
        )
        explain_button = gr.Button("Explain", variant="primary", scale=0, min_width=120, elem_id="why-explain")
    examples = chips(elem_id="why-examples")
    verdict = facts(label="Prediction", elem_id="why-verdict")
    strip = scores(label="Attribution of each token", elem_id="why-tokens")
    off = gr.Textbox("[]", visible=False)  # the heads that are switched off, as [[layer, head], ...]
    asked_model = gr.Textbox("", visible=False)  # the model whose heads these are
    with gr.Accordion("Head ablation", open=False, elem_id="why-heads-part") as heads_part:
        heads = chart(label="Effect of each head", elem_id="why-heads")
    with gr.Accordion("Interventions", open=False, elem_id="why-change-part") as change_part:
        with gr.Row(elem_classes="ask"):
            causal = gr.Checkbox(False, label="Causal mask, as in GPT", elem_id="why-causal")
            all_on = gr.Button("Restore all heads", size="sm", scale=0, min_width=170, elem_id="why-all-on")
        without = facts(label="Intervention", elem_id="why-without")
        change = chart(label="Prediction before and after", elem_id="why-change")
    with gr.Accordion("How is this computed?", open=False):
        gr.HTML(_EXPLANATION, elem_classes="explanation")

    asked = [picker, text, word, against]
    head_map = CollapsedView(
        direct, "heads", heads_part, picture(partial(effects, session)), [*asked, off], heads, slow=True
    )
    what_if = CollapsedView(
        direct, "change", change_part, partial(changed, session), [*asked, off, causal], [without, change]
    )
    parts = (head_map, what_if)
    draw = in_order(partial(explain, session))
    for trigger in (explain_button.click, text.submit, word.submit, against.submit):
        head_map.follow(event := direct.ask(trigger, draw, asked, [verdict, strip], slow=True))
        what_if.follow(event)
    event = examples.pick(clicked(partial(pick, session)), picker, [text, word, against, verdict, strip], **QUIET)
    head_map.follow(event)
    what_if.follow(event)
    toggled = heads.item_select(clicked(partial(toggle, session)), [picker, off], off, **QUIET)
    cleared = all_on.click(None, None, off, js="() => '[]'", **QUIET)
    head_map.follow(toggled, cleared)
    what_if.follow(toggled, cleared, causal.input(None, None, None, **QUIET))
    return Tab(
        "why",
        partial(follow_model, session),
        [examples, asked_model, text, word, against],
        [examples, asked_model, text, word, against, off, verdict, strip],
        parts,
        {"text": text, "word": word, "against": against, "off": off, "causal": causal},
    )


def _question(session: AppState, model: str, text: str, word: str, against: str) -> tuple[Any, Any]:
    """The model, and the prediction that is asked about."""
    from bertviz_lab.interpret import choose_target
    from bertviz_lab.interpret.predictions.predictions import encode_masked

    checkpoint = session.models.open(model)
    inputs, _ = encode_masked(checkpoint, checked(text))
    choice, other = checked(word).strip() or None, checked(against).strip() or None
    return checkpoint, choose_target(checkpoint, inputs, choice=choice, against=other)


def explain(session: AppState, model: str, text: str, word: str, against: str) -> tuple[str, str]:
    """How likely the answer is, and the strip of tokens."""
    from bertviz_lab.interpret import METHODS, attribute, fill_mask, trace_text

    try:
        checkpoint, target = _question(session, model, text, word, against)
        (asked, *more) = fill_mask(checkpoint, text, 1, word=target.index).masks
        found = []
        for place, method in enumerate(METHODS):
            tell_progress(place / len(METHODS))
            found.append(attribute(checkpoint, text, method=method, target=target))
        looks = trace_text(checkpoint, text).attentions[:, :, target.position].mean((0, 1))
    except Exception as error:
        return "", message_payload(sentence_of(error))
    items = [("Prediction explained", target.name)]
    if asked.asked:
        items.append(("Probability", f"{asked.asked.probability:.1%}"))
        items.append(("Rank in vocabulary", f"{asked.asked.rank:,}"))
    note = "Of several masked tokens the first is explained." if more else ""
    payload = with_link(attribution_payload(found, looks), "why", model, text=text, word=word, against=against)
    return facts_payload(items, note=note), payload


def effects(session: AppState, model: str, text: str, word: str, against: str, off: str) -> str:
    """The map of all heads, with those marked that are off."""
    from bertviz_lab.interpret import ablate_heads

    checkpoint, target = _question(session, model, text, word, against)
    # Effect of each head does not depend on which are off: of a large model it is computed once.
    found = session.remembered(
        ("effects", session.models.version(model), text, target.index, target.against and target.against.index),
        lambda: ablate_heads(checkpoint, text, target=target, on_progress=tell_progress),
    )
    marks = [[(layer, head) in _heads(off) for head in range(row.size)] for layer, row in enumerate(found.effects)]
    payload = head_ablation_payload(found.effects, found.baseline - found.without_layer, target.title, marks)
    return with_link(payload, "why", model, "heads", text=text, word=word, against=against, off=off)


def changed(
    session: AppState, model: str, text: str, word: str, against: str, off: str, causal: bool
) -> tuple[str, str]:
    """What is switched off, and the answer before and after."""
    from bertviz_lab.interpret import fill_mask

    try:
        checkpoint, target = _question(session, model, text, word, against)
        config = checkpoint.config
        head_mask = np.ones((config.num_hidden_layers, config.num_attention_heads))
        closed = [
            (layer, head) for layer, head in sorted(_heads(off)) if layer < len(head_mask) and head < head_mask.shape[1]
        ]
        for layer, head in closed:
            head_mask[layer, head] = 0
        before = fill_mask(checkpoint, text, 6, word=target.index).masks[0]
        after = fill_mask(checkpoint, text, 6, word=target.index, head_mask=head_mask, causal=bool(causal)).masks[0]
    except Exception as error:
        return "", message_payload(sentence_of(error))
    names = [f"layer {layer + 1} head {head + 1}" for layer, head in closed]
    told = [f"without {', '.join(names)}"] if names else []
    told += ["causal mask"] if causal else []
    how = " and ".join(told) or "nothing changed yet"
    note = "" if told else "Tick the box, or open Head ablation and click some heads."
    payload = change_payload(_with_asked(before), _with_asked(after), how)
    fields = {"text": text, "word": word, "against": against, "off": off, "causal": bool(causal)}
    return facts_payload([("Changed", how)], note=note), with_link(payload, "why", model, "change", **fields)


def toggle(session: AppState, data: dict[str, Any], model: str, off: str) -> str:
    """Switch a head off, or on again; the column after the last head stands for all of the layer together."""
    heads, count = _heads(off), session.models.open(model).config.num_attention_heads
    layer, head = int(data.get("row", -1)), int(data.get("column", -1))
    meant = {(layer, head)} if head < count else {(layer, head) for head in range(count)}
    return json.dumps(sorted(heads - meant if meant <= heads else heads | meant))


def pick(session: AppState, data: dict[str, Any], model: str) -> tuple[Any, ...]:
    """Put an example into the field and explain it."""
    (text,) = picked(data, 1)
    return text, "", "", *explain(session, model, text, "", "")


def follow_model(
    session: AppState, model: str, shown: str, asked_model: str, text: str, word: str, against: str
) -> tuple[Any, ...]:
    """Examples and explanation for a model; where it is another one, all heads are on again."""
    try:
        items = [(masked,) for masked in session.examples(model).masked]
        checkpoint = session.models.open(model)
    except Exception as error:
        return gr.skip(), model, *(gr.skip(),) * 3, "[]", "", message_payload(sentence_of(error))
    from bertviz_lab.training.checkpoints.checkpoint import parameter_count

    (wanted,) = keep_or_replace((text or "",), chip_items(shown), items)
    fields = (gr.skip(),) * 3 if wanted == text else (wanted, "", "")
    words = (word, against) if wanted == text else ("", "")
    off = gr.skip() if asked_model in ("", model) else "[]"
    if parameter_count(checkpoint.model) > _SMALL:
        message = "This model is large: press Explain, it takes some seconds."
        return chips_payload(items), model, *fields, off, "", message_payload(message)
    return chips_payload(items), model, *fields, off, *explain(session, model, wanted, *words)


def _with_asked(mask: Any) -> list[Any]:
    """The candidates, and the word that is explained where it is not among them."""
    named = [c.token for c in mask.candidates]
    return [*mask.candidates, *([mask.asked] if mask.asked.token not in named else [])]


def _heads(off: str) -> set[tuple[int, int]]:
    """What the page says is switched off; it may say anything."""
    try:
        return {(int(layer), int(head)) for layer, head in json.loads(off) if int(layer) >= 0 and int(head) >= 0}
    except (ValueError, TypeError):
        return set()
