"""A part of the examples held out, the same one every time and whatever the order of the rows.

Which examples are held out follows from a checksum of their text and the seed, so a row added to the file or moved in
it changes little. Examples with the same text stay on one side, since a model would be asked what it was told.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from hashlib import blake2b

from bertviz_lab.data.tasks.examples import Example, LabelledText, LabelledWords, Question, TaskData
from bertviz_lab.errors import InputError

#: Ranges of equal counts that the numbers of a regression are held out from alike.
_QUANTILES = 10
Key = tuple[str, ...]
_Group = list[int]  # positions of examples that stay together


def text_keys(examples: Iterable[Example]) -> list[Key]:
    """For each example what makes it equal to another as an input: its texts, in lower case with single spaces."""
    normalised: dict[str, str] = {}  # a passage is that of many questions

    def normalise(text: str) -> str:
        if text not in normalised:
            normalised[text] = " ".join(text.lower().split())
        return normalised[text]

    return [tuple(map(normalise, _texts(example))) for example in examples]


def _texts(example: Example) -> tuple[str, ...]:
    if isinstance(example, LabelledWords):
        return example.words
    if isinstance(example, Question):
        return example.question, example.passage
    return (example.text_a,) if example.text_b is None else (example.text_a, example.text_b)


def split_held_out(
    data: TaskData, share: float = 0.1, seed: int = 0
) -> tuple[tuple[Example, ...], tuple[Example, ...]]:
    """The examples to train on and those held out, each in the order of the data.

    Classification keeps the shares of the labels, regression those of ranges of its numbers. Questions are split by
    article where there are enough of them, else by passage: a passage is never on both sides.

    Args:
        data: the examples.
        share: of them to hold out, between 0 and 1. Groups that stay together make it a little more or less.
        seed: another one holds out others.

    Raises:
        InputError: the share leaves nothing on one side, or all questions are about one passage.
    """
    if not 0 < share < 1:
        raise InputError(f"The share to hold out is between 0 and 1, not {share:g}.")
    hold_out = _hold_out_passages if data.task == "qa" else _hold_out_texts
    held = hold_out(data, share, seed)
    if not held or len(held) == len(data.examples):
        raise InputError(
            f"{len(data.examples):,} examples are too few to hold {share:.0%} of them out; "
            "give more, or a file with held-out examples."
        )
    train = tuple(example for n, example in enumerate(data.examples) if n not in held)
    return train, tuple(example for n, example in enumerate(data.examples) if n in held)


def _hold_out_texts(data: TaskData, share: float, seed: int) -> set[int]:
    groups = _groups(text_keys(data.examples), seed)
    held: set[int] = set()
    seen = taken = 0
    for stratum in _strata(data, groups):
        # What one stratum rounds away the next makes up for, so that the whole comes out right. One group stays.
        seen += sum(map(len, stratum))
        for group in stratum[:-1]:
            if taken + len(group) / 2 > share * seen:
                break
            held.update(group)
            taken += len(group)
    if not held and len(groups) > 1:
        held.update(_smallest(groups))
    return held


def _strata(data: TaskData, groups: list[_Group]) -> Iterable[list[_Group]]:
    """Groups that are held out from alike, each list in the order of the checksums."""
    if data.task == "tokens":
        return [groups]
    labels = [example.label for example in data.examples if isinstance(example, LabelledText)]
    if data.task == "classification":
        by_label: dict[str, list[_Group]] = defaultdict(list)
        for group in groups:
            most = Counter(str(labels[n]) for n in group)
            by_label[min(most, key=lambda label: (-most[label], label))].append(group)
        return [by_label[label] for label in sorted(by_label)]
    size = max(2, -(-len(groups) // _QUANTILES))
    ranked = sorted(range(len(groups)), key=lambda g: (float(labels[groups[g][0]]), g))
    return [[groups[g] for g in sorted(ranked[n : n + size])] for n in range(0, len(ranked), size)]


def _hold_out_passages(data: TaskData, share: float, seed: int) -> set[int]:
    examples = data.examples
    wanted = share * len(examples)

    def passage(example: Example) -> Key:
        return (example.passage,) if isinstance(example, Question) else ()

    def title(example: Example) -> Key:
        # A passage without a title stands for itself.
        return (example.title,) if isinstance(example, Question) and example.title else passage(example)

    for key in (title, passage):
        groups = _groups(map(key, examples), seed)
        held: set[int] = set()
        for group in groups:  # each one that brings the share nearer
            if abs(len(held) + len(group) - wanted) < abs(len(held) - wanted):
                held.update(group)
        if len(groups) > 1 and wanted / 2 <= len(held) <= 2 * wanted:
            return held
    if len(groups) < 2:
        raise InputError(
            "All questions are about one passage, and a passage is not split; give a file with held-out questions."
        )
    return held or set(_smallest(groups))


def _smallest(groups: list[_Group]) -> _Group:
    return min(groups, key=lambda group: len(group))


def _groups(keys: Iterable[Key], seed: int) -> list[_Group]:
    """The positions of examples with the same key, in the order of the keys' checksums."""
    groups: dict[Key, _Group] = {}
    for position, key in enumerate(keys):
        groups.setdefault(key, []).append(position)
    salt = str(seed).encode()[:16]

    def checksum(key: Key) -> bytes:
        return blake2b("\x1f".join(key).encode("utf-8", "replace"), digest_size=8, salt=salt).digest()

    return [groups[key] for key in sorted(groups, key=checksum)]
