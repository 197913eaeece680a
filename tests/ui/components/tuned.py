"""Hand-made material of fine-tuning: runs of several trials, data files, answered examples, marked texts."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bertviz_lab.data.examples import Answer, FileInfo, LabelledWords, Question
from bertviz_lab.figures.payload import Payload, figure
from bertviz_lab.figures.training.data import Item, answer_item, label_item, number_item, words_item

MEASURES = {
    "classification": ("accuracy",),
    "regression": ("spearman", "pearson", "mse"),
    "tokens": ("f1", "accuracy"),
    "qa": ("f1", "exact_match"),
}
#: Right-to-left words and an emoji of two UTF-16 units before what is marked.
TEXT = "😀 Ada Lovelace wrote to Charles Babbage in London; שלום from Paris."
HEBREW = "בשנת 1948 נולד דוד כהן 😀 בתל אביב, והוא גר שם עד היום."


def task_events(
    task: str, names: tuple[str, ...] = ("seed 0",), *, steps: int = 120, until: int | None = None, done: bool = True
) -> list[dict[str, Any]]:
    """The events of a run of one trial for each name, `steps` steps each, cut after `until` steps in all."""
    random = np.random.default_rng(0)
    first, *others = MEASURES[task]
    total = steps * len(names)
    rows: list[dict[str, Any]] = [{
        "event": "RunStarted", "run": "r1", "step": 0, "total_steps": total, "objective": task, "notes": [],
        "baselines": {first: 0.0 if task == "regression" else 0.51, "loss": 0.69},
    }]  # fmt: skip
    for trial, name in enumerate(names):
        start = trial * steps
        rows.append({"event": "TrialStarted", "trial": trial, "trials": len(names), "name": name, "step": start,
                     "total_steps": steps})  # fmt: skip
        best = 0.0
        for step in range(start + 1, start + steps + 1):
            ease = 1 - np.exp(-4 * (step - start) / steps)
            clock = {"step": step, "seconds": 0.1 * step, "tokens": 500 * step}
            training = {"accuracy": 0.5 + 0.45 * ease} if task == "classification" else {}
            rows.append({"event": "StepDone", **clock, "loss": 0.7 - 0.5 * ease + 0.04 * random.normal(),
                         "learning_rate": 1e-4, "grad_norm": 1.0, "tokens_per_second": 5000.0,
                         "eta_seconds": 0.1 * (total - step), **training})  # fmt: skip
            if step % (steps // 4) == 0:
                score = (0.0 if task == "regression" else 0.5) + (0.3 + 0.01 * trial) * ease
                best = max(best, score)
                values = dict.fromkeys(others, score - 0.1) | {"loss": 0.75 - 0.4 * ease, first: score}
                rows.append({"event": "EvalDone", **clock, **values})
        rows.append({"event": "TrialDone", "trial": trial, "name": name, "step": start + steps,
                     "best_step": start + steps, first: best, **dict.fromkeys(others, best - 0.1)})  # fmt: skip
    kept = [row for row in rows if until is None or row["step"] <= until]
    return kept if done else [row for row in kept if row["event"] != "TrialDone"]


def table(odd: str = "x") -> FileInfo:
    """A table of reviews whose last column is not used."""
    long = "A very long review that goes on and on. " * 12
    rows = (("1", long, "good", odd), ("2", odd, "bad", ""), ("3", "שלום עולם", "good", "z"))
    return FileInfo(
        name="reviews.csv", format="table", encoding="utf-8", delimiter=",", header=True,
        columns=("id", "review", "stars", "note"), text_a="review", text_b="", label="stars", rows=rows,
    )  # fmt: skip


def sentence_data() -> tuple[FileInfo, list[LabelledWords]]:
    """Words with labels: how they were read, and the sentences."""
    reading = FileInfo(
        name="names.conll", format="conll", encoding="utf-8", delimiter=" ", header=False,
        columns=("1", "2", "3"), text_a="1", text_b="", label="3", rows=(("Ada", "NNP", "B-PER"),),
    )  # fmt: skip
    words = ("Ada", "Lovelace", "lived", "in", "London", ".")
    labels = ("B-PER", "I-PER", "O", "O", "B-LOC", "O")
    return reading, [LabelledWords(words, labels, row=1)] * 2


def question_data() -> tuple[FileInfo, list[Question]]:
    reading = FileInfo(
        name="questions.json", format="squad", encoding="utf-8", delimiter="", header=False,
        columns=("question", "context", "answers"), text_a="question", text_b="context", label="answers", rows=(),
    )  # fmt: skip
    passage = "The museum opens at nine. " * 30
    answers = tuple(Answer(text, passage.index(text)) for text in ("at nine", "nine", "nine"))
    return reading, [
        Question("1", "When does it open?", passage, answers, row=1),
        Question("2", "Who owns it?", passage, (), row=2),
    ]


def classified(count: int, odd: str = "x") -> list[Item]:
    """Reviews of which every third is predicted wrongly; indices are not their places."""
    texts = ["A fine film with a great cast. " * 12, odd, "Dull from beginning to end."]
    return [
        label_item(
            index=1000 + 7 * place,
            text=f"{place}: {texts[place % 3]}",
            text_b="And a second text." if place % 5 == 0 else None,
            truth="good",
            predicted="bad" if place % 3 == 0 else "good",
            probability=0.99 - place / 200,
        )
        for place in range(count)
    ]


def numbers() -> list[Item]:
    return [number_item(index=place, text=f"Text {place}", truth=2.5, predicted=2.0 + place) for place in range(3)]


def tagged() -> list[Item]:
    words, truth = ("Ada", "lives", "in", "Rome"), ("B-PER", "O", "O", "B-LOC")
    return [
        words_item(index=0, words=words, truth=truth, predicted=("B-PER", "O", "O", "B-PER")),
        words_item(index=1, words=words, truth=truth, predicted=truth),
    ]


def answered() -> list[Item]:
    answers = (Answer("at nine", 15), Answer("nine o'clock", 15))
    when = Question("1", "When?", "The shop opens at nine.", answers, row=1)
    who = Question("2", "Who?", "", (), row=2)
    return [answer_item(0, when, "nine", 0.67, 0.8), answer_item(1, who, "", 1.0, 0.6)]


def span(text: str, words: str, label: str, score: float | None = 0.9) -> dict[str, Any]:
    start = text.index(words)
    return {"start": start, "end": start + len(words), "label": label, "score": score}


def entities() -> list[dict[str, Any]]:
    people = [span(TEXT, "Charles Babbage", "PER", 0.71), span(TEXT, "Ada Lovelace", "PER", 0.98)]
    return [*people, span(TEXT, "London", "LOC"), span(TEXT, "שלום", "MISC", None), span(TEXT, "Paris", "LOC")]


def alternatives(text: str, *found: str) -> list[dict[str, Any]]:
    """Answers that stand in a text, the first likeliest; "" is no answer."""
    return [
        {"text": words, "start": text.index(words), "end": text.index(words) + len(words), "probability": 0.6 / 2**at}
        for at, words in enumerate(found)
    ]


def marked(
    text: str, spans: Sequence[dict[str, Any]] = (), answers: Sequence[dict[str, Any]] = (), **captions: Any
) -> Payload:
    """A text with marked spans, and answers that stand in it."""
    return figure("marked", text=text, spans=spans, alternatives=answers, **captions)
