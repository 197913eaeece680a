"""Training data of Rasa as YAML or Markdown: intents with their examples, in which entities are marked."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from bertviz_lab.data.examples import FileInfo
from bertviz_lab.data.formats.raw import DropReport, RawData, RawFile, ReadOptions
from bertviz_lab.data.formats.records import raw_data_of_records
from bertviz_lab.data.formats.text_files import TextFile

_HEADING = re.compile(r"\s*(?:- ?|## ?)(intent|synonym|regex|lookup|story|rule)\s*:\s*(.+)")
_EXAMPLE = re.compile(r"\s*[-*+] (?:text: *)?(.+)")
_ENTITY = re.compile(r"\[([^\]\n]+)\](?:\(([^)\n]+)\)|(\{[^}\n]*\}))")


def is_rasa(lines: Sequence[str]) -> bool:
    """Return whether two lines or more name an intent, and examples follow."""
    return sum(bool(match := _HEADING.match(line)) and match[1] == "intent" for line in lines) > 1


def read_rasa(file: TextFile, options: ReadOptions, report: DropReport) -> RawData:
    """Read the examples of all intents. Raises `InputError` as `raw_data_of_records`."""
    info = FileInfo(file.name, "rasa", file.encoding)
    with file.lines(None) as lines:
        return raw_data_of_records(_records(lines), {}, RawFile(info, "example"), options, report)


def _records(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    intent = ""
    for line in lines:
        if heading := _HEADING.match(line):
            intent = heading[2].strip().strip("'\"") if heading[1] == "intent" else ""
        elif intent and (example := _EXAMPLE.match(line)) and not example[1].endswith(":"):
            text, entities, rest = "", [], example[1].strip()
            while match := _ENTITY.search(rest):
                text += rest[: match.start()]
                entities.append({"start": len(text), "end": len(text) + len(match[1]), "entity": _entity(match)})
                text, rest = text + match[1], rest[match.end() :]
            yield {"text": text + rest, "intent": intent, "entities": entities}


def _entity(match: re.Match[str]) -> str:
    try:
        return match[2].split(":")[0] if match[2] else str(json.loads(match[3])["entity"])
    except (ValueError, KeyError, TypeError):
        return match[3]
