"""What Predictions asks: masked tokens, the next sentence, a fine-tuned model's task, and two models side by side."""

from typing import Any

from bertviz_lab.config import family_notes
from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import Payload, figure
from bertviz_lab.tokenization import token_text
from bertviz_lab.ui.lazy import interpret
from bertviz_lab.ui.server.scheduler import report_progress
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.view import Count, Index, Input, ModelName, Word, questions

_DETECTOR = "This model detects replaced tokens (an ELECTRA discriminator): it predicts no token for a mask."
_ENCODER = "This model has no prediction head. Batch inference compares its vectors of texts (semantic search)."
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
        note = f"{_DETECTOR if is_detector else _ENCODER} {_STILL}"
    return {"mlm": has_mlm, "nsp": has_nsp, "task": task, "note": note}


def mlm(state: AppState, asked: Input, top_k: Count, word: Word) -> Payload:
    """Return the likeliest tokens of every [MASK]; a text without one is shown as it is, to be clicked."""
    from bertviz_lab.tokenization import check_mask_spelling

    checkpoint = asked.checkpoint(state)
    tokenizer, vocab_size = checkpoint.tokenizer, checkpoint.config.vocab_size
    encoding = interpret.encode_inputs(checkpoint, *asked.texts).encoding
    misspelt = any(check_mask_spelling(text, tokenizer) for text in asked.texts)
    if encoding.mask_positions(tokenizer.mask_id) or encoding.dropped_a or misspelt:
        top_k, name = min(top_k, vocab_size), word.strip() or None
        filled = interpret.fill_mask(checkpoint, asked.text_a, top_k, asked.text_b, word=name)
    else:
        filled = interpret.FillMask(encoding, ())
    return figure("fill_mask", title=checkpoint.name, vocab_size=vocab_size, **vars(filled))


def guesses(state: AppState, asked: Input) -> list[str]:
    """Return the first prediction for each [MASK], as it is written in a text."""
    checkpoint = asked.checkpoint(state)
    masks = interpret.fill_mask(checkpoint, asked.text_a, 1, asked.text_b).masks
    return [token_text(checkpoint.tokenizer, mask.candidates[0].id) for mask in masks]


def joint(state: AppState, asked: Input) -> Payload:
    """Return all masked tokens filled together."""
    filled = interpret.joint_fill(asked.checkpoint(state), *asked.texts, beams=8, on_progress=report_progress)
    return figure("joint_fill", joint=filled.joint, independent=filled.independent)


def surprisal(state: AppState, asked: Input, positions: Index) -> Payload:
    """Return the surprisal of each token of texts whose masked tokens have been filled with words.

    `positions` is how many the input of the page has: a word of several tokens in place of a [MASK] moves those after
    it.
    """
    scored = interpret.pseudo_log_likelihood(asked.checkpoint(state), *asked.texts, on_progress=report_progress)
    return figure("pseudo_log_likelihood", linked=len(scored.encoding) == positions, **vars(scored))


def nsp(state: AppState, asked: Input) -> Payload:
    """Return whether B follows A."""
    predicted = interpret.next_sentence(asked.checkpoint(state), *asked.texts)
    return figure("next_sentence", is_next=predicted.is_next, is_random=predicted.is_random)


def task(state: AppState, asked: Input) -> Payload:
    """Return the label of a text or pair, the entities in it, or the answer in a passage (`text_b`) to a question.

    Raises `InputError` for a model that was not fine-tuned.
    """
    if not state.models.is_task_model(asked.model):
        raise InputError("This model has not been fine-tuned for a task.")
    return task_payload(asked.checkpoint(state), *asked.texts)


def task_payload(checkpoint: Any, text_a: str, text_b: str) -> Payload:
    """Return what a fine-tuned model says of a text, or of a question and a passage."""
    if checkpoint.kind == "BertForSequenceClassification":
        return figure("classification", **vars(interpret.classify(checkpoint, text_a, text_b.strip() or None)))
    if checkpoint.kind == "BertForTokenClassification":
        labelled = interpret.label_words(checkpoint, text_a, on_progress=report_progress)
        return figure("entities", text=text_a, words=labelled.words, labels=labelled.labels)
    return figure("answer", **vars(interpret.answer_question(checkpoint, text_a, text_b, on_progress=report_progress)))


def compare(state: AppState, asked: Input, other: ModelName) -> Payload:
    """Return the same masked tokens by two models."""
    checkpoint = asked.checkpoint(state)
    both = [checkpoint, state.models.open_comparison(checkpoint, other)]
    return figure("fill_comparison", **vars(interpret.compare_fill_mask(both, asked.text_a, text_b=asked.text_b)))


QUESTIONS = questions(heads, mlm, guesses, joint, nsp, task, compare, slow=[surprisal])
