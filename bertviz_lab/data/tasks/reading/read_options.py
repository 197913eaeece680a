"""What a person asks of a reading of labelled files; whatever is not asked for is recognised."""

import codecs
from dataclasses import dataclass

from bertviz_lab.data.corpora.file_names import quoted
from bertviz_lab.data.corpora.sources import MAX_BYTES
from bertviz_lab.data.tasks.examples import TASKS
from bertviz_lab.errors import InputError

#: Examples that are read at most, so that no file fills the memory.
MAX_EXAMPLES = 1_000_000
#: Given as the second text, it says that there is none.
NO_TEXT = "none"
_DELIMITERS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "blank": " ", "space": " "}
_CHOICES = ("auto", "yes", "no")


@dataclass(frozen=True)
class Wishes:
    """The arguments of `read_task`, checked; see there."""

    task: str = "auto"
    text_a: str = ""
    text_b: str = ""
    label: str = ""
    delimiter: str = ""
    quoting: str = "auto"
    header: str = "auto"
    encoding: str = ""
    max_bytes: float = MAX_BYTES
    max_examples: int = MAX_EXAMPLES

    def __post_init__(self) -> None:
        if self.task not in ("auto", *TASKS):
            raise InputError(f"There is no task {quoted(self.task)}; choose auto, {', '.join(TASKS)}.")
        for what, value in (("header", self.header), ("quoting", self.quoting)):
            if value not in _CHOICES:
                raise InputError(f"The {what} can be {', '.join(_CHOICES)}, not {quoted(value)}.")
        delimiter = _DELIMITERS.get(self.delimiter.lower(), self.delimiter)
        if len(delimiter) > 1 or delimiter in ("\n", "\r", '"'):
            raise InputError(f"The delimiter is one character (or tab, comma, semicolon), not {quoted(delimiter)}.")
        object.__setattr__(self, "delimiter", delimiter)
        if self.encoding:
            try:
                codecs.lookup(self.encoding)
                "".encode(self.encoding)  # what is no encoding of text is refused here
            except (LookupError, ValueError):
                raise InputError(
                    f"There is no encoding {quoted(self.encoding)}; give one such as utf-8 or cp1252, or none."
                ) from None
        if self.max_examples < 1:
            raise InputError("At least one example has to be read; give a larger limit, or none.")
