"""Labelled examples of every task that a small model can learn, and short fine-tunings on them."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from bertviz_lab import Tokenizer
from bertviz_lab.config import FinetuneConfig
from bertviz_lab.data.examples import Answer, Example, Label, LabelledText, LabelledWords, Question, Task
from bertviz_lab.data.tasks.batches import Features, Limits, TaskBatch, TaskBatches, encode_examples
from bertviz_lab.training.finetuning.finetune import finetune
from bertviz_lab.training.runs.events import Event
from tests.little import SENTENCES

TASKS: tuple[Task, ...] = ("classification", "multilabel", "regression", "tokens", "qa")
LIMITS = Limits(max_length=48, stride=12, max_question_length=12)
_WORDS = " ".join(SENTENCES).replace(",", "").split()
_CLASSES = (("good", "red"), ("bad", "old"), ("so so", "small"))
_TAGGED = {"dog": ("B-ANIMAL",), "cat": ("B-ANIMAL",), "river": ("B-PLACE",), "old house": ("B-PLACE", "I-PLACE")}


def _filler(n: int, count: int = 3) -> list[str]:
    """Some words that have nothing to do with the label."""
    return [_WORDS[(7 * n + 3 * k) % len(_WORDS)] for k in range(count + n % 5)]


def examples(task: Task, count: int = 16) -> tuple[Example, ...]:
    """Examples of different lengths; of the three classes the first is as frequent as the others together."""
    makers: dict[Task, Callable[[int], Example]] = {
        "classification": _text,
        "multilabel": _several,
        "regression": _number,
        "tokens": _words,
        "qa": _question,
    }
    return tuple(makers[task](n) for n in range(count))


def _text(n: int) -> LabelledText:
    label, word = _CLASSES[(0, 1, 0, 2)[n % 4]]
    return LabelledText(" ".join([*_filler(n), f"day {n}"]), f"the {word} one {'x' * (n % 3)}".strip(), label, n + 1)


def _several(n: int) -> LabelledText:
    """No label, one or both."""
    labels = tuple(label for bit, (label, _) in enumerate(_CLASSES[:2]) if n >> bit & 1)
    words = [word for label, word in _CLASSES[:2] if label in labels]
    return LabelledText(" ".join([*_filler(n), *words, f"day {n}"]), None, labels, n + 1)


def _number(n: int) -> LabelledText:
    return LabelledText(" ".join([*["book"] * (n % 4), "walk", f"day {n}"]), None, 10.0 + 0.5 * (n % 4), n + 1)


def _words(n: int) -> LabelledWords:
    name = list(_TAGGED)[n % len(_TAGGED)]
    before = [word for word in _filler(n) if word not in _TAGGED]
    words = (*before, *name.split(), "on", "day", str(n))
    return LabelledWords(words, ("O",) * len(before) + _TAGGED[name] + ("O",) * 3, n + 1)


def _question(n: int) -> Question:
    places = ("the river", "the mat", "a house", "the garden")
    passage = f"{' '.join(_filler(n))}. The dog ran to {places[n % 4]}. The cat sat on {places[(n + 1 + n // 4) % 4]}."
    if n % 8 == 7:
        return Question(f"q{n}", "where is the man", passage, (), n + 1)
    animal = ("dog", "cat")[n % 2]
    start = passage.index("ran to " if animal == "dog" else "sat on ") + len("ran to ")
    return Question(
        f"q{n}", f"where is the {animal}", passage, (Answer(passage[start:-1].split(".")[0], start),), n + 1
    )


def write(path: Path, rows: tuple[Example, ...]) -> Path:
    """Examples as a file of their task's own format."""
    (kind,) = {type(row) for row in rows}
    if kind is LabelledWords:
        text = "\n".join("".join(f"{w}\t{t}\n" for w, t in zip(e.words, e.labels, strict=True)) for e in rows)
    elif kind is Question:
        text = json.dumps({"version": "2", "data": [{"title": f"t{e.row}", "paragraphs": [_squad(e)]} for e in rows]})
    else:
        pairs = rows[0].text_b is not None
        lines = [("text_a", *(["text_b"] if pairs else []), "label")]
        lines += [(e.text_a, *([e.text_b] if pairs else []), _cell(e.label)) for e in rows]
        text = "\n".join("\t".join(line) for line in lines) + "\n"
    path.write_text(text, encoding="utf-8")
    return path


def _cell(label: Label) -> str:
    return "|".join(label) if isinstance(label, tuple) else str(label)


def _squad(e: Question) -> dict:
    answers = [{"text": answer.text, "answer_start": answer.start} for answer in e.answers]
    asked = {"id": e.id, "question": e.question, "answers": answers, "is_impossible": not answers}
    return {"context": e.passage, "qas": [asked]}


_SUFFIX = {"classification": "tsv", "multilabel": "tsv", "regression": "tsv", "tokens": "conll", "qa": "json"}


@dataclass(frozen=True)
class Files:
    """A little model to start from, and examples of each task to train and to score on."""

    folder: Path

    @property
    def model(self) -> str:
        return str(self.folder / "little")

    def train(self, task: Task, count: int = 16) -> str:
        return self._written(f"train-{task}-{count}.{_SUFFIX[task]}", examples(task, count))

    def held(self, task: Task) -> str:
        return self._written(f"held-{task}.{_SUFFIX[task]}", examples(task, 24)[13:])

    def _written(self, name: str, rows: tuple[Example, ...]) -> str:
        path = self.folder / name
        return str(path if path.is_file() else write(path, rows))

    def config(self, task: Task = "classification", count: int = 16, **changes: object) -> FinetuneConfig:
        """Two epochs of four steps on one thread; only reports depend on the clock."""
        options: dict = {
            "task": task, "train": (self.train(task, count),), "eval": (self.held(task),), "model": self.model,
            "epochs": 2, "batch_size": 4, "max_length": 48, "max_question_length": 12, "stride": 12,
            "learning_rate": 2e-3, "precision": "fp32", "threads": 1,
        }  # fmt: skip
        return FinetuneConfig(**(options | changes))


def finish(config: FinetuneConfig, folder: Path, **options) -> list[Event]:
    return list(finetune(config, folder, **options))


def labels_of(rows: tuple[Example, ...]) -> tuple[str, ...]:
    """The label set of examples, as reading makes it."""
    if isinstance(rows[0], LabelledWords):
        return tuple(sorted({label for e in rows for label in e.labels}))
    return tuple(sorted({label for e in rows if isinstance(e, LabelledText) for label in e.classes}))


def features_of(task: Task, tokenizer: Tokenizer, count: int = 16, **options) -> Features:
    rows = examples(task, count)
    return encode_examples(rows, task, tokenizer, labels_of(rows), LIMITS, **options)


def batch_of(features: Features, tokenizer: Tokenizer, weights=None) -> TaskBatch:
    """All rows as one batch."""
    return batches_of(features, tokenizer, weights=weights).batch_at(torch.arange(len(features)).numpy())


def batches_of(features: Features, tokenizer: Tokenizer, size: int = 4, **options) -> TaskBatches:
    return TaskBatches(features, size, tokenizer.pad_id, seed=0, **options)
