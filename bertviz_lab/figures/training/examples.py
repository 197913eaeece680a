"""Labelled examples with the predictions of a fine-tuned model, as a list."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bertviz_lab.figures.payload import Payload, to_json

_MAX_CHARACTERS = 600  # of a text; the page shows two lines
_NO_ANSWER = "not in the passage"


@dataclass(frozen=True, kw_only=True)
class LabelExample:
    """A text or pair with its true label, the predicted one and its probability, 0 to 1."""

    index: int
    text: str
    truth: str
    predicted: str
    probability: float
    text_b: str | None = None

    def body(self) -> dict[str, Any]:
        right = self.truth == self.predicted
        facts = [["true and predicted", self.truth]] if right else [["true", self.truth], ["predicted", self.predicted]]
        return _body(
            self.text,
            self.text_b,
            facts=facts,
            right=right,
            probability=float(self.probability),
            row={"truth": self.truth, "predicted": self.predicted, "probability": float(self.probability)},
        )


@dataclass(frozen=True, kw_only=True)
class NumberExample:
    """A text or pair with its target and the predicted number."""

    index: int
    text: str
    truth: float
    predicted: float
    text_b: str | None = None

    def body(self) -> dict[str, Any]:
        error = f"{self.predicted - self.truth:+.3f}".replace("-", "−")
        facts = [["true", f"{self.truth:.3f}"], ["predicted", f"{self.predicted:.3f}"], ["error", error]]
        row = {"truth": float(self.truth), "predicted": float(self.predicted)}
        return _body(self.text, self.text_b, facts=facts, row=row)


@dataclass(frozen=True, kw_only=True)
class WordsExample:
    """A sentence with a true and a predicted label per word."""

    index: int
    words: Sequence[str]
    truth: Sequence[str]
    predicted: Sequence[str]

    def body(self) -> dict[str, Any]:
        words = [list(line) for line in zip(self.words, self.truth, self.predicted, strict=True)]
        errors = sum(true != predicted for _, true, predicted in words)
        verdict = f"{errors} wrong label{'' if errors == 1 else 's'}" if errors else "all labels correct"
        columns = {"words": self.words, "truth": self.truth, "predicted": self.predicted}
        row = {name: " ".join(column) for name, column in columns.items()}
        return {"facts": [["", verdict]], "right": errors == 0, "words": words, "row": row}


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
    probability: float | None
    detail: str  # what stands under it: the beginning of the passage

    def body(self) -> dict[str, Any]:
        right = self.score >= 1.0
        answers = " / ".join(dict.fromkeys(self.answers))
        facts = [["predicted", self.predicted or _NO_ANSWER]]
        facts += [] if right else [["true", answers or _NO_ANSWER]]
        facts += [["F1", f"{self.score:.0%}"]] if 0 < self.score < 1 else []
        row = {"predicted": self.predicted, "answers": answers, "score": float(self.score)}
        return _body(
            self.question,
            facts=facts,
            right=right,
            probability=self.probability,
            row=row | {"probability": self.probability},
            detail=self.detail,
        )


def _body(text: str, text_b: str | None = None, *, row: dict[str, Any], **more: Any) -> dict[str, Any]:
    """What the page shows of an example, and `row`, its line of a file."""
    texts = [_shortened(text), *([_shortened(text_b)] if text_b else [])]
    return {"texts": texts, "row": dict(zip(("text", "text_b"), texts, strict=False)) | row, **more}


Shown = LabelExample | NumberExample | WordsExample | AnswerExample


def examples_payload(
    examples: Sequence[Shown],
    *,
    title: str,
    sentence: str = "",
    key: str = "",
) -> Payload:
    """The payload of the list, in the order given. `example_select` returns the `index` of an example.

    Lists with the same `key` show the same examples: the selection is kept from one to the next.
    """
    items = [{"index": example.index} | example.body() for example in examples]
    return to_json({"title": title, "sentence": sentence, "key": key, "file": "examples", "items": items})


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]}…"
