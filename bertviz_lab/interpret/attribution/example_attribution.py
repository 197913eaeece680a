"""Attribution of a fine-tuned model's prediction for one labelled example."""

import math
from typing import cast

from bertviz_lab.data.tasks.examples import (
    Example,
    LabelledText,
    LabelledWords,
    Question,
    RelatedTexts,
    texts_of_example,
)
from bertviz_lab.errors import InputError
from bertviz_lab.interpret.attribution.attribution import METHODS, Attribution, attribute, check_attribution
from bertviz_lab.interpret.inputs import ModelInputs, OnProgress, encode_inputs, nothing
from bertviz_lab.interpret.predictions.token_labels import answer_question
from bertviz_lab.interpret.targets import Target, choose_target
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint
from bertviz_lab.training.finetuning.predictions.prediction import Prediction


def explain_example(
    checkpoint: Checkpoint, example: Example, prediction: Prediction, on_progress: OnProgress = nothing
) -> list[Attribution]:
    """Attribution of a prediction to its tokens, by every method.

    A wrong label is contrasted with the true one. For labelled words, the first wrong label is explained, or else the
    first other than "O"; for an answer, its first token. `on_progress` is called with the share of all methods that is
    done. Raises `InputError` for a model of another task.
    """
    text_a, text_b = texts_of_example(example)
    inputs = encode_inputs(checkpoint, text_a, text_b)
    if isinstance(example, LabelledWords):
        target = _word_target(checkpoint, inputs, example, prediction)
    elif isinstance(example, LabelledText):
        against = str(example.label) if str(example.label) != prediction.label else None
        if isinstance(example.label, float):
            target = choose_target(checkpoint, inputs, "label")
        elif isinstance(example.label, tuple):
            target = choose_target(
                checkpoint, inputs, "label", choice=_label_to_explain(checkpoint, example, prediction)
            )
        else:
            known = against if against in checkpoint.config.labels else None
            target = choose_target(checkpoint, inputs, "label", choice=prediction.label, against=known)
    elif isinstance(example, RelatedTexts):
        raise InputError("Embeddings predict no label that tokens could be credited with.")
    else:
        text_b, start = _answer_window(checkpoint, example, prediction)
        inputs = encode_inputs(checkpoint, text_a, text_b)
        position = _token_at(inputs, start) if start is not None else 0
        target = choose_target(checkpoint, inputs, "start", position=position)
    check_attribution(checkpoint, inputs)
    attributions = []
    for place, method in enumerate(METHODS):

        def report(share: float, place: int = place) -> None:
            on_progress((place + share) / len(METHODS))

        attributions.append(attribute(checkpoint, text_a, text_b, method=method, target=target, on_progress=report))
    return attributions


def _label_to_explain(checkpoint: Checkpoint, example: LabelledText, prediction: Prediction) -> str | None:
    """Of several labels one that is wrong or missing, else one that is right; None for the most probable."""
    true, known = cast(tuple[str, ...], example.label), checkpoint.config.labels
    wrong = [label for label in (*prediction.labels, *true) if (label in true) != (label in prediction.labels)]
    return next((label for label in (*wrong, *prediction.labels) if label in known), None)


def _answer_window(checkpoint: Checkpoint, example: Question, prediction: Prediction) -> tuple[str, int | None]:
    """The window of the passage around the answer, and the answer's offset in it; None for no answer."""
    if not prediction.label:
        return example.passage, None
    answer = answer_question(checkpoint, example.question, example.passage, threshold=math.inf)
    first, end = answer.window_of(prediction.start, prediction.end)
    return example.passage[first:end], prediction.start - first


def _token_at(inputs: ModelInputs, start: int) -> int | None:
    """The position of the token of text B that covers this character."""
    encoding = inputs.encoding
    rows = zip(encoding.token_type_ids, encoding.offsets, strict=True)
    return next((n for n, (segment, (a, b)) in enumerate(rows) if segment == 1 and a <= start < b), None)


def _word_target(checkpoint: Checkpoint, inputs: ModelInputs, example: LabelledWords, prediction: Prediction) -> Target:
    """The label to explain: the first wrong one, else the first other than "O"."""
    pairs = list(zip(example.labels, prediction.labels, strict=True))
    errors = [index for index, (true, predicted) in enumerate(pairs) if true != predicted]
    index = (errors or [index for index, (_, predicted) in enumerate(pairs) if predicted != "O"] or [0])[0]
    start = len(" ".join(example.words[:index])) + bool(index)
    offsets = inputs.encoding.offsets
    positions = [n for n, (first, end) in enumerate(offsets) if first <= start < end]
    if not positions:  # a word that the tokenizer dropped, or that was truncated
        return choose_target(checkpoint, inputs, "word")
    true, predicted = pairs[index]
    against = true if true != predicted and true in checkpoint.config.labels else None
    return choose_target(checkpoint, inputs, "word", position=positions[0], choice=predicted, against=against)
