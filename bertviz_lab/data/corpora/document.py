"""A document: a name and its sentences, in reading order.

Next-sentence prediction depends on documents: adjacent sentences are pairs only within one of them.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Document:
    """A coherent text.

    Attributes:
        name: its source (a file name, with a number where a file holds several), for display.
        sentences: its sentences in reading order, each on one line and not empty.
        continues: True for a continuation of the previous document. A very long document is split into parts to
            limit memory; counts and sentence pairs continue across the parts.
    """

    name: str
    sentences: tuple[str, ...]
    continues: bool = False
