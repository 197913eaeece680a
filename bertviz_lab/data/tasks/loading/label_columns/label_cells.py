"""What the cells of a label column say: a class, any number of classes, or a number."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Self

from bertviz_lab.data.tasks.examples import Label, Task
from bertviz_lab.data.tasks.loading.label_columns.labels import (
    class_names,
    is_missing,
    known_names,
    number_of,
)
from bertviz_lab.data.tasks.loading.label_columns.multi_label import label_separator, named_labels, split_labels


@dataclass(frozen=True)
class LabelCells:
    """How the cells of a label column are read.

    Attributes:
        task: classification, multi-label classification or regression.
        classes: the class that each cell names, for multi-label classification each part of one.
        separator: between the parts of a cell.
    """

    task: Task
    classes: Mapping[str, str] = field(default_factory=dict)
    separator: str = ""

    @classmethod
    def of_classes(cls, counts: Mapping[str, int], known: Sequence[str] = ()) -> Self:
        """For cells with these counts, each a class: one of those that are `known`, where some are."""
        return cls("classification", known_names(counts, known) if known else class_names(counts))

    @classmethod
    def of_label_sets(cls, counts: Counter[str], names: Iterable[str]) -> Self:
        """For cells with these counts, each with any number of classes; `names` are those of classes 0, 1 ..."""
        separator = label_separator(counts)
        classes = class_names(chain.from_iterable(split_labels(cell, separator) for cell in counts))
        named = named_labels(set(classes.values()), tuple(names))
        return cls("multilabel", {part: named[name] for part, name in classes.items()}, separator)

    def with_cells(self, cells: Iterable[str]) -> Self:
        """For these cells too, which decide nothing: they name the same classes, or classes that nobody knows."""
        if self.task == "regression":
            return self
        several = self.task == "multilabel"
        parts = chain.from_iterable(split_labels(cell, self.separator) for cell in cells) if several else cells
        return replace(self, classes={**known_names(parts, set(self.classes.values())), **self.classes})

    def label(self, cell: str) -> Label | None:
        """What a cell says; None where it is no number, and a number is needed."""
        if self.task == "regression":
            return number_of(cell)
        if self.task == "multilabel":
            labels = (self.classes[part] for part in split_labels(cell, self.separator))
            return tuple(sorted(set(labels)))
        return self.classes.get(cell) or cell.strip()

    def is_missing(self, cell: str) -> bool:
        """Whether a cell lacks its label; one of several labels may hold none."""
        return self.task != "multilabel" and is_missing(cell)

    def is_known(self, cell: str) -> bool:
        """Whether a cell holds a label, as that of a row of the usual width does."""
        if is_missing(cell):
            return False
        if self.task == "multilabel":
            return all(part in self.classes for part in split_labels(cell, self.separator))
        return number_of(cell) is not None if self.task == "regression" else cell in self.classes
