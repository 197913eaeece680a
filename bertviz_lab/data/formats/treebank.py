"""Trees of the Stanford Sentiment Treebank (Socher et al. 2013), a sentence each: `(3 (2 A) (3 (4 fine) (2 film)))`."""

import re
from collections.abc import Sequence

from bertviz_lab.data.examples import FileInfo
from bertviz_lab.data.formats.raw import DropReport, RawTable, ReadOptions, TextFile

_TREE = re.compile(r"\s*\((\d+) \S.*\)\s*")
_WORD = re.compile(r"\(\d+ ([^()\s]+)\)")
#: How trees spell what would be taken for a bracket of their own.
_BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}


def are_trees(lines: Sequence[str]) -> bool:
    """Return whether nearly every line is a tree of numbered phrases."""
    trees = [line for line in lines if _TREE.fullmatch(line) and line.count("(") == line.count(")")]
    return len(trees) > 0.9 * len(lines) > 0


def read_trees(file: TextFile, options: ReadOptions, report: DropReport) -> RawTable:
    """Return the sentence of each tree with the label of its root."""
    rows: list[list[str]] = []
    numbers: list[int] = []
    with file.lines("\n", report) as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                root = _TREE.fullmatch(line)
                words = (_BRACKETS.get(word, word) for word in _WORD.findall(line))
                rows.append([root[1] if root else "", " ".join(words)])
                numbers.append(number)
                options.check_count(len(rows), file.name)
    report.note("Of each tree the sentence was read, with the label of its root; its phrases were not.")
    return RawTable(FileInfo(file.name, "trees", file.encoding), "line", rows, numbers, 2, names=["label", "text"])
