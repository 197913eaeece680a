"""What labelled examples are like before anything is trained on them: classes, repeats, lengths, what looks wrong."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from bertviz_lab.data.tasks.examples import Dropped, Example, LabelledWords, Question, Task, TaskData
from bertviz_lab.data.tasks.reading.raw_data import counted, listed
from bertviz_lab.data.tasks.split import Key, text_keys
from bertviz_lab.tokenization import Tokenizer

#: Examples that are measured with the tokenizer; of more, as many spread evenly over them.
MEASURED = 20_000
_BINS = 20
_UNBALANCED = 10  # the largest class is as many times the smallest
_MOST_OF_ALL = 0.8  # or this share of everything
_CONTRADICTIONS = {
    "classification": ("text occurs with more than one label", "texts occur with more than one label"),
    "regression": ("text occurs with more than one number", "texts occur with more than one number"),
    "tokens": ("sentence occurs with different labels", "sentences occur with different labels"),
    "qa": ("question occurs with different answers", "questions occur with different answers"),
}
_MANY_CUT, _MANY_UNKNOWN, _MANY_REPEATED = 0.05, 0.02, 0.05


@dataclass(frozen=True)
class ClassCount:
    """How many examples have a label; for tokens, how many words."""

    label: str
    train: int
    held_out: int


@dataclass(frozen=True)
class LengthHistogram:
    """How long the examples are, in tokens with the special ones.

    Attributes:
        edges: of the bars, one more than `counts`; a bar holds lengths from its left edge up to below its right one.
        counts: measured examples in each bar.
        median, longest: in tokens.
        cut: measured examples that are longer than `max_length`. Their ends are lost, or for questions their passage
            is read in several windows.
        max_length: tokens that the model reads.
        measured: examples that were measured; fewer than there are where there are many.
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
    """What a person should know before training.

    Attributes:
        task: of the examples.
        train_count, held_count: examples.
        classes: in the order of the labels; none for regression. For qa: "answer" and "no answer".
        duplicates: training examples that repeat an earlier one, label and all.
        contradictions: texts that occur in training with more than one label.
        overlap: held-out examples whose text is trained on as well.
        lengths: of the examples to train on.
        dropped: rows that were left out, by reason.
        notes: from the reading, and what looks wrong here, a sentence each.
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
    """Count, compare and measure.

    Args:
        train: the examples to train on, as they were read or with a part of them split off.
        held_out: those to evaluate on; may be none.
        tokenizer: the one that will be used.
        max_length: tokens that the model reads of an example, special ones included.
    """
    answers: dict[Key, set[str]] = defaultdict(set)
    duplicates = 0
    for example, key in zip(train.examples, text_keys(train.examples), strict=True):
        answer = _answer(example)
        duplicates += answer in answers[key]
        answers[key].add(answer)
    contradictions = sum(len(several) > 1 for several in answers.values())
    overlap = sum(key in answers for key in text_keys(held_out))
    lengths, unknown = _measure(train.examples, tokenizer, max_length)
    classes = _classes(train, held_out)
    found = [
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
        tuple(dict.fromkeys([*train.notes, *found])),
        unknown,
    )


def _answer(example: Example) -> str:
    """What is to be learnt of an example, to tell repeats from contradictions."""
    if isinstance(example, LabelledWords):
        return " ".join(example.labels)
    if isinstance(example, Question):
        return "\n".join(sorted({answer.text for answer in example.answers}))
    return str(example.label)


def _labels(examples: Iterable[Example]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for example in examples:
        if isinstance(example, LabelledWords):
            counts.update(example.labels)
        elif isinstance(example, Question):
            counts["answer" if example.answers else "no answer"] += 1
        elif isinstance(example.label, str):
            counts[example.label] += 1
    return counts


def _classes(train: TaskData, held_out: Sequence[Example]) -> tuple[ClassCount, ...]:
    counts, held = _labels(train.examples), _labels(held_out)
    names = [*train.labels, *sorted((counts.keys() | held.keys()) - set(train.labels))]
    return tuple(ClassCount(name, counts[name], held[name]) for name in names)


def _measure(examples: Sequence[Example], tokenizer: Tokenizer, max_length: int) -> tuple[LengthHistogram, float]:
    some = examples[:: max(1, -(-len(examples) // MEASURED))]
    first, second = [], []
    for example in some:
        if isinstance(example, LabelledWords):
            first.append(" ".join(example.words))
            second.append("")
        elif isinstance(example, Question):
            first.append(example.question)
            second.append(example.passage)
        else:
            first.append(example.text_a)
            second.append(example.text_b or "")
    passages = list(dict.fromkeys(second))  # that of a question is often that of the next
    encoded = zip(passages, tokenizer.ids(passages), strict=True)
    measured = {passage: (len(ids), ids.count(tokenizer.unk_id)) for passage, ids in encoded}
    total = unknown = 0
    lengths = np.zeros(len(some), np.int64)
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
        measured=len(some),
    )
    return histogram, unknown / total if total else 0.0


def _about_classes(task: Task, classes: Sequence[ClassCount]) -> Iterable[str]:
    if task not in ("classification", "tokens"):
        return
    what = "words" if task == "tokens" else "examples"
    untrained = [c.label for c in classes if not c.train and c.held_out]
    if untrained:
        yield f"Only held-out {what} have the label {listed(untrained)}: it cannot be learnt."
    trained = [c for c in classes if c.train]
    if task == "tokens" or len(trained) < 2:
        return
    largest, smallest = max(trained, key=lambda c: c.train), min(trained, key=lambda c: c.train)
    total = sum(c.train for c in trained)
    if largest.train >= min(_UNBALANCED * smallest.train, _MOST_OF_ALL * total):
        yield (
            f"The classes are unbalanced: {listed([largest.label])} has {largest.train:,} examples, "
            f"{listed([smallest.label])} {smallest.train:,}. Always answering {listed([largest.label])} would be right "
            f"in {largest.train / total:.0%} of all: look at F1 rather than accuracy."
        )
    unseen = [c.label for c in trained if not c.held_out]
    if unseen and any(c.held_out for c in classes):
        yield f"No held-out example has the label {listed(unseen)}, so nothing is known of how well it is learnt."


def _about_repeats(
    train: TaskData, duplicates: int, contradictions: int, overlap: int, held_count: int
) -> Iterable[str]:
    if duplicates > _MANY_REPEATED * len(train.examples):
        yield f"{duplicates:,} of {len(train.examples):,} examples repeat an earlier one."
    if contradictions:
        yield f"{counted(contradictions, *_CONTRADICTIONS[train.task])}: no model can be right about all of them."
    if overlap:
        yield (
            f"{overlap:,} of {held_count:,} held-out examples have a text that is trained on as well, so the scores "
            "will look better than they are."
        )


def _about_lengths(task: Task, lengths: LengthHistogram, unknown: float) -> Iterable[str]:
    if lengths.measured and lengths.cut > _MANY_CUT * lengths.measured:
        share = lengths.cut / lengths.measured
        how = "are read in several windows" if task == "qa" else "lose their ends"
        yield f"{share:.0%} of the examples are longer than {lengths.max_length} tokens and {how}."
    if unknown > _MANY_UNKNOWN:
        yield f"{unknown:.1%} of the tokens are unknown to the vocabulary ([UNK]); a model with another may do better."
