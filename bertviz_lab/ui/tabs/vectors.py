"""Vectors: sentences, tokens and one word in two contexts, by where they lie."""

import json
from functools import partial
from typing import Any

import gradio as gr

from bertviz_lab.errors import InputError
from bertviz_lab.figures.interpret.embeddings import (
    context_payloads,
    map_payload,
    neighbours_payload,
    similarity_payload,
)
from bertviz_lab.figures.payload import message_payload
from bertviz_lab.ui.app_state import AppState
from bertviz_lab.ui.components.chart import chart
from bertviz_lab.ui.error_handling import picture, sentence_of
from bertviz_lab.ui.header import Header
from bertviz_lab.ui.links import with_link
from bertviz_lab.ui.validation import checked
from bertviz_lab.ui.view_contract import QUIET, CollapsedView, Tab

_MOST_SENTENCES = 20
_EXPLANATION = """
<p>The cosine of the angle between two vectors <i>u</i> and <i>v</i> measures their similarity:</p>
<p class="formula">cos(<i>u</i>, <i>v</i>) = <i>u</i> · <i>v</i> / (|<i>u</i>| |<i>v</i>|)</p>
<p>A sentence embedding is the mean of the last hidden states of its tokens (mean pooling), or that of
<code>[CLS]</code>. The map is a PCA: the first two principal components of the embeddings.</p>
"""


def create_vectors(session: AppState, header: Header) -> Tab:
    """Draw the tab and join its parts."""
    picker, direct = header.picker, header.direct
    gr.HTML("<p class='lead'>Embeddings: the model represents a sentence as a vector. Which sentences are similar?</p>")
    with gr.Row(elem_classes="ask"):
        sentences = gr.Textbox(
            label=f"Sentences, one per line (at most {_MOST_SENTENCES})",
            lines=5,
            max_lines=_MOST_SENTENCES,
            scale=6,
            elem_id="vectors-sentences",
        )
        compare = gr.Button("Compare", variant="primary", scale=0, min_width=120, elem_id="vectors-compare")
    pooling = gr.Radio(
        [("the model's own pooling", "auto"), ("mean pooling", "mean"), ("[CLS] pooling", "cls")],
        value="auto",
        label="Sentence embedding",
        elem_id="vectors-pooling",
    )
    table = chart(label="Cosine similarity of the sentences", elem_id="vectors-table")
    with gr.Accordion("Map (PCA)", open=False, elem_id="vectors-map-part") as map_part:
        plane = chart(label="Map of the sentences (PCA)", elem_id="vectors-map")
    with gr.Accordion("Nearest neighbours of a word", open=False, elem_id="vectors-near-part") as near_part:
        word = gr.Textbox("", label="Word", lines=1, max_lines=1, elem_id="vectors-word")
        near = chart(label="Nearest neighbours", elem_id="vectors-near")
    with gr.Accordion("One word in two contexts", open=False, elem_id="vectors-way-part") as way_part:
        with gr.Row(elem_classes="ask"):
            first = gr.Textbox(label="Sentence A", lines=1, max_lines=3, scale=4, elem_id="vectors-a")
            second = gr.Textbox(label="Sentence B", lines=1, max_lines=3, scale=4, elem_id="vectors-b")
            common = gr.Textbox(label="Word in both", lines=1, max_lines=1, scale=2, elem_id="vectors-common")
        lines = chart(label="Similarity by layer", elem_id="vectors-lines")
        way = chart(label="Trajectory through the layers", elem_id="vectors-way")
    with gr.Accordion("How is this computed?", open=False):
        gr.HTML(_EXPLANATION, elem_classes="explanation")

    shown = gr.Textbox("", visible=False)  # what the page itself has filled in

    asked = [picker, sentences, pooling]
    draw = picture(partial(alike, session))
    on_map = CollapsedView(direct, "map", map_part, picture(partial(mapped, session)), asked, plane)
    nearest = CollapsedView(direct, "near", near_part, picture(partial(neighbours, session)), [picker, word], near)
    moving = CollapsedView(
        direct, "way", way_part, partial(moved, session), [picker, first, second, common], [lines, way]
    )
    for trigger in (compare.click, pooling.input):
        on_map.follow(direct.ask(trigger, draw, asked, table))
    nearest.follow(word.submit(None, None, None, **QUIET))
    moving.follow(*(field.submit(None, None, None, **QUIET) for field in (first, second, common)))
    return Tab(
        "vectors",
        partial(follow_model, session),
        [shown, sentences, pooling, word, first, second, common],
        [shown, sentences, word, first, second, common, table],
        (on_map, nearest, moving),
        {"sentences": sentences, "pooling": pooling, "word": word, "a": first, "b": second, "common": common},
    )


