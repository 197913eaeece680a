"""Examples that a fine-tuned model has answered, as a list: what is true, and what it said."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bertviz_lab.figures.payload import Payload, to_json

_CHARACTERS = 600  # of a text; the page shows two lines


@dataclass(frozen=True, kw_only=True)
class LabelExample:
    """A text, or a pair, with its label and the predicted one, which has a probability between 0 and 1."""

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
            "text": _cut(self.text),
            "text_b": _cut(self.text_b or ""),
            "truth": self.truth,
            "predicted": self.predicted,
            "probability": float(self.probability),
            "right": self.truth == self.predicted,
        }


@dataclass(frozen=True, kw_only=True)
class NumberExample:
    """A text, or a pair, with its number and the predicted one."""

    index: int
    text: str
    truth: float
    predicted: float
    text_b: str | None = None
    detail: str = ""

    def body(self) -> dict[str, Any]:
        return {
            "kind": "number",
            "text": _cut(self.text),
            "text_b": _cut(self.text_b or ""),
            "truth": float(self.truth),
            "predicted": float(self.predicted),
        }


@dataclass(frozen=True, kw_only=True)
class WordsExample:
    """A sentence with a true and a predicted label a word."""

    index: int
    words: Sequence[str]
    truth: Sequence[str]
    predicted: Sequence[str]
    detail: str = ""

    def body(self) -> dict[str, Any]:
        words = [list(line) for line in zip(self.words, self.truth, self.predicted, strict=True)]
        wrong = sum(true != said for _, true, said in words)
        return {"kind": "words", "words": words, "wrong": wrong, "right": wrong == 0}


@dataclass(frozen=True, kw_only=True)
class AnswerExample:
    """A question with the predicted answer and the right ones; "" and no right ones mean that there is no answer.

    `score` is how many of the words it shares with the nearest right answer (F1), between 0 and 1.
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
            "text": _cut(self.question),
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
    """The payload of the list, in the order given. An example's `index` is what `example_select` hands back.

    Lists with the same `key` are parts of the same examples: what was chosen in one stays marked in the next.
    `chosen` is the index of the example to mark from the start.
    """
    items = [{"index": one.index, "detail": one.detail} | one.body() for one in examples]
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


def _cut(text: str) -> str:
    return text if len(text) <= _CHARACTERS else f"{text[:_CHARACTERS]}…"
