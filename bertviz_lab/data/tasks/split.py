"""Training and held-out examples: the same split every time and whatever the order of the rows.

Which examples are held out depends on a checksum of their text and the seed, so a row that is added or moved changes
little. Examples with the same text stay on one side: otherwise the held-out score would measure memorisation.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import cache
from hashlib import blake2b
from typing import cast

from bertviz_lab.data.examples import Example, LabelledText, LabelledWords, Question, TaskData, class_counts
from bertviz_lab.errors import InputError

#: Regression is stratified by quantiles of its targets.
_QUANTILES = 10
Key = tuple[str, ...]
_Group = list[int]  # positions of examples that stay on one side


def text_keys(examples: Iterable[Example]) -> list[Key]:
    """For each example what makes it equal to another as an input: its texts, in lower case with single spaces."""

    @cache  # a passage is that of many questions
    def normalize(text: str) -> str:
        return " ".join(text.lower().split())

    texts = (e.words if isinstance(e, LabelledWords) else filter(None, e.inputs) for e in examples)
    return [tuple(map(normalize, each)) for each in texts]


def split_examples(
    data: TaskData, share: float = 0.1, seed: int = 0
) -> tuple[tuple[Example, ...], tuple[Example, ...]]:
    """Return the training and the held-out examples, each in the order of the data.

    Classification is stratified by label, with several labels by the rarest, regression by quantile. Questions are
    split by article where there are enough of them, else by passage: a passage is never on both sides. Groups that
    stay together make the share to hold out a little more or less.

    Raises `InputError` where the share leaves nothing on one side, or all questions are about one passage.
    """
    if not 0 < share < 1:
        raise InputError(f"The share to hold out is between 0 and 1, not {share:g}.")
    hold_out = _hold_out_passages if data.task == "qa" else _hold_out_texts
    held_out = hold_out(data, share, seed)
    if not held_out or len(held_out) == len(data.examples):
        raise InputError(
            f"{len(data.examples):,} examples are too few to hold {share:.0%} of them out; "
            "give more, or a file with held-out examples."
        )
    train = tuple(example for n, example in enumerate(data.examples) if n not in held_out)
    return train, tuple(example for n, example in enumerate(data.examples) if n in held_out)


def _hold_out_texts(data: TaskData, share: float, seed: int) -> set[int]:
    groups = _groups(text_keys(data.examples), seed)
    held_out: set[int] = set()
    examples_so_far = 0
    for stratum in _strata(data, groups):
        # Rounding errors do not add up, since the share is of all strata so far. One group of each is trained on.
        examples_so_far += sum(map(len, stratum))
        for group in stratum[:-1]:
            if len(held_out) + len(group) / 2 > share * examples_so_far:
                break
            held_out.update(group)
    if not held_out and len(groups) > 1:
        smallest = min(groups, key=len)
        held_out.update(smallest)
    return held_out


def _strata(data: TaskData, groups: list[_Group]) -> Iterable[list[_Group]]:
    """Return groups from each of which the same share is held out, in the order of their checksums."""
    if data.task in ("tokens", "embeddings"):
        return [groups]
    if data.task in ("classification", "multilabel"):
        frequencies = class_counts(data.examples)
        rarest = [min(e.classes, key=lambda label: (frequencies[label], label), default="") for e in data.examples]
        by_label: dict[str, list[_Group]] = defaultdict(list)
        for group in groups:
            counts = Counter(rarest[n] for n in group)
            by_label[min(counts, key=lambda label: (-counts[label], label))].append(group)
        return [by_label[label] for label in sorted(by_label)]
    size = max(2, -(-len(groups) // _QUANTILES))
    numbers = [float(cast(float, cast(LabelledText, example).label)) for example in data.examples]
    ranked = sorted(range(len(groups)), key=lambda g: (numbers[groups[g][0]], g))
    return [[groups[g] for g in sorted(ranked[n : n + size])] for n in range(0, len(ranked), size)]


def _hold_out_passages(data: TaskData, share: float, seed: int) -> set[int]:
    target = share * len(data.examples)
    questions = [cast(Question, example) for example in data.examples]
    # A passage without a title is an article of its own.
    for keys in ([(q.title or q.passage,) for q in questions], [(q.passage,) for q in questions]):
        groups = _groups(keys, seed)
        held_out: set[int] = set()
        for group in groups:
            if abs(len(held_out) + len(group) - target) < abs(len(held_out) - target):
                held_out.update(group)
        if len(groups) > 1 and target / 2 <= len(held_out) <= 2 * target:
            return held_out
    if len(groups) < 2:
        raise InputError(
            "All questions are about one passage, and a passage is not split; give a file with held-out questions."
        )
    smallest = min(groups, key=len)
    return held_out or set(smallest)


def _groups(keys: Iterable[Key], seed: int) -> list[_Group]:
    """Return the positions of examples with the same key, in the order of the keys' checksums."""
    groups: dict[Key, _Group] = {}
    for position, key in enumerate(keys):
        groups.setdefault(key, []).append(position)
    salt = str(seed).encode()[:16]

    def checksum(key: Key) -> bytes:
        return blake2b("\x1f".join(key).encode("utf-8", "replace"), digest_size=8, salt=salt).digest()

    return [groups[key] for key in sorted(groups, key=checksum)]