def _lines(text: str) -> list[str]:
    found = [line.strip() for line in checked(text).splitlines() if line.strip()]
    if not found:
        raise InputError("Type some sentences, one per line.")
    if len(found) > _MOST_SENTENCES:
        raise InputError(f"{len(found)} sentences are too many: keep {_MOST_SENTENCES}.")
    return found


def _pooling(chosen: str) -> Any:
    """The pooling that was chosen; None where the model decides."""
    return chosen if chosen in ("mean", "cls") else None


def alike(session: AppState, model: str, sentences: str, pooling: str) -> str:
    """The table of cosines."""
    from bertviz_lab.interpret import similarity

    found = similarity(session.models.open(model), _lines(sentences), pooling=_pooling(pooling))
    return with_link(
        similarity_payload(found.texts, found.cosines), "vectors", model, sentences=sentences, pooling=pooling
    )


def mapped(session: AppState, model: str, sentences: str, pooling: str) -> str:
    """The map."""
    from bertviz_lab.interpret import similarity

    found = similarity(session.models.open(model), _lines(sentences), pooling=_pooling(pooling))
    payload = map_payload(found.texts, found.map, found.explained)
    return with_link(payload, "vectors", model, "map", sentences=sentences, pooling=pooling)


def neighbours(session: AppState, model: str, word: str) -> str:
    """The nearest tokens of a word."""
    from bertviz_lab.interpret import nearest_tokens

    word = checked(word).strip()
    found = nearest_tokens(session.models.open(model), word)
    return with_link(neighbours_payload(word, found), "vectors", model, "near", word=word)


def moved(session: AppState, model: str, first: str, second: str, common: str) -> tuple[str, str]:
    """A word's way through the layers in two sentences."""
    from bertviz_lab.interpret import compare_contexts

    try:
        found = compare_contexts(session.models.open(model), checked(first), checked(second), checked(common).strip())
        lines, way = context_payloads(found)
    except Exception as error:
        return message_payload(sentence_of(error)), ""
    fields = {"a": first, "b": second, "common": common}
    return with_link(lines, "vectors", model, "way", **fields), with_link(way, "vectors", model, "way", **fields)


def follow_model(session: AppState, model: str, shown: str, sentences: str, pooling: str, *own: str) -> tuple[Any, ...]:
    """Sentences that the model has met in place of those of the model before; what the person typed stays.

    `own` are the word, the two sentences and the word in both.
    """
    try:
        examples = session.examples(model)
    except Exception as error:
        return gr.skip(), gr.skip(), *(gr.skip(),) * len(own), message_payload(sentence_of(error))
    fresh = ["\n".join(dict.fromkeys(examples.singles())), examples.contrast[-1], *examples.contrast]
    before = _shown(shown, len(fresh))
    current = [sentences or "", *(text or "" for text in own)]
    replaced = [not now.strip() or now == then for now, then in zip(current, before, strict=True)]
    wanted = [new if give else now for new, now, give in zip(fresh, current, replaced, strict=True)]
    updates = [text if text != now else gr.skip() for text, now in zip(wanted, current, strict=True)]
    return json.dumps(fresh), *updates, picture(alike)(session, model, wanted[0], pooling)


def _shown(text: str, count: int) -> list[str]:
    """What the page itself has put into the fields; it may say anything."""
    try:
        found = [str(part) for part in json.loads(text)]
    except (ValueError, TypeError):
        found = []
    return found if len(found) == count else [""] * count
