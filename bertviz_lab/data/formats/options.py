"""How task data is to be read; whatever is not given is inferred from the files."""

import codecs
from dataclasses import dataclass

from bertviz_lab.data.corpora.reading_notes import quoted
from bertviz_lab.data.corpora.sources import MAX_BYTES
from bertviz_lab.data.examples import TASKS
from bertviz_lab.errors import InputError

#: Examples read from one file at most, so that no file fills the memory.
MAX_EXAMPLES = 1_000_000
#: As `text_b`: there is no second text.
NO_TEXT = "none"
_DELIMITERS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "blank": " ", "space": " "}
_CHOICES = ("auto", "yes", "no")


@dataclass(frozen=True)
class ReadOptions:
    """Options of `read_task`; "" and "auto" are inferred.

    Attributes:
        task: one of `TASKS`, or "auto": labels with decimals are regression targets, a few distinct values are classes,
            lists of them several labels.
        text_a: the column with the text (or the words), by its name or its number from 1.
        text_b: the column with the second text of a pair; "none" for single texts.
        label: the column with the label; for CoNLL-U also "xpos", "deprel" ...
        delimiter: between cells: a character, or "tab", "comma" ...
        quoting: "yes" or "no": whether quotation marks enclose cells.
        header: "yes" or "no": whether the first row names the columns.
        encoding: of the text, as Python names it.
        max_bytes: unpacked size allowed over all files.
        max_examples: examples allowed in a file.

    Raises:
        InputError: an option has a value that it cannot have.
    """

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
        for option, value in (("header", self.header), ("quoting", self.quoting)):
            if value not in _CHOICES:
                raise InputError(f"The {option} can be {', '.join(_CHOICES)}, not {quoted(value)}.")
        delimiter = _DELIMITERS.get(self.delimiter.lower(), self.delimiter)
        if len(delimiter) > 1 or delimiter in ("\n", "\r", '"'):
            raise InputError(f"The delimiter is one character (or tab, comma, semicolon), not {quoted(delimiter)}.")
        object.__setattr__(self, "delimiter", delimiter)
        if self.encoding:
            try:
                codecs.lookup(self.encoding)
                "".encode(self.encoding)  # refuses codecs that do not encode text
                rb"\ud800+2AA-".decode(self.encoding, "replace").encode()  # and those that decode to no text
            except (LookupError, ValueError):
                raise InputError(
                    f"There is no encoding {quoted(self.encoding)}; give one such as utf-8 or cp1252, or none."
                ) from None
        if self.max_examples < 1:
            raise InputError("At least one example has to be read; give a larger limit, or none.")

    @property
    def given(self) -> tuple[str, ...]:
        """The options that were given, not inferred."""
        return tuple(name for name, value in vars(self).items() if isinstance(value, str) and value not in ("", "auto"))

    def check_count(self, count: int, file_name: str) -> None:
        """Raises `InputError` where a file has more than `max_examples`."""
        if count > self.max_examples:
            raise InputError(
                f"{quoted(file_name)} holds more than {self.max_examples:,} examples; take a part of it, or allow more."
            )
