"""The health of task data before training: classes, duplicates, contradictions, leakage and lengths."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from bertviz_lab.data.corpora.reading_notes import quoted
from bertviz_lab.data.examples import (
    Dropped,
    Example,
    LabelledWords,
    Question,
    RelatedTexts,
    Task,
    TaskData,
    labels_of_example,
    texts_of_example,
)
from bertviz_lab.data.formats.raw import pluralized, quoted_list
from bertviz_lab.data.tasks.split import Key, text_keys
from bertviz_lab.tokenization import Tokenizer

#: Examples that are tokenized at most, spread evenly over all.
MAX_MEASURED = 20_000
_BINS = 20
#: Classes are unbalanced where the largest is so many times the smallest, or so large a fraction of all examples.
_UNBALANCED_RATIO, _UNBALANCED_SHARE = 10, 0.8
_CONTRADICTIONS = {
    "classification": ("text occurs with more than one label", "texts occur with more than one label"),
    "multilabel": ("text occurs with different labels", "texts occur with different labels"),
    "regression": ("text occurs with more than one number", "texts occur with more than one number"),
    "tokens": ("sentence occurs with different labels", "sentences occur with different labels"),
    "embeddings": ("pair occurs with different scores", "pairs occur with different scores"),
    "qa": ("question occurs with different answers", "questions occur with different answers"),
}
_MAX_TRUNCATED, _MAX_UNKNOWN, _MAX_DUPLICATES = 0.05, 0.02, 0.05  # shares above which a note says so


@dataclass(frozen=True)
class ClassCount:
    """Examples with a label; for tokens, words."""

    label: str
    train: int
    held_out: int


@dataclass(frozen=True)
class LengthHistogram:
    """Lengths of the examples in tokens, special tokens included.

    Attributes:
        edges: of the bins, one more than `counts`; the right edge does not belong to a bin.
        counts: measured examples in each bin.
        median, longest: in tokens.
        cut: measured examples longer than `max_length`. They are truncated, or for questions their passage is split
            into windows.
        max_length: max sequence length.
        measured: examples that were measured; a sample where there are many.
    """

    edges: tuple[int, ...]
    counts: tuple[int, ...]
    median: float
    longest: int
    cut: int
    max_length: int
    measured: int


@dataclass(frozen=True)
class TaskReport:
    """What to know of the data before training.

    Attributes:
        task: of the examples.
        train_count, held_count: training and held-out examples.
        classes: in the order of the labels; none for regression. For qa: "answer" and "no answer".
        duplicates: training examples that repeat an earlier one with its label.
        contradictions: texts that occur in training with more than one label.
        overlap: held-out examples whose text occurs in training.
        lengths: of the training examples.
        dropped: rows that were left out, by reason.
        notes: from reading the files, and on what looks wrong, a sentence each.
        unknown_share: of the tokens, 0 to 1, that are `[UNK]`.
    """

    task: Task
    train_count: int
    held_count: int
    classes: tuple[ClassCount, ...]
    duplicates: int
    contradictions: int
    overlap: int
    lengths: LengthHistogram
    dropped: tuple[Dropped, ...]
    notes: tuple[str, ...]
    unknown_share: float


def examine_task(train: TaskData, held_out: Sequence[Example], tokenizer: Tokenizer, max_length: int) -> TaskReport:
    """The report on the examples of a fine-tuning.

    Args:
        train: the training examples.
        held_out: the examples to evaluate on; may be empty.
        tokenizer: the model's.
        max_length: max sequence length, special tokens included.
    """
    answers: dict[Key, set[str]] = defaultdict(set)
    duplicates = 0
    for example, key in zip(train.examples, text_keys(train.examples), strict=True):
        answer = _answer(example)
        duplicates += answer in answers[key]
        answers[key].add(answer)
    contradictions = sum(len(labels) > 1 for labels in answers.values())
    overlap = sum(key in answers for key in text_keys(held_out))
    lengths, unknown = _measure(train.examples, tokenizer, max_length)
    classes = _classes(train, held_out)
    warnings = [
        *_about_classes(train.task, classes),
        *_about_repeats(train, duplicates, contradictions, overlap, len(held_out)),
        *_about_lengths(train.task, lengths, unknown),
    ]
    return TaskReport(
        train.task,
        len(train.examples),
        len(held_out),
        classes,
        duplicates,
        contradictions,
        overlap,
        lengths,
        train.dropped,
        tuple(dict.fromkeys([*train.notes, *warnings])),
        unknown,
    )


def _answer(example: Example) -> str:
    """The label of an example as text, to tell duplicates from contradictions."""
    if isinstance(example, LabelledWords):
        return " ".join(example.labels)
    if isinstance(example, Question):
        return "\n".join(sorted({answer.text for answer in example.answers}))
    if isinstance(example, RelatedTexts):
        return str(example.score)
    return str(example.label)


def _classes(train: TaskData, held_out: Sequence[Example]) -> tuple[ClassCount, ...]:
    train_counts, held_out_counts = (
        Counter(chain.from_iterable(map(labels_of_example, part))) for part in (train.examples, held_out)
    )
    names = [*train.labels, *sorted((train_counts.keys() | held_out_counts.keys()) - set(train.labels))]
    return tuple(ClassCount(name, train_counts[name], held_out_counts[name]) for name in names)


def _measure(examples: Sequence[Example], tokenizer: Tokenizer, max_length: int) -> tuple[LengthHistogram, float]:
    sample = examples[:: max(1, -(-len(examples) // MAX_MEASURED))]
    texts = [
        pair
        for example in sample
        for pair in (
            [(t, None) for t in example.texts] if isinstance(example, RelatedTexts) else [texts_of_example(example)]
        )
    ]
    first, second = [text for text, _ in texts], [pair or "" for _, pair in texts]
    passages = list(dict.fromkeys(second))
    encoded = zip(passages, tokenizer.ids(passages), strict=True)
    measured = {passage: (len(ids), ids.count(tokenizer.unk_id)) for passage, ids in encoded}
    total = unknown = 0
    lengths = np.zeros(len(texts), np.int64)
    for n, (ids, passage) in enumerate(zip(tokenizer.ids(first), second, strict=True)):
        length, unknown_there = measured[passage]
        lengths[n] = len(ids) + 2 + (length + 1 if length else 0)
        total += len(ids) + length
        unknown += ids.count(tokenizer.unk_id) + unknown_there
    longest = int(lengths.max(initial=0))
    step = max(1, -(-(longest + 1) // _BINS))
    edges = np.arange(0, longest + step + 1, step)
    counts = np.histogram(lengths, edges)[0]
    histogram = LengthHistogram(
        edges=tuple(edges.tolist()),
        counts=tuple(counts.tolist()),
        median=float(np.median(lengths)) if len(lengths) else 0.0,
        longest=longest,
        cut=int((lengths > max_length).sum()),
        max_length=max_length,
        measured=len(texts),
    )
    return histogram, unknown / total if total else 0.0


def _about_classes(task: Task, classes: Sequence[ClassCount]) -> Iterable[str]:
    if task not in ("classification", "multilabel", "tokens"):
        return
    unit = "words" if task == "tokens" else "examples"
    untrained = [c.label for c in classes if not c.train and c.held_out]
    if untrained:
        yield f"Only held-out {unit} have the label {quoted_list(untrained)}: it cannot be learned."
    trained = [c for c in classes if c.train]
    if task == "tokens" or len(trained) < 2:
        return
    largest, smallest = max(trained, key=lambda c: c.train), min(trained, key=lambda c: c.train)
    total = sum(c.train for c in trained)
    if task == "classification" and largest.train >= min(_UNBALANCED_RATIO * smallest.train, _UNBALANCED_SHARE * total):
        yield (
            f"The classes are unbalanced: {quoted(largest.label)} has {largest.train:,} examples, "
            f"{quoted(smallest.label)} {smallest.train:,}. Always answering {quoted(largest.label)} would be right in "
            f"{largest.train / total:.0%} of all: look at F1 rather than accuracy."
        )
    unseen = [c.label for c in trained if not c.held_out]
    if unseen and any(c.held_out for c in classes):
        yield f"No held-out example has the label {quoted_list(unseen)}, so nothing is known of how well it is learned."


def _about_repeats(
    train: TaskData, duplicates: int, contradictions: int, overlap: int, held_count: int
) -> Iterable[str]:
    if duplicates > _MAX_DUPLICATES * len(train.examples):
        yield f"{duplicates:,} of {len(train.examples):,} examples repeat an earlier one."
    if contradictions:
        yield f"{pluralized(contradictions, *_CONTRADICTIONS[train.task])}: no model can be right about all of them."
    if overlap:
        yield (
            f"{overlap:,} of {held_count:,} held-out examples have a text that is trained on as well, so the scores "
            "will look better than they are."
        )


def _about_lengths(task: Task, lengths: LengthHistogram, unknown: float) -> Iterable[str]:
    if lengths.measured and lengths.cut > _MAX_TRUNCATED * lengths.measured:
        share = lengths.cut / lengths.measured
        consequence = "are read in several windows" if task == "qa" else "lose their ends"
        yield f"{share:.0%} of the examples are longer than {lengths.max_length} tokens and {consequence}."
    if unknown > _MAX_UNKNOWN:
        yield f"{unknown:.1%} of the tokens are unknown to the vocabulary ([UNK]); a model with another may do better."
