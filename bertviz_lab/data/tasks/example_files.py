"""Examples in a run's folder, so that it can be gone on with and looked at when the files are gone or have changed."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from bertviz_lab.data.tasks.examples import Answer, Example, LabelledText, LabelledWords, Question

_KINDS: dict[str, type] = {kind.__name__: kind for kind in (LabelledText, LabelledWords, Question)}


def write_examples(path: Path, examples: Sequence[Example]) -> None:
    """One JSON object a line; `"passage": null` stands for the passage of the line before, which questions share."""
    passage = None
    with path.open("w", encoding="utf-8", errors="surrogatepass") as file:
        for example in examples:
            body = {"kind": type(example).__name__, **asdict(example)}
            if isinstance(example, Question):
                body["passage"] = None if example.passage == passage else example.passage
                passage = example.passage
            file.write(json.dumps(body) + "\n")


def read_examples(path: Path) -> tuple[Example, ...]:
    """What `write_examples` wrote."""
    examples: list[Example] = []
    with path.open(encoding="utf-8") as file:
        for line in file:
            body = json.loads(line)
            if "passage" in body and body["passage"] is None:
                body["passage"] = cast(Question, examples[-1]).passage
            examples.append(example_from(body))
    return tuple(examples)


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
