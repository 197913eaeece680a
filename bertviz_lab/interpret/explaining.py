"""Why a fine-tuned model said what it said about one labelled example."""

from bertviz_lab.data.tasks.examples import Example, LabelledText, LabelledWords
from bertviz_lab.interpret.attribution import METHODS, Attribution, attribute
from bertviz_lab.interpret.inputs import ModelInputs, encode_for
from bertviz_lab.interpret.targets import Target, choose_target
from bertviz_lab.training.checkpoint import Checkpoint
from bertviz_lab.training.scoring import Prediction


def texts_of_example(example: Example) -> tuple[str, str | None]:
    """An example as the text, or the pair, that a model reads; words with blanks between them."""
    if isinstance(example, LabelledText):
        return example.text_a, example.text_b
    if isinstance(example, LabelledWords):
        return " ".join(example.words), None
    return example.question, example.passage


def explain_example(checkpoint: Checkpoint, example: Example, prediction: Prediction) -> list[Attribution]:
    """What each token adds to a prediction, by every method.

    A wrong label is set against the right one; of labelled words the first wrong one is explained, or else the first
    that is no "O"; of an answer its first token. Raises `InputError` for a model of another task.
    """
    text_a, text_b = texts_of_example(example)
    inputs = encode_for(checkpoint, text_a, text_b)
    if isinstance(example, LabelledWords):
        target = _word_target(checkpoint, inputs, example, prediction)
    elif isinstance(example, LabelledText):
        against = str(example.label) if str(example.label) != prediction.label else None
        if isinstance(example.label, float):
            target = choose_target(checkpoint, inputs, "label")
        else:
            known = against if against in checkpoint.config.labels else None
            target = choose_target(checkpoint, inputs, "label", choice=prediction.label, against=known)
    else:
        target = choose_target(checkpoint, inputs, "start")
    return [attribute(checkpoint, text_a, text_b, method=method, target=target) for method in METHODS]


def _word_target(checkpoint: Checkpoint, inputs: ModelInputs, example: LabelledWords, prediction: Prediction) -> Target:
    """The label of the word that is worth explaining."""
    pairs = list(zip(example.labels, prediction.labels, strict=True))
    wrong = [place for place, (true, said) in enumerate(pairs) if true != said]
    place = (wrong or [place for place, (_, said) in enumerate(pairs) if said != "O"] or [0])[0]
    start = len(" ".join(example.words[:place])) + bool(place)
    offsets = inputs.encoding.offsets
    found = [n for n, (first, end) in enumerate(offsets) if first <= start < end]
    if not found:  # a word that the tokenizer dropped, or beyond what the model reads
        return choose_target(checkpoint, inputs, "word")
    true, said = pairs[place]
    against = true if true != said and true in checkpoint.config.labels else None
    return choose_target(checkpoint, inputs, "word", position=found[0], choice=said, against=against)
