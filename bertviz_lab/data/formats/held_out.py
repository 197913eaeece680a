"""What examples to score on must have in common with the training examples, or with the labels of a model."""

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import chain

from bertviz_lab.data.examples import Example, LabelledText, Task, TaskData, labels_of_example
from bertviz_lab.data.formats.raw import pluralized, quoted_list
from bertviz_lab.errors import InputError


def check_held_out(train: TaskData, held_out: TaskData) -> tuple[str, ...]:
    """What is odd about these held-out examples for that training data, as sentences.

    Raises:
        InputError: the tasks differ, only one has pairs of texts, or most held-out labels do not occur in training.
    """
    if train.task != held_out.task:
        raise InputError(
            f"The examples to train on are for {train.task}, those held out for {held_out.task}; give two of one task."
        )
    pairs = [{example.text_b is not None for example in _texts(data)} for data in (train, held_out)]
    if all(pairs) and pairs[0] != pairs[1]:
        raise InputError(
            "Of the examples to train on and those held out, one has pairs of texts and the other has single texts; "
            "name the columns of both."
        )
    known = label_set(train.examples)
    unknown, times, are_most = _unknown_labels(train.task, held_out.examples, known)
    if not unknown:
        return ()
    if are_most:
        raise InputError(
            f"Most held-out examples have labels that none to train on has ({quoted_list(unknown)}, where training has "
            f"{quoted_list(sorted(known))}); write the labels alike in both files."
        )
    return (f"Only the held-out examples have {_described(unknown, times)}: it cannot be learned.",)


def check_known(task: Task, examples: Sequence[Example], labels: Sequence[str]) -> tuple[str, ...]:
    """What is odd about these examples for a model with those labels, as sentences.

    Raises:
        InputError: most of their labels are none of the model's.
    """
    unknown, times, are_most = _unknown_labels(task, examples, labels)
    if not unknown:
        return ()
    if are_most:
        raise InputError(
            f"Most examples have labels that the model does not know ({quoted_list(unknown)}, where the model has "
            f"{quoted_list(labels)}); write the labels as the model has them, or name another column."
        )
    return (f"The model cannot predict {_described(unknown, times)}: every such example counts as an error.",)


def _described(labels: Sequence[str], times: int) -> str:
    noun = "the label" if len(labels) == 1 else "the labels"
    return f"{noun} {quoted_list(labels)} ({pluralized(times, 'time', 'times')})"


def label_set(examples: Sequence[Example]) -> set[str]:
    """The classes that occur in examples."""
    return set(chain.from_iterable(map(labels_of_example, examples)))


def _texts(data: TaskData) -> list[LabelledText]:
    return [example for example in data.examples if isinstance(example, LabelledText)]


def _unknown_labels(task: Task, examples: Sequence[Example], known: Collection[str]) -> tuple[list[str], int, bool]:
    """The labels that are not known, how often they occur, and whether most labels are such."""
    if task not in ("classification", "multilabel", "tokens"):
        return [], 0, False
    counts = Counter(chain.from_iterable(map(labels_of_example, examples)))
    unknown = sorted(label for label in counts if label not in known)
    times = sum(counts[label] for label in unknown)
    return unknown, times, 2 * times > counts.total()
