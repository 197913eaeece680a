"""Which prediction is explained: what a model's heads and the text allow, and what a person has chosen of it."""

from dataclasses import dataclass
from typing import Any

from bertviz_lab.errors import InputError

_KIND_NAMES = {
    "token": "masked token (MLM)",
    "next": "next sentence (NSP)",
    "label": "label",
    "word": "label of a word",
    "start": "start of the answer",
    "end": "end of the answer",
}
_LARGE = 20_000_000  # weights: attributions of a larger model take seconds


@dataclass(frozen=True)
class Explained:
    """A prediction, with the input that it is made from."""

    checkpoint: Any
    text_a: str
    text_b: str | None
    inputs: Any
    target: Any


def possible_targets(checkpoint: Any, text_a: str, text_b: str, kind: str) -> dict[str, Any]:
    """Return what can be explained.

    `kinds` [[kind, words], ...] and the `kind` of them that is meant; `positions` [[position, words], ...] of the
    tokens that it can be about; `classes`, the names to choose from, where they are few; whether one can be chosen and
    contrasted (`choosable`); the number of `heads` a layer, and whether the model is `large`.
    Raises `InputError` for a model without a head.
    """
    from bertviz_lab.interpret import NEXT_NAMES, encode_inputs, target_kinds
    from bertviz_lab.training.checkpoints.checkpoint import parameter_count

    kind = resolve_kind(checkpoint, text_a, text_b, kind)
    labels = NEXT_NAMES if kind == "next" else checkpoint.config.labels if kind in ("label", "word") else ()
    inputs = encode_inputs(checkpoint, text_a, _pair(text_b, kind))
    first = [["", "the first word with a label"]] if kind == "word" else []
    places = _positions(checkpoint, inputs, kind)
    return {
        "kinds": [[name, _KIND_NAMES[name]] for name in target_kinds(checkpoint)],
        "kind": kind,
        "positions": [*first, *([at, f"{inputs.encoding.tokens[at]} ({at})"] for at in places)],
        "classes": list(labels),
        "choosable": kind == "token" or len(labels) > 1,
        "heads": checkpoint.config.num_attention_heads,
        "large": parameter_count(checkpoint.model) > _LARGE,
    }


def resolve_kind(checkpoint: Any, text_a: str, text_b: str, kind: str) -> Any:
    """Return the kind that was chosen where the model has a head for it, else the one that suits the text."""
    from bertviz_lab.interpret import target_kinds

    kinds = target_kinds(checkpoint)
    if not kinds:
        raise InputError(f"{checkpoint.name} has no prediction head, so there is no prediction to explain.")
    if kind in kinds:
        return kind
    if "next" in kinds and text_b.strip():
        tokenizer = checkpoint.tokenizer
        masked = any(tokenizer.encode(text).mask_positions(tokenizer.mask_id) for text in (text_a, text_b))
        return "token" if masked and "token" in kinds else "next"
    return kinds[0]


def explained(
    checkpoint: Any, text_a: str, text_b: str, kind: str, position: int | None, choice: str, contrast: str
) -> Explained:
    """Return the prediction that is meant; a position that the text has no such token at stands for the first one.

    Raises `InputError` as `choose_target` does.
    """
    from bertviz_lab.interpret import choose_target, encode_inputs, encode_masked

    target_kind = resolve_kind(checkpoint, text_a, text_b, kind)
    pair = _pair(text_b, target_kind)
    if target_kind == "token":
        inputs, _ = encode_masked(checkpoint, text_a, pair)  # which gives advice where there is no [MASK]
    else:
        inputs = encode_inputs(checkpoint, text_a, pair)
    if position not in _positions(checkpoint, inputs, target_kind):
        position = None
    target = choose_target(
        checkpoint,
        inputs,
        target_kind,
        position=position,
        choice=choice.strip() or None,
        against=contrast.strip() or None,
    )
    return Explained(checkpoint, text_a, inputs.encoding.text_b, inputs, target)


def _pair(text_b: str, kind: str) -> str | None:
    """Text B where there is one; words are labelled in text A alone."""
    return text_b if text_b.strip() and kind != "word" else None


def _positions(checkpoint: Any, inputs: Any, kind: str) -> list[int]:
    """Return the masked tokens, or the first token of each word, where a prediction is about one of several."""
    encoding = inputs.encoding
    if kind == "token":
        return list(encoding.mask_positions(checkpoint.tokenizer.mask_id))
    if kind == "word":
        return [positions[0] for positions in encoding.words]
    return []
