"""The text that a person trains on: a sample that comes with the lab, or files of their own."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bertviz_lab.data.samples import SAMPLES
from bertviz_lab.errors import InputError
from bertviz_lab.ui.state.uploads import UploadedFile

OWN = "own"
_LARGE = 2_000_000  # bytes; a larger text of one's own is worth more minutes


@dataclass(frozen=True)
class Text:
    """A chosen text: a sample by its name, or uploaded files."""

    title: str
    corpus: tuple[str, ...]
    files: tuple[Path, ...]

    @property
    def paths(self) -> tuple[str | Path, ...]:
        return (*self.corpus, *self.files)


def choices() -> list[tuple[str, str]]:
    """(label, value) of the texts on offer."""
    return [(sample.title, name) for name, sample in SAMPLES.items()] + [("My own text", OWN)]


def chosen(source: str, files: Sequence[UploadedFile]) -> Text:
    """Return the text that the form names. Raises `InputError` while there is none."""
    if source in SAMPLES:
        return Text(SAMPLES[source].title, (f"sample:{source}",), ())
    paths = tuple(file.path for file in files)
    if not paths:
        raise InputError("Drop a text file into the box, or choose one of the samples.")
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return Text(f"{paths[0].name}{more}", (), paths)


def about(source: str) -> str:
    """Describe a sample in a sentence."""
    if source in SAMPLES:
        return SAMPLES[source].description
    return "A .txt, .md, .csv, .jsonl or .zip file. A blank line ends a document; the more text, the better."


def recommended(source: str, size: int = 0) -> dict[str, Any]:
    """Return a sample's own options, or those for `size` bytes of a person's text, which show something soon."""
    page = {"preset": "tiny", "seq_len": 64, "batch_size": 32, "time_budget": "2m" if size < _LARGE else "5m"}
    return page | dict(SAMPLES[source].settings if source in SAMPLES else {})


#: All that `recommended` may decide.
SUITED = {name for source in (*SAMPLES, OWN) for name in recommended(source)}
