"""The health of task data before training: classes, duplicates, contradictions, leakage and lengths."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bertviz_lab.data.corpora.reading_notes import pluralized, quoted, quoted_list
from bertviz_lab.data.examples import (
    Dropped,
    Example,
    LabelledWords,
    Question,
    RelatedTexts,
    Task,
    TaskData,
    class_counts,
)
from bertviz_lab.data.tasks.split import Key, text_keys
from bertviz_lab.tokenization import Tokenizer

#: Classes are unbalanced where the largest is so many times the smallest, or so large a fraction of all examples.
_UNBALANCED_RATIO, _UNBALANCED_SHARE = 10, 0.8
_CONTRADICTIONS = {
    "classification": ("text", "more than one label"),
    "multilabel": ("text", "different labels"),
    "regression": ("text", "more than one number"),
    "tokens": ("sentence", "different labels"),
    "embeddings": ("pair", "different scores"),
    "qa": ("question", "different answers"),
}


@dataclass(frozen=True)
class ClassCount:
    """Examples with a label; for tokens, words."""

    label: str
    train: int
    held_out: int


@dataclass(frozen=True)
class LengthHistogram:
    """Lengths of the examples in tokens, special tokens included."""

    edges: tuple[int, ...]  # of the bins, one more than `counts`; the right edge does not belong to a bin
    counts: tuple[int, ...]  # measured examples in each bin
    median: float  # in tokens, as the longest
    longest: int
    # measured examples longer than `max_length`. They are truncated, or for questions their passage is split into
    # windows.
    cut: int
    max_length: int  # max sequence length
    measured: int  # examples that were measured; a sample where there are many


@dataclass(frozen=True)
class TaskReport:
    """What to know of the data before training."""

    task: Task  # of the examples
    train_count: int
    held_count: int  # held-out examples
    # in the order of the labels; none for regression. For qa: "answer" and "no answer".
    classes: tuple[ClassCount, ...]
    counted: str  # what has the classes, in the plural: "examples", or for tokens "words"
    train_counted: int  # how many of these there are to train on
    held_counted: int  # and how many are held out
    duplicates: int  # training examples that repeat an earlier one with its label
    contradictions: int  # texts that occur in training with more than one label
    overlap: int  # held-out examples whose text occurs in training
    lengths: LengthHistogram  # of the training examples
    dropped: tuple[Dropped, ...]  # rows that were left out, by reason
    notes: tuple[str, ...]  # from reading the files, and on what looks wrong, a sentence each
    unknown_share: float  # of the tokens, 0 to 1, that are `[UNK]`


def examine_task(train: TaskData, held_out: Sequence[Example], tokenizer: Tokenizer, max_length: int) -> TaskReport:
    """Return the report on the training examples of a fine-tuning, and the held-out ones, of which there may be none.

    `max_length` is the max sequence length, special tokens included.
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
    counts = [class_counts(part) for part in (train.examples, held_out)]
    names = [*train.labels, *sorted((counts[0].keys() | counts[1].keys()) - set(train.labels))]
    classes = tuple(ClassCount(name, counts[0][name], counts[1][name]) for name in names)
    of_words = train.task == "tokens"
    report = TaskReport(
        task=train.task,
        train_count=len(train.examples),
        held_count=len(held_out),
        classes=classes,
        counted="words" if of_words else "examples",
        train_counted=counts[0].total() if of_words else len(train.examples),
        held_counted=counts[1].total() if of_words else len(held_out),
        duplicates=duplicates,
        contradictions=contradictions,
        overlap=overlap,
        lengths=lengths,
        dropped=train.dropped,
        notes=train.notes,
        unknown_share=unknown,
    )
    notes = [*train.notes, *_about_classes(report), *_about_texts(report)]
    return replace(report, notes=tuple(dict.fromkeys(notes)))


def _answer(example: Example) -> str:
    """Return the label of an example as text, to tell duplicates from contradictions."""
    if isinstance(example, LabelledWords):
        return " ".join(example.labels)
    if isinstance(example, Question):
        return "\n".join(sorted({answer.text for answer in example.answers}))
    if isinstance(example, RelatedTexts):
        return str(example.score)
    return str(example.label)


