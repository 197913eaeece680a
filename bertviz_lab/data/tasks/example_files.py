"""Examples in a run's folder, so that it can be gone on with and looked at when the files are gone or have changed."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bertviz_lab.data.tasks.examples import Answer, Example, LabelledText, LabelledWords, Question

_KINDS: dict[str, type] = {kind.__name__: kind for kind in (LabelledText, LabelledWords, Question)}


def write_examples(path: Path, examples: Sequence[Example]) -> None:
    """One JSON object a line."""
    with path.open("w", encoding="utf-8", errors="surrogatepass") as file:
        for example in examples:
            file.write(json.dumps({"kind": type(example).__name__, **asdict(example)}) + "\n")


def read_examples(path: Path) -> tuple[Example, ...]:
    """What `write_examples` wrote."""
    with path.open(encoding="utf-8") as file:
        return tuple(example_from(json.loads(line)) for line in file)


def holds_examples(path: str | Path) -> bool:
    """Whether a file is one of `write_examples`."""
    try:
        with Path(path).open(encoding="utf-8") as file:
            body = json.loads(file.readline(1_000_000))
    except (OSError, ValueError):
        return False
    return isinstance(body, dict) and body.get("kind") in _KINDS


def example_from(body: dict[str, Any]) -> Example:
    """An example out of its JSON object."""
    body = dict(body)
    kind = _KINDS[body.pop("kind")]
    for name in ("words", "labels"):
        if name in body:
            body[name] = tuple(body[name])
    if "answers" in body:
        body["answers"] = tuple(Answer(**answer) for answer in body["answers"])
    example: Example = kind(**body)
    return example
