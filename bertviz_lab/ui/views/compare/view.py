"""What Compare asks: which runs there are, how they differ, their events, and what their models make of a text."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from bertviz_lab.errors import InputError
from bertviz_lab.figures.interpret.attention import attention_body, attention_payload
from bertviz_lab.figures.interpret.predictions import comparison_payload, follows_payload, heads_payload
from bertviz_lab.figures.payload import Payload
from bertviz_lab.ui.server.visitors import Visitor
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.view import RunIds, Text, View, question
from bertviz_lab.ui.views.compare import runs as comparable
from bertviz_lab.ui.views.run.view import follow

_LONGEST = 64  # tokens of a text whose heads are shown for every model


def runs(state: AppState, visitor: Visitor) -> dict[str, Any]:
    """{"choices": [[name, label], ...], "first": names to begin with, "most": how many may be chosen}."""
    return {
        "choices": comparable.choices(state, visitor),
        "first": comparable.first(state, visitor),
        "most": comparable.MOST,
    }


def example(state: AppState, visitor: Visitor, names: RunIds) -> str:
    """Return a text with a masked token that the first of the models can be asked; "" where it has none."""
    try:
        return state.examples(names[0], visitor).masked[0]
    except (InputError, IndexError):
        return ""


def predictions(state: AppState, visitor: Visitor, names: RunIds, text_a: Text) -> Payload:
    """Return the predictions of each model for the same masked tokens."""
    from bertviz_lab.interpret import compare_fill_mask

    checkpoints, labels = _opened(state, visitor, names)
    return comparison_payload(replace(compare_fill_mask(checkpoints, text_a, top_k=5), names=tuple(labels)))


def nsp(state: AppState, visitor: Visitor, names: RunIds, text_a: Text, text_b: Text) -> Payload:
    """Return whether B follows A, by each model that has an NSP head."""
    from bertviz_lab.interpret import next_sentence

    if not text_b.strip():
        raise InputError("Type a sentence B, and each model predicts whether it follows.")
    checkpoints, labels = _opened(state, visitor, names)
    shares = [
        next_sentence(checkpoint, text_a, text_b).is_next
        if hasattr(checkpoint.model, "nsp") and checkpoint.config.has_nsp
        else None
        for checkpoint in checkpoints
    ]
    return follows_payload(labels, shares)


def attention(state: AppState, visitor: Visitor, names: RunIds, text_a: Text, text_b: Text) -> Payload:
    """Return all heads of each model."""
    from bertviz_lab.interpret import trace_text

    checkpoints, labels = _opened(state, visitor, names)
    grids = []
    for checkpoint in checkpoints:
        trace = trace_text(checkpoint, text_a, text_b.strip() or None)
        if len(trace.tokens) > _LONGEST:
            raise InputError(f"For the heads of several models the sentence may have {_LONGEST} tokens; shorten it.")
        body = attention_body(
            trace.tokens, trace.encoding.token_type_ids, trace.attentions, windows=checkpoint.config.windows
        )
        grids.append(attention_payload(body))
    return heads_payload(labels, grids)


def _opened(state: AppState, visitor: Visitor, names: Sequence[str]) -> tuple[list[Any], list[str]]:
    """Return the models of the chosen runs, and what people call them. Raises `InputError`."""
    known = comparable.visible(state, visitor, names)
    return [state.models.open(name) for name in known], [comparable.label_of_run(state, name) for name in known]


COMPARE = View(
    "compare",
    "Compare",
    "Training runs side by side: settings that differ, curves, probes, and the same input for all models.",
    "runs",
    {
        "runs": question(runs),
        "comparison": question(comparable.comparison),
        "probes": question(comparable.probes),
        "follow": question(follow),
        "example": question(example),
        "predictions": question(predictions, slow=True),
        "nsp": question(nsp, slow=True),
        "attention": question(attention, slow=True),
    },
)