def _measure(examples: Sequence[Example], tokenizer: Tokenizer, max_length: int) -> tuple[LengthHistogram, float]:
    sample = examples[:: max(1, -(-len(examples) // 20_000))]
    texts: list[tuple[str, str | None]] = []
    for example in sample:
        if isinstance(example, RelatedTexts):
            texts += [(text, None) for text in example.texts]
        else:
            texts.append(example.inputs)
    distinct = list(dict.fromkeys(text or "" for pair in texts for text in pair))
    encoded = zip(distinct, tokenizer.ids(distinct), strict=True)
    measured = {text: (len(ids), ids.count(tokenizer.unk_id)) for text, ids in encoded}
    rows = [(*measured[text], *measured[second or ""]) for text, second in texts]
    ours, unknown, theirs, more_unknown = np.array(rows, np.int64).reshape(-1, 4).T
    lengths = ours + 2 + np.where(theirs > 0, theirs + 1, 0)
    total = int((ours + theirs).sum())
    longest = int(lengths.max(initial=0))
    step = max(1, -(-(longest + 1) // 20))
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
    return histogram, float((unknown + more_unknown).sum()) / total if total else 0.0


def is_unbalanced(counts: Sequence[int]) -> bool:
    """Return whether a model that always answers with the largest class has an accuracy that looks good."""
    seen = [count for count in counts if count]
    return len(seen) > 1 and max(seen) >= min(_UNBALANCED_RATIO * min(seen), _UNBALANCED_SHARE * sum(seen))


def _about_classes(report: TaskReport) -> Iterable[str]:
    task, classes = report.task, report.classes
    if task not in ("classification", "multilabel", "tokens"):
        return
    untrained = [c.label for c in classes if not c.train and c.held_out]
    if untrained:
        yield f"Only held-out {report.counted} have the label {quoted_list(untrained)}: it cannot be learned."
    trained = [c for c in classes if c.train]
    if task == "tokens" or len(trained) < 2:
        return
    largest, smallest = max(trained, key=lambda c: c.train), min(trained, key=lambda c: c.train)
    total = sum(c.train for c in trained)
    if task == "classification" and is_unbalanced([c.train for c in trained]):
        yield (
            f"The classes are unbalanced: {quoted(largest.label)} has {largest.train:,} examples, "
            f"{quoted(smallest.label)} {smallest.train:,}. Always answering {quoted(largest.label)} would be right in "
            f"{largest.train / total:.1%} of all: macro F1 says more than accuracy, and selects the model by default."
        )
    unseen = [c.label for c in trained if not c.held_out]
    if unseen and any(c.held_out for c in classes):
        yield f"No held-out example has the label {quoted_list(unseen)}, so nothing is known of how well it is learned."


def _about_texts(report: TaskReport) -> Iterable[str]:
    if report.duplicates > 0.05 * report.train_count:
        yield f"{report.duplicates:,} of {report.train_count:,} examples repeat an earlier one."
    if report.contradictions:
        noun, labels = _CONTRADICTIONS[report.task]
        occur = pluralized(report.contradictions, f"{noun}<s> <occurs|occur> with {labels}")
        yield f"{occur}: no model can be right about all of them."
    if report.overlap:
        of_held_out = f"{report.overlap:,} of {report.held_count:,} held-out examples"
        yield f"{of_held_out} have a text that is trained on as well, so the scores will look better than they are."
    lengths, share = report.lengths, report.lengths.cut / max(1, report.lengths.measured)
    if share > 0.05:
        consequence = "are read in several windows" if report.task == "qa" else "lose their ends"
        yield f"{share:.0%} of the examples are longer than {lengths.max_length} tokens and {consequence}."
    if report.unknown_share > 0.02:
        yield (
            f"{report.unknown_share:.1%} of the tokens are unknown to the vocabulary ([UNK]); a model with another may "
            "do better."
        )
