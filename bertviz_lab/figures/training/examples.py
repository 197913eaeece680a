"""Labelled examples with the predictions of a fine-tuned model, as a list."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bertviz_lab.figures.payload import Payload, to_json

_MAX_CHARACTERS = 600  # of a text; the page shows two lines


@dataclass(frozen=True, kw_only=True)
class LabelExample:
    """A text or pair with its true label, the predicted one and its probability, 0 to 1."""

    index: int
    text: str
    truth: str
    predicted: str
    probability: float
    text_b: str | None = None
    detail: str = ""

    def body(self) -> dict[str, Any]:
        return {
            "kind": "label",
            "text": _shortened(self.text),
            "text_b": _shortened(self.text_b or ""),
            "truth": self.truth,
            "predicted": self.predicted,
            "probability": float(self.probability),
            "right": self.truth == self.predicted,
        }


@dataclass(frozen=True, kw_only=True)
class NumberExample:
    """A text or pair with its target and the predicted number."""

    index: int
    text: str
    truth: float
    predicted: float
    text_b: str | None = None
    detail: str = ""

    def body(self) -> dict[str, Any]:
        return {
            "kind": "number",
            "text": _shortened(self.text),
            "text_b": _shortened(self.text_b or ""),
            "truth": float(self.truth),
            "predicted": float(self.predicted),
        }


@dataclass(frozen=True, kw_only=True)
class WordsExample:
    """A sentence with a true and a predicted label per word."""

    index: int
    words: Sequence[str]
    truth: Sequence[str]
    predicted: Sequence[str]
    detail: str = ""

    def body(self) -> dict[str, Any]:
        words = [list(line) for line in zip(self.words, self.truth, self.predicted, strict=True)]
        errors = sum(true != predicted for _, true, predicted in words)
        return {"kind": "words", "words": words, "wrong": errors, "right": errors == 0}


@dataclass(frozen=True, kw_only=True)
class AnswerExample:
    """A question with the predicted and the reference answers; "" and no references mean that there is no answer.

    `score` is the F1 of its words with the closest reference, 0 to 1.
    """

    index: int
    question: str
    predicted: str
    answers: Sequence[str]
    score: float
    probability: float | None = None
    detail: str = ""

    def body(self) -> dict[str, Any]:
        return {
            "kind": "answer",
            "text": _shortened(self.question),
            "predicted": self.predicted,
            "answers": list(dict.fromkeys(self.answers)),
            "score": float(self.score),
            "probability": self.probability,
            "right": self.score >= 1.0,
        }


Shown = LabelExample | NumberExample | WordsExample | AnswerExample


def examples_payload(
    examples: Sequence[Shown],
    *,
    title: str,
    sentence: str = "",
    empty: str = "There are no examples of this kind.",
    key: str = "",
    chosen: int | None = None,
    file: str = "examples",
) -> Payload:
    """The payload of the list, in the order given. `example_select` returns the `index` of an example.

    Lists with the same `key` show the same examples: the selection is kept from one to the next.
    `chosen` is the index of the example selected initially.
    """
    items = [{"index": example.index, "detail": example.detail} | example.body() for example in examples]
    return to_json(
        {
            "title": title,
            "sentence": sentence,
            "empty": empty,
            "key": key,
            "chosen": chosen,
            "file": file,
            "items": items,
        }
    )


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]}…"
