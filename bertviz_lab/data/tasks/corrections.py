"""What a person decided about the labels of training examples, in the order of the decisions, and undone one by one.

A file of JSON lines: {"row", "text_a", "text_b", "label", "corrected"}, where `corrected` is the right label, the given
one where that was confirmed, or null for an example to leave out. A fine-tuning takes such a file
(`FinetuneConfig.corrections`), and `corrected_files` writes it into the files that the examples came from.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from bertviz_lab.data.examples import Example, Label, LabelledText
from bertviz_lab.errors import InputError

#: Of a run, in its folder.
CORRECTIONS_FILE = "corrections.jsonl"


@dataclass(frozen=True)
class Correction:
    """One decision about an example."""

    example: LabelledText  # as it was given
    corrected: Label | None  # None: the example is left out


def read_corrections(path: Path) -> tuple[Correction, ...]:
    """Return the decisions in a file, the oldest first. Raises `InputError` where there is no such file."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        return tuple(map(_correction, lines))
    except FileNotFoundError:
        raise InputError(f"There are no corrections in {path}.") from None
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(f"{path.name} holds no corrections of labels.") from error


def _correction(line: str) -> Correction:
    fields: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in json.loads(line).items()}
    corrected = fields.pop("corrected")
    return Correction(LabelledText(**fields), corrected)


def write_corrections(path: Path, corrections: Iterable[Correction]) -> None:
    """Write decisions to a file."""
    path.write_text("".join(map(_line, corrections)), encoding="utf-8")


def _line(correction: Correction) -> str:
    fields = asdict(correction.example) | {"corrected": correction.corrected}
    del fields["file"]
    return json.dumps(fields) + "\n"  # ASCII: no character of a text ends a line


def append_correction(path: Path, correction: Correction) -> None:
    """Add a decision to a file, which need not be there yet."""
    with path.open("a", encoding="utf-8") as file:
        file.write(_line(correction))


def undo_correction(path: Path) -> Correction | None:
    """Take the last decision out of a file and return it; None where there is none."""
    corrections = read_corrections(path) if path.is_file() else ()
    if not corrections:
        return None
    write_corrections(path, corrections[:-1])
    return corrections[-1]


def newest(corrections: Iterable[Correction]) -> Mapping[LabelledText, Label | None]:
    """Return the newest decision about each example as it was at first, those that changed nothing left out.

    A decision may be about an example that an earlier one has corrected, as those of a second label check are.
    """
    decided: dict[LabelledText, Label | None] = {}
    origins: dict[LabelledText, LabelledText] = {}
    for each in corrections:
        origin = origins.get(each.example, each.example)
        decided[origin] = each.corrected
        if each.corrected is not None and each.corrected != origin.label:
            origins[replace(origin, label=each.corrected)] = origin
    return {example: label for example, label in decided.items() if label != example.label}


def correct(examples: Sequence[Example], corrections: Iterable[Correction]) -> tuple[tuple[Example, ...], int]:
    """Return the examples with the decided labels, without those to leave out, and how many were changed or left out.

    Raises `InputError` where none of the decisions is about one of them.
    """
    decided = newest(corrections)
    corrected: list[Example] = []
    changed = 0
    for example in examples:
        if not isinstance(example, LabelledText) or example not in decided:
            corrected.append(example)
            continue
        changed += 1
        if (label := decided[example]) is not None:
            corrected.append(replace(example, label=label))
    if decided and not changed:
        raise InputError("The corrections are about other examples than these; give the files that they were made for.")
    return tuple(corrected), changed
