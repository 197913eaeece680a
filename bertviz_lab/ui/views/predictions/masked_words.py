"""Masking a word by a click, and bringing it back: the words behind the masked tokens of a text."""

from typing import Annotated, Any

from pydantic import Field

from bertviz_lab.errors import InputError
from bertviz_lab.tokenization import Tokenizer, token_text
from bertviz_lab.ui.view import Word

#: The words behind the [MASK]s of both texts, in their order; "" where nobody's click has made one.
MaskedWords = Annotated[list[Word], Field(max_length=1000)]


def toggle(checkpoint: Any, text_a: str, text_b: str, hidden: list[str], position: int) -> dict[str, Any]:
    """Return the texts after a click on a position of the input, and the words behind their masked tokens.

    A [MASK] that nobody's click has made is filled with the model's first prediction.
    """
    from bertviz_lab.interpret import encode_inputs

    tokenizer = checkpoint.tokenizer
    encoding = encode_inputs(checkpoint, text_a, text_b or None).encoding
    if not 0 <= position < len(encoding) or encoding.special_tokens_mask[position]:
        raise InputError("That word is no longer there.")
    texts, side = [text_a, text_b], encoding.token_type_ids[position]
    masks = encoding.mask_positions(tokenizer.mask_id)
    words = _behind(tokenizer, texts, hidden)
    start, end = encoding.offsets[position]
    if position in masks:
        place = masks.index(position)
        word = words.pop(place) or _predictions(checkpoint, text_a, text_b)[place]
        texts[side] = texts[side][:start] + word + texts[side][end:]
    else:
        start, end = encoding.span(encoding.word_at(position))
        words.insert(sum(mask < position for mask in masks), texts[side][start:end])
        texts[side] = texts[side][:start] + tokenizer.token(tokenizer.mask_id) + texts[side][end:]
    return {"text_a": texts[0], "text_b": texts[1], "hidden": words}


def fill(checkpoint: Any, text_a: str, text_b: str, hidden: list[str]) -> tuple[str, str]:
    """Return both texts with the words behind their masked tokens, the first prediction where none is known."""
    tokenizer, texts = checkpoint.tokenizer, [text_a, text_b]
    words = _behind(tokenizer, texts, hidden)
    if words:
        predicted = _predictions(checkpoint, text_a, text_b)
        words = [word or guess for word, guess in zip(words, predicted, strict=False)]
    for side in (1, 0):  # from the end, so that the places before stay where they are
        for start, end in reversed(_spans(tokenizer, texts[side])):
            if words:
                texts[side] = texts[side][:start] + words.pop() + texts[side][end:]
    return texts[0], texts[1]


def _behind(tokenizer: Tokenizer, texts: list[str], hidden: list[str]) -> list[str]:
    """Return a word for each [MASK]; where the texts have been edited since, none is known."""
    count = sum(len(_spans(tokenizer, text)) for text in texts)
    return list(hidden) if len(hidden) == count else [""] * count


def _spans(tokenizer: Tokenizer, text: str) -> list[tuple[int, int]]:
    encoding = tokenizer.encode(text)
    return [encoding.offsets[position] for position in encoding.mask_positions(tokenizer.mask_id)]


def _predictions(checkpoint: Any, text_a: str, text_b: str) -> list[str]:
    """Return the first prediction for each [MASK], as it is written in a text."""
    from bertviz_lab.interpret import fill_mask

    masks = fill_mask(checkpoint, text_a, 1, text_b or None).masks
    return [token_text(checkpoint.tokenizer, mask.candidates[0].id) for mask in masks]
