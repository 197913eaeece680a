"""What Attribution asks: what a prediction rests on, token by token and head by head, and it after interventions."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.figures.interpret.attribution import attribution_payload, change_payload, head_ablation_payload
from bertviz_lab.figures.payload import Payload, facts_payload
from bertviz_lab.ui.server.scheduler import report_progress
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.view import Heads, Index, ModelName, Text, View, Word, question
from bertviz_lab.ui.views.attribution.target import Explained, explained, possible_targets

_SHOWN_CLASSES = 6  # of many, before and after an intervention


def targets(state: AppState, model: ModelName, text_a: Text, text_b: Text, kind: Word) -> dict[str, Any]:
    """Return which predictions can be explained; see `possible_targets`."""
    return possible_targets(state.models.open(model), text_a, text_b, kind)


def attribution(
    state: AppState,
    model: ModelName,
    text_a: Text,
    text_b: Text,
    kind: Word,
    position: Index | None,
    choice: Word,
    contrast: Word,
) -> dict[str, Any]:
    """Return the prediction that is explained (`facts`), and what each token contributes to it (`tokens`)."""
    from bertviz_lab.interpret import METHODS, attribute, check_attribution, trace_text

    prediction = explained(state.models.open(model), text_a, text_b, kind, position, choice, contrast)
    checkpoint, target = prediction.checkpoint, prediction.target
    texts = (prediction.text_a, prediction.text_b)
    check_attribution(checkpoint, prediction.inputs)
    attributions = []
    for place, method in enumerate(METHODS):

        def report(share: float, place: int = place) -> None:
            report_progress((place + share) / len(METHODS))

        attributions.append(attribute(checkpoint, *texts, method=method, target=target, on_progress=report))
    reads_one = target.read_position is not None
    attention = trace_text(checkpoint, *texts).attentions[:, :, target.position].mean((0, 1)) if reads_one else None
    title = f"Attribution for {_title(prediction)}"
    return {"facts": _facts(prediction), "tokens": attribution_payload(attributions, attention, title=title)}


def _title(prediction: Explained) -> str:
    target, tokens = prediction.target, prediction.inputs.encoding.tokens
    if target.kind == "next":
        return f"the prediction that {target.title}"
    if target.kind in ("start", "end"):
        return f"{target.name} as the {target.kind} of the answer"
    return f"{target.title} as the label of {tokens[target.position]}" if target.kind == "word" else target.title


def _facts(prediction: Explained) -> str:
    from bertviz_lab.interpret import class_scores

    target = prediction.target
    scores = class_scores(prediction.checkpoint, prediction.inputs, target)
    score = float(scores[target.index])
    items = [("Prediction explained", target.name)]
    items.append(("Predicted value", f"{score:.2f}") if target.is_regression else ("Probability", f"{score:.1%}"))
    if target.kind == "token":
        items.append(("Rank in vocabulary", f"{int((scores > score).sum()) + 1:,}"))
    return facts_payload(items)


def head_effects(
    state: AppState,
    model: ModelName,
    text_a: Text,
    text_b: Text,
    kind: Word,
    position: Index | None,
    choice: Word,
    contrast: Word,
    ablated: Heads,
) -> Payload:
    """Return the map of all heads, with the ablated ones marked."""
    from bertviz_lab.interpret import ablate_heads
    from bertviz_lab.interpret.family_notes import sharing_note

    prediction = explained(state.models.open(model), text_a, text_b, kind, position, choice, contrast)
    texts, target = (prediction.text_a, prediction.text_b), prediction.target
    # The effect of each head does not depend on which are ablated: of a large model it is computed once.
    ablation = state.remembered(
        ("head effects", state.models.version(model), texts, target),
        lambda: ablate_heads(prediction.checkpoint, *texts, target=target, on_progress=report_progress),
    )
    marks = [[(layer, head) in ablated for head in range(row.size)] for layer, row in enumerate(ablation.effects)]
    without_layer = ablation.baseline - ablation.without_layer
    note = sharing_note(prediction.checkpoint.config)
    return head_ablation_payload(ablation.effects, without_layer, target, marks, note)


def intervention(
    state: AppState,
    model: ModelName,
    text_a: Text,
    text_b: Text,
    kind: Word,
    position: Index | None,
    choice: Word,
    contrast: Word,
    ablated: Heads,
    causal: bool,
    segments: Literal["", "zero", "swapped"],
) -> dict[str, Any]:
    """Return what is changed in the model or in its input (`facts`), and the prediction before and after (`chart`)."""
    from bertviz_lab.interpret import class_name, class_scores
    from bertviz_lab.interpret.inputs import with_segment_ids

    prediction = explained(state.models.open(model), text_a, text_b, kind, position, choice, contrast)
    checkpoint, inputs, target = prediction.checkpoint, prediction.inputs, prediction.target
    head_mask = np.ones((checkpoint.config.num_hidden_layers, checkpoint.config.num_attention_heads))
    closed = [place for place in sorted(set(ablated)) if place[0] < len(head_mask) and place[1] < head_mask.shape[1]]
    for place in closed:
        head_mask[place] = 0
    before = class_scores(checkpoint, inputs, target)
    has_segments = checkpoint.config.has_segments
    changed_inputs = with_segment_ids(inputs, segments) if segments and text_b and has_segments else inputs
    after = class_scores(checkpoint, changed_inputs, target, head_mask=head_mask, causal=causal)
    classes = dict.fromkeys([*_largest(before), *_largest(after), target.index])
    changes = [f"without {', '.join(f'layer {layer + 1} head {head + 1}' for layer, head in closed)}"] if closed else []
    changes += ["causal mask"] if causal else []
    if changed_inputs is not inputs:
        changes.append("all segment ids 0" if segments == "zero" else "segment ids swapped")
    changed = " and ".join(changes) or "nothing changed yet"
    note = (
        "" if changes else "Tick the box, change the segment ids of a pair, or open Head ablation and click some heads."
    )
    if segments and not has_segments:
        note = "This model has no segment embeddings, so it has no segment ids to change."
    chart = change_payload(
        [class_name(checkpoint, inputs, target, index) for index in classes],
        [before[index] for index in classes],
        [after[index] for index in classes],
        changed,
        regression=target.is_regression,
    )
    return {"facts": facts_payload([("Changed", changed)], note=note), "chart": chart}


def _largest(scores: NDArray[np.floating]) -> list[int]:
    return [int(index) for index in np.argsort(-scores, kind="stable")[:_SHOWN_CLASSES]]


ATTRIBUTION = View(
    "attribution",
    "Attribution",
    "Integrated gradients, gradient x input and occlusion of a prediction; head ablation; causal mask; segment ids.",
    "explore",
    {
        "targets": question(targets),
        "attribution": question(attribution, slow=True),
        "head_effects": question(head_effects, slow=True),
        "intervention": question(intervention),
    },
)
