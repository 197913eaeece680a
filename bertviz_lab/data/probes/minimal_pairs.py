"""A minimal pair: two sentences that differ in one place, of which one is acceptable."""

from dataclasses import dataclass


@dataclass(frozen=True)
class MinimalPair:
    """Two texts that differ in one place only.

    Attributes:
        kind: what the difference tests, a key of `KINDS`.
        context: sentences said before both, in the same story; empty where the sentence speaks for itself.
        good: the sentence that stands in the story after the context.
        bad: the sentence that can not stand there.
        position: index in `words(good)` of the word that differs; the first of two that change places; None where
            the whole sentence differs.
    """

    kind: str
    context: str
    good: str
    bad: str
    position: int | None
