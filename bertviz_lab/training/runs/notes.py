"""What a person has written on a run: a name, tags and a note, in `notes.json` beside its state."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from bertviz_lab.errors import InputError
from bertviz_lab.training.checkpoints.atomic_io import write_json

_FILE = "notes.json"
_LONGEST_NAME, _LONGEST_TAG, _LONGEST_NOTE, _MOST_TAGS = 60, 30, 2000, 10


@dataclass(frozen=True)
class RunNotes:
    """The name, "" for the one that the run was given at its start, the tags and the note of a run.

    Raises `InputError` for a name, tag or note that is too long, and for too many tags.
    """

    name: str = ""
    tags: tuple[str, ...] = ()
    note: str = ""

    def __post_init__(self) -> None:
        if len(self.name) > _LONGEST_NAME or not self.name.isprintable():
            raise InputError(f"A run's name is one line of at most {_LONGEST_NAME} characters.")
        if len(self.tags) > _MOST_TAGS:
            raise InputError(f"A run has at most {_MOST_TAGS} tags.")
        if any(len(tag) > _LONGEST_TAG or not tag.isprintable() for tag in self.tags):
            raise InputError(f"A tag has at most {_LONGEST_TAG} characters.")
        if len(self.note) > _LONGEST_NOTE:
            raise InputError(f"A note has at most {_LONGEST_NOTE:,} characters.")


def read_notes(folder: Path) -> RunNotes:
    """The notes of a run; empty ones where there are none or they cannot be read."""
    try:
        body = json.loads((folder / _FILE).read_text(encoding="utf-8"))
        return RunNotes(str(body["name"]), tuple(map(str, body["tags"])), str(body["note"]))
    except (OSError, ValueError, KeyError, TypeError, InputError):
        return RunNotes()


def write_notes(folder: Path, notes: RunNotes) -> None:
    """Replace the notes of a run."""
    write_json(folder / _FILE, asdict(notes))
