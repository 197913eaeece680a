"""A document: a name and its sentences, in reading order.

Next-sentence prediction lives on documents: two sentences follow each other only inside one of them.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Document:
    """A text that hangs together.

    Attributes:
        name: where it comes from (a file name, with a number where a file holds several), for people to read.
        sentences: its sentences in reading order, each on one line and none of them empty.
        continues: True where this goes on the document before it. A very long document comes in parts so that
            it is never held as a whole; counts and sentence pairs run across the parts.
    """

    name: str
    sentences: tuple[str, ...]
    continues: bool = False
