"""What Predictions asks: masked tokens, the next sentence, a fine-tuned model's task, and two models side by side."""

from typing import Annotated, Any

from pydantic import Field

from bertviz_lab.config import family_notes
from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import Payload, figure
from bertviz_lab.tokenization import Tokenizer, token_text
from bertviz_lab.ui.lazy import interpret
from bertviz_lab.ui.server.scheduler import report_progress
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.view import Count, Index, ModelName, Text, Word, questions

#: The words behind the [MASK]s of both texts, in their order; "" where nobody's click has made one.
MaskedWords = Annotated[list[Word], Field(max_length=1000)]
_DETECTOR = "detects replaced tokens (an ELECTRA discriminator): it predicts no token for a mask"
_STILL = "Its tokens, attention, embeddings and layers can be looked at all the same."


def heads(state: AppState, model: ModelName) -> dict[str, Any]:
    """Return what a model can predict: `mlm`, `nsp`, its class (`task`) if fine-tuned, and a `note` on the rest."""
    checkpoint = state.models.open(model)
    has_mlm = hasattr(checkpoint.model, "mlm")
    has_nsp = hasattr(checkpoint.model, "nsp") and checkpoint.config.has_nsp
    task = checkpoint.kind if state.models.is_task_model(model) else ""
    note = ""
    if has_mlm and not has_nsp:
        note = family_notes.objective_note(checkpoint.config) or "This model has no next-sentence head (NSP)."
    elif not (has_mlm or has_nsp or task):
        is_detector = checkpoint.kind == "BertForReplacedTokenDetection"
        note = f"This model {_DETECTOR if is_detector else 'has no prediction head'}. {_STILL}"
    return {"mlm": has_mlm, "nsp": has_nsp, "task": task, "note": note}


def mlm(state: AppState, model: ModelName, text_a: Text, text_b: Text, top_k: Count, word: Word) -> Payload:
    """Return the likeliest tokens of every [MASK]; a text without one is shown as it is, to be clicked."""
    from bertviz_lab.tokenization import check_mask_spelling

    checkpoint = state.models.open(model)
    tokenizer, vocab_size = checkpoint.tokenizer, checkpoint.config.vocab_size
    encoding = interpret.encode_inputs(checkpoint, text_a, text_b).encoding
    misspelt = any(check_mask_spelling(text, tokenizer) for text in (text_a, text_b))
    if encoding.mask_positions(tokenizer.mask_id) or encoding.dropped_a or misspelt:
        filled = interpret.fill_mask(checkpoint, text_a, min(top_k, vocab_size), text_b, word=word.strip() or None)
    else:
        filled = interpret.FillMask(encoding, ())
    return figure("fill_mask", title=checkpoint.name, vocab_size=vocab_size, **vars(filled))


def toggle_mask(
    state: AppState, model: ModelName, text_a: Text, text_b: Text, hidden: MaskedWords, position: Index
) -> dict[str, Any]:
    """Mask the word at a position, or bring back the word behind the [MASK] there: {text_a, text_b, hidden}."""
    return toggle(state.models.open(model), text_a, text_b, hidden, position)


def joint(state: AppState, model: ModelName, text_a: Text, text_b: Text) -> Payload:
    """Return all masked tokens filled together."""
    checkpoint = state.models.open(model)
    filled = interpret.joint_fill(checkpoint, text_a, text_b, beams=8, on_progress=report_progress)
    return figure("joint_fill", joint=filled.joint, independent=filled.independent)


def surprisal(state: AppState, model: ModelName, text_a: Text, text_b: Text, hidden: MaskedWords) -> Payload:
    """Return the surprisal of each token; masked tokens are first filled with their word or the top prediction."""
    checkpoint = state.models.open(model)
    before = interpret.encode_inputs(checkpoint, text_a, text_b).encoding
    text_a, text_b = fill(checkpoint, text_a, text_b, hidden)
    scored = interpret.pseudo_log_likelihood(checkpoint, text_a, text_b, on_progress=report_progress)
    # A word of several pieces in place of a [MASK] moves the tokens after it.
    is_linked = len(scored.encoding) == len(before)
    return figure("pseudo_log_likelihood", linked=is_linked, **vars(scored))


def nsp(state: AppState, model: ModelName, text_a: Text, text_b: Text) -> Payload:
    """Return whether B follows A."""
    predicted = interpret.next_sentence(state.models.open(model), text_a, text_b)
    return figure("next_sentence", is_next=predicted.is_next, is_random=predicted.is_random)


def task(state: AppState, model: ModelName, text_a: Text, text_b: Text) -> Payload:
    """Return the label of a text or pair, the entities in it, or the answer in a passage (`text_b`) to a question.

    Raises `InputError` for a model that was not fine-tuned.
    """
    if not state.models.is_task_model(model):
        raise InputError("This model has not been fine-tuned for a task.")
    checkpoint = state.models.open(model)
    if checkpoint.kind == "BertForSequenceClassification":
        return figure("classification", **vars(interpret.classify(checkpoint, text_a, text_b.strip() or None)))
    if checkpoint.kind == "BertForTokenClassification":
        labelled = interpret.label_words(checkpoint, text_a, on_progress=report_progress)
        return figure("entities", text=text_a, words=labelled.words, labels=labelled.labels)
    return figure("answer", **vars(interpret.answer_question(checkpoint, text_a, text_b, on_progress=report_progress)))


def compare(state: AppState, model: ModelName, other: ModelName, text_a: Text, text_b: Text) -> Payload:
    """Return the same masked tokens by two models."""
    checkpoint = state.models.open(model)
    second = state.models.open_comparison(checkpoint, other)
    return figure("fill_comparison", **vars(interpret.compare_fill_mask([checkpoint, second], text_a, text_b=text_b)))


# ---- words masked by a click


def toggle(checkpoint: Any, text_a: str, text_b: str, hidden: list[str], position: int) -> dict[str, Any]:
    """Return the texts after a click on a position of the input, and the words behind their masked tokens.

    A [MASK] that nobody's click has made is filled with the model's first prediction.
    """
    tokenizer = checkpoint.tokenizer
    encoding = interpret.encode_inputs(checkpoint, text_a, text_b).encoding
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
    masks = interpret.fill_mask(checkpoint, text_a, 1, text_b).masks
    return [token_text(checkpoint.tokenizer, mask.candidates[0].id) for mask in masks]


QUESTIONS = questions(heads, mlm, toggle_mask, joint, nsp, task, compare, slow=[surprisal])
