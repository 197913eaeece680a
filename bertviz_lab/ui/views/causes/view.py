"""What Causes asks: which activations carry a prediction, what adds to its logit, and which tokens reach it."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from bertviz_lab.errors import InputError
from bertviz_lab.figures.interpret.causes import (
    decomposition_payload,
    flow_by_layer_payload,
    flow_payload,
    patched_payload,
    patching_payload,
    score_text,
)
from bertviz_lab.figures.payload import Payload, facts_payload
from bertviz_lab.ui.lazy import interpret
from bertviz_lab.ui.server.scheduler import report_progress
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.view import Index, ModelName, Text, View, Word, questions
from bertviz_lab.ui.views.attribution.view import explained, targets

_SHOWN_CLASSES = 6  # of many, with and without a patch

Component = Literal["residual", "attention", "feed_forward", "head"]
Direction = Literal["denoising", "noising"]
#: How the corrupted text is made: another token, [MASK], noise on the embedding, or a text that somebody typed.
Corruption = Literal["word", "mask", "noise", "text"]


def patching(
    state: AppState,
    model: ModelName,
    text_a: Text,
    text_b: Text,
    kind: Word,
    position: Index | None,
    choice: Word,
    contrast: Word,
    corruption: Corruption,
    changed: Index | None,
    replacement: Text,
    direction: Direction,
    component: Component,
) -> dict[str, Any]:
    """Return both texts' predictions (`facts`), the effect of each patch (`map`), and the `tokens` that can be changed.

    `changed` is the position of the changed token, None for the one that is proposed; `replacement` the token that
    replaces it, or the whole corrupted text A.
    """
    found = _patching(
        state, model, text_a, text_b, (kind, position, choice, contrast), (corruption, changed, replacement), direction
    )
    encoding, target = found.encoding, found.target
    items = [
        ("Prediction explained", target.title),
        ("Corruption", found.corruption.title(encoding)),
        ("Clean text", score_text(target, found.clean)),
        ("Corrupted text", score_text(target, found.corrupted)),
    ]
    at = encoding.unmasked_positions(state.models.open(model).tokenizer.mask_id)
    tokens = [["", "proposed by occlusion"], *([place, f"{encoding.tokens[place]} ({place})"] for place in at)]
    return {"facts": facts_payload(items), "map": patching_payload(found, component), "tokens": tokens}


def patched(
    state: AppState,
    model: ModelName,
    text_a: Text,
    text_b: Text,
    kind: Word,
    position: Index | None,
    choice: Word,
    contrast: Word,
    corruption: Corruption,
    changed: Index | None,
    replacement: Text,
    direction: Direction,
    component: Component,
    layer: Index,
    index: Index,
) -> Payload:
    """Return the prediction for both texts and with one activation patched: that of a token, or of a head."""
    found = _patching(
        state, model, text_a, text_b, (kind, position, choice, contrast), (corruption, changed, replacement), direction
    )
    checkpoint, cell = state.models.open(model), interpret.Cell(component, layer, index)
    asked = {"target": found.target, "corruption": found.corruption, "direction": direction}
    shown = interpret.predict_patched(checkpoint, *_texts(found), cell=cell, **asked)
    runs = (shown.clean, shown.corrupted, shown.patched)
    largest = [int(place) for run in runs for place in np.argsort(-run, kind="stable")[:_SHOWN_CLASSES]]
    classes = list(dict.fromkeys([found.target.index, *largest]))
    inputs = interpret.encode_inputs(checkpoint, *_texts(found))
    names = [interpret.class_name(checkpoint, inputs, found.target, place) for place in classes]
    return patched_payload(found, cell, names, [run[classes] for run in runs])


def decomposition(
    state: AppState,
    model: ModelName,
    text_a: Text,
    text_b: Text,
    kind: Word,
    position: Index | None,
    choice: Word,
    contrast: Word,
    corruption: Corruption,
    changed: Index | None,
    replacement: Text,
    direction: Direction,
) -> Payload:
    """Return what each component adds to the logit, next to the effect of patching it."""
    found = _patching(
        state, model, text_a, text_b, (kind, position, choice, contrast), (corruption, changed, replacement), direction
    )
    parts = interpret.decompose_logit(state.models.open(model), *_texts(found), target=found.target)
    return decomposition_payload(parts, found)


def flow(
    state: AppState,
    model: ModelName,
    text_a: Text,
    text_b: Text,
    kind: Word,
    position: Index | None,
    choice: Word,
    contrast: Word,
    method: Word,
) -> dict[str, Payload]:
    """Return each token's contribution to the position that is predicted: by all `methods`, and by one in `layers`."""
    checkpoint = state.models.open(model)
    if method not in interpret.FLOW_METHODS:
        raise InputError(f"Choose one of {', '.join(interpret.FLOW_METHODS)}.")
    inputs, target = explained(checkpoint, text_a, text_b, kind, position, choice, contrast)
    texts = (text_a, inputs.encoding.text_b)
    found = state.remembered(
        ("information flow", state.models.version(model), texts),
        lambda: interpret.information_flow(checkpoint, *texts, on_progress=report_progress),
    )
    return {
        "methods": flow_payload(found, target.position),
        "layers": flow_by_layer_payload(found, method, target.position),
    }


def _patching(
    state: AppState,
    model: str,
    text_a: str,
    text_b: str,
    prediction: Sequence[Any],
    change: tuple[Corruption, int | None, str],
    direction: Direction,
) -> Any:
    """Return the `ActivationPatching` of a prediction, computed once for all that is shown of it."""
    checkpoint = state.models.open(model)
    inputs, target = explained(checkpoint, text_a, text_b, *prediction)
    texts = (text_a, inputs.encoding.text_b)
    kind, position, replacement = change

    def compute() -> Any:
        if kind == "text":
            corruption = interpret.corruption_of(checkpoint, *texts, replacement, texts[1])
        else:
            word = replacement.strip() or None
            corruption = interpret.propose_corruption(
                checkpoint, *texts, target=target, position=position, kind=kind, word=word
            )
        return interpret.patch_activations(
            checkpoint, *texts, target=target, corruption=corruption, direction=direction, on_progress=report_progress
        )

    key = ("patching", state.models.version(model), texts, target, change, direction)
    return state.remembered(key, compute)


def _texts(found: Any) -> tuple[str, str | None]:
    """Return the texts that were read: B is left out where words are labeled."""
    return found.encoding.text_a, found.encoding.text_b


CAUSES = View(
    "causes",
    "Causes",
    "What is it caused by? Activation patching, the logit as a sum of components, and information flow between tokens.",
    "explore",
    questions(targets, slow=[patching, patched, decomposition, flow]),
)
