"""What Attribution asks: what a prediction rests on, token by token and head by head, and it after interventions."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.config import family_notes
from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import Payload, figure
from bertviz_lab.figures.results import attribution_body
from bertviz_lab.ui.lazy import checkpoints, interpret
from bertviz_lab.ui.server.scheduler import report_progress
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.view import Heads, Index, Input, ModelName, Text, Word, questions

_SHOWN_CLASSES = 6  # of many, in each run
LARGE = 20_000_000  # weights: attributions of a larger model take seconds


@dataclass(frozen=True)
class Explained(Input):
    """Which prediction for the input of Explore is explained; "" and None stand for what suits the text."""

    kind: Word
    position: Index | None  # one without such a token stands for the first one
    choice: Word
    contrast: Word

    def opened(self, state: AppState) -> tuple[Any, Any, Any]:
        """Return the model, its inputs, and the target. Raises `InputError`."""
        checkpoint = self.checkpoint(state)
        kind = _resolve_kind(checkpoint, self.text_a, self.text_b, self.kind)
        pair = _pair(self.text_b, kind)
        if kind == "token":
            inputs, _ = interpret.encode_masked(checkpoint, self.text_a, pair)  # which advises where there is no [MASK]
        else:
            inputs = interpret.encode_inputs(checkpoint, self.text_a, pair)
        position = self.position if self.position in _positions(checkpoint, inputs.encoding, kind) else None
        names = {"choice": self.choice.strip() or None, "against": self.contrast.strip() or None}
        return checkpoint, inputs, interpret.choose_target(checkpoint, inputs, kind, position=position, **names)


def targets(state: AppState, model: ModelName, text_a: Text, text_b: Text, kind: Word) -> dict[str, Any]:
    """Return which predictions can be explained.

    `kinds` and the one of them that is meant, `kind`; `positions` [[position, words], ...] of the
    tokens that it can be about; `classes`, the names to choose from, where they are few; whether one can be chosen and
    contrasted (`choosable`); the number of `heads` a layer, and whether the model is `large`.
    Raises `InputError` for a model without a head.
    """
    checkpoint = state.models.open(model)
    kind = _resolve_kind(checkpoint, text_a, text_b, kind)
    labels = interpret.NEXT_NAMES if kind == "next" else checkpoint.config.labels if kind in ("label", "word") else ()
    encoding = interpret.encode_inputs(checkpoint, text_a, _pair(text_b, kind)).encoding
    first = [["", "the first word with a label"]] if kind == "word" else []
    return {
        "kinds": interpret.target_kinds(checkpoint),
        "kind": kind,
        "positions": [
            *first,
            *([at, f"{encoding.tokens[at]} ({at})"] for at in _positions(checkpoint, encoding, kind)),
        ],
        "classes": list(labels),
        "choosable": kind == "token" or len(labels) > 1,
        "heads": checkpoint.config.num_attention_heads,
        "large": checkpoints.parameter_count(checkpoint.model) > LARGE,
    }


def attribution(state: AppState, asked: Explained) -> dict[str, Any]:
    """Return the prediction that is explained (`facts`), and what each token contributes to it (`tokens`)."""
    checkpoint, inputs, target = asked.opened(state)
    attributions = interpret.attribute_by_all(checkpoint, inputs, target, report_progress)
    attention = None
    if target.read_position is not None:
        trace = interpret.trace_text(checkpoint, *inputs.encoding.texts)
        attention = trace.attentions[:, :, target.position].mean((0, 1))
    scores = interpret.class_scores(checkpoint, inputs, target)
    score = float(scores[target.index])
    rank = int((scores > score).sum()) + 1 if target.kind == "token" else None
    tokens = figure("attribution", attention=attention, **attribution_body(attributions))
    return {"facts": figure("explained", target=target, value=score, rank=rank), "tokens": tokens}


def head_effects(state: AppState, asked: Explained, ablated: Heads) -> Payload:
    """Return the map of all heads, with the ablated ones marked."""
    checkpoint, inputs, target = asked.opened(state)
    texts = inputs.encoding.texts
    # The effect of each head does not depend on which are ablated: of a large model it is computed once.
    ablation = state.remembered(
        ("head effects", state.models.version(asked.model), texts, target),
        lambda: interpret.ablate_heads(checkpoint, *texts, target=target, on_progress=report_progress),
    )
    return figure(
        "head_ablation",
        target=target,
        baseline=ablation.baseline,
        without_head=ablation.without_head,
        without_layer=ablation.without_layer,
        off=ablated,
        sharing_note=family_notes.sharing_note(checkpoint.config),
    )


def intervention(
    state: AppState, asked: Explained, ablated: Heads, causal: bool, segments: Literal["", "zero", "swapped"]
) -> dict[str, Any]:
    """Return what is changed in the model or in its input (`facts`), and the prediction before and after (`chart`)."""
    from bertviz_lab.interpret.inputs import with_segment_ids

    checkpoint, inputs, target = asked.opened(state)
    config = checkpoint.config
    head_mask = np.ones((config.num_hidden_layers, config.num_attention_heads))
    closed = [place for place in sorted(set(ablated)) if place[0] < len(head_mask) and place[1] < head_mask.shape[1]]
    for place in closed:
        head_mask[place] = 0
    before = interpret.class_scores(checkpoint, inputs, target)
    changed_inputs = with_segment_ids(inputs, segments) if segments and asked.text_b and config.has_segments else inputs
    after = interpret.class_scores(checkpoint, changed_inputs, target, head_mask=head_mask, causal=causal)
    classes = dict.fromkeys([*most_probable((before, after)), target.index])
    change = {"ablated": closed, "causal": causal, "segments": segments if changed_inputs is not inputs else ""}
    chart = figure(
        "intervention",
        names=[interpret.class_name(checkpoint, inputs, target, index) for index in classes],
        before=[before[index] for index in classes],
        after=[after[index] for index in classes],
        change=change,
        is_regression=target.is_regression,
    )
    facts = figure("changes", change=change, lacks_segments=bool(segments) and not config.has_segments)
    return {"facts": facts, "chart": chart}


def most_probable(runs: Iterable[NDArray[np.floating]], most: int = _SHOWN_CLASSES) -> list[int]:
    """Return the most probable classes of each of some runs, by their scores."""
    return [int(index) for scores in runs for index in np.argsort(-scores, kind="stable")[:most]]


def _resolve_kind(checkpoint: Any, text_a: str, text_b: str, kind: str) -> Any:
    """Return the kind that was chosen where the model has a head for it, else the one that suits the text."""
    kinds = interpret.target_kinds(checkpoint)
    if not kinds:
        raise InputError(f"{checkpoint.name} has no prediction head, so there is no prediction to explain.")
    if kind in kinds:
        return kind
    if "next" in kinds and text_b.strip():
        tokenizer = checkpoint.tokenizer
        masked = any(tokenizer.encode(text).mask_positions(tokenizer.mask_id) for text in (text_a, text_b))
        return "token" if masked and "token" in kinds else "next"
    return kinds[0]


def _pair(text_b: str, kind: str) -> str | None:
    """Return text B where there is one; words are labeled in text A alone."""
    return text_b if text_b.strip() and kind != "word" else None


def _positions(checkpoint: Any, encoding: Any, kind: str) -> list[int]:
    """Return the masked tokens, or the first token of each word, where a prediction is about one of several."""
    if kind == "token":
        return list(encoding.mask_positions(checkpoint.tokenizer.mask_id))
    return [positions[0] for positions in encoding.words] if kind == "word" else []


QUESTIONS = questions(targets, intervention, slow=[attribution, head_effects])
