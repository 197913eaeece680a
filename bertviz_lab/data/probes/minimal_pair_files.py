"""Minimal pairs from files in the format of BLiMP (Warstadt et al. 2020): JSON Lines, a pair a line.

The fields that are read are `sentence_good`, `sentence_bad` and `linguistics_term`, the phenomenon. A benchmark is
scored as a whole, so a line that is no pair is an error and is not left out.
"""

import io
import math
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from bertviz_lab.data.corpora.formats.records import json_lines
from bertviz_lab.data.corpora.reading_notes import ReadingNotes, quoted
from bertviz_lab.data.corpora.sources import Kinds, Source, close_archives, find_sources
from bertviz_lab.data.probes.minimal_pairs import MinimalPair
from bertviz_lab.data.probes.tiny_town_pairs import words
from bertviz_lab.errors import InputError

_GOOD, _BAD, _PHENOMENON = FIELDS = ("sentence_good", "sentence_bad", "linguistics_term")
_FILES = Kinds(dict.fromkeys((".jsonl", ".ndjson"), "jsonl"), "a .jsonl file of minimal pairs, or a folder of them")


def read_minimal_pairs(
    paths: Sequence[str | Path] | str | Path, max_bytes: float = math.inf
) -> tuple[MinimalPair, ...]:
    """The pairs of files, folders, zips and patterns, in the order of the files' names; their kind is the phenomenon.

    Raises `InputError` naming the file and the record where one cannot be read, or for more than `max_bytes`.
    """
    notes = ReadingNotes()
    sources = find_sources(paths, notes, max_bytes, _FILES)
    try:
        if notes.skipped:
            raise InputError(notes.skipped[0])
        pairs = tuple(pair for source in sources for pair in _pairs_of(source))
    finally:
        close_archives(sources)
    if not pairs:
        raise InputError(f"{quoted(sources[0].name)} holds no minimal pairs; give {_FILES.readable}.")
    return pairs


def _pairs_of(source: Source) -> Iterator[MinimalPair]:
    with io.TextIOWrapper(source.open(), encoding="utf-8-sig") as stream:
        try:
            for number, record in enumerate(json_lines(stream, source.name), 1):
                yield _pair(record, f"Record {number:,} of {quoted(source.name)}")
        except UnicodeDecodeError:
            raise InputError(f"{quoted(source.name)} is not text in UTF-8, which JSON Lines are; save it so.") from None


def _pair(record: Any, where: str) -> MinimalPair:
    if not isinstance(record, dict):
        raise InputError(f"{where} is not an object with the fields {', '.join(FIELDS)}.")
    texts = []
    for field in FIELDS:
        if not isinstance(text := record.get(field), str) or not text.strip():
            raise InputError(f"{where} has no text in the field {quoted(field)}; a minimal pair needs it.")
        texts.append(text.strip())
    good, bad, phenomenon = texts
    if good == bad:
        raise InputError(f"{where} has the same sentence as {quoted(_GOOD)} and {quoted(_BAD)}; correct one of them.")
    differs = [a != b for a, b in zip_longest(words(good), words(bad))]
    return MinimalPair(phenomenon, "", good, bad, differs.index(True) if any(differs) else 0)
