"""The sets of probes: Tiny Town's, whose truth is known, and plain English ones.

Source: minimal pairs as a test of grammar follow Marvin and Linzen 2018 and BLiMP (Warstadt et al. 2020); the sentences
are this project's own. Of two words that are set against each other each is the right one equally often, so that
who always prefers the commoner word is right half of the time.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import resources
from itertools import zip_longest
from pathlib import Path
from typing import Any

from bertviz_lab.data.corpora.formats.records import json_lines
from bertviz_lab.data.corpora.reading_notes import ReadingNotes, quoted
from bertviz_lab.data.corpora.sources import Kinds, Source, close_archives, find_sources
from bertviz_lab.data.formats.raw import DropReport, ReadOptions, open_text
from bertviz_lab.data.formats.tables import read_table
from bertviz_lab.data.probes.minimal_pairs import KINDS, PHENOMENA, MinimalPair, minimal_pairs, words
from bertviz_lab.errors import InputError
from bertviz_lab.tokenization import Tokenizer


@dataclass(frozen=True)
class Probes:
    """A set of pairs, by kind. A pair without a position is a question to the next-sentence head."""

    name: str  # how events and the command line call it
    title: str  # how the page calls it
    kinds: Mapping[str, str]  # kind -> the name of the phenomenon, to follow "passes"
    read: Callable[[], tuple[MinimalPair, ...]]  # makes the pairs, kind after kind

    @cached_property
    def pairs(self) -> tuple[MinimalPair, ...]:
        """Every pair; made when they are first asked for."""
        return self.read()


def tiny_town_pairs() -> tuple[MinimalPair, ...]:
    """Return pairs of held-out stories. In the stories many more verbs are singular than plural: here as many are."""
    drawn = minimal_pairs(0, 80)  # enough whose words are the other way round in another
    return tuple(pair for kind in KINDS for pair in _couples(p for p in drawn if p.kind == kind)[:12])


def _couples(pairs: Iterable[MinimalPair]) -> list[MinimalPair]:
    """Return each pair with another of the same two words swapped; all pairs where single words do not differ."""
    couples: dict[frozenset[str], list[list[MinimalPair]]] = defaultdict(list)
    waiting: dict[tuple[str, ...], list[MinimalPair]] = defaultdict(list)
    for pair in pairs:
        contrast = contrast_of(pair)
        if not contrast:
            couples[frozenset()].append([pair])
        elif waiting[contrast[::-1]]:
            couples[frozenset(contrast)].append([waiting[contrast[::-1]].pop(0), pair])
        else:
            waiting[contrast].append(pair)
    turns = zip_longest(*couples.values(), fillvalue=[])
    return [pair for turn in turns for couple in turn for pair in couple]


def contrast_of(pair: MinimalPair) -> tuple[str, ...]:
    """Return the good word and the bad one, in small letters; none where not one word differs from one other."""
    if pair.position is None:
        return ()
    word_pairs = zip(words(pair.good), words(pair.bad), strict=True)
    differ = [(good.lower(), bad.lower()) for good, bad in word_pairs if good != bad]
    return differ[0] if len(differ) == 1 else ()


_ENGLISH = Path(str(resources.files(__package__) / "english.tsv"))
#: Every set by its name.
PROBES: Mapping[str, Probes] = {
    "tiny-town": Probes("tiny-town", "Tiny Town", KINDS, tiny_town_pairs),
    "english": Probes("english", "English", PHENOMENA["english"], lambda: read_minimal_pairs(_ENGLISH)),
}


_GOOD, _BAD, _PHENOMENON = FIELDS = ("sentence_good", "sentence_bad", "linguistics_term")
#: What the columns of a table may be called instead.
_COLUMNS = {"good": _GOOD, "bad": _BAD, "kind": _PHENOMENON, "phenomenon": _PHENOMENON} | {
    name: name for name in FIELDS
}
_FILES = Kinds(
    dict.fromkeys((".jsonl", ".ndjson"), "jsonl") | dict.fromkeys((".csv", ".tsv"), "table"),
    "a .csv, .tsv or .jsonl file of minimal pairs, or a folder of them",
)


def read_minimal_pairs(
    paths: Sequence[str | Path] | str | Path, max_bytes: float = math.inf
) -> tuple[MinimalPair, ...]:
    """Return the pairs of files, folders, zips and patterns, by phenomenon. Raises `InputError` naming the record.

    A file has BLiMP's records in JSON Lines, or is a table with the columns `good`, `bad` and, if there are several,
    `phenomenon`; without such a header these are its first columns. A pair of equal sentences is kept: BLiMP has seven.
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
    options = ReadOptions()
    file = open_text(source, options)
    if source.format == "jsonl":
        with file.text(None) as stream:
            for number, record in enumerate(json_lines(stream, source.name), 1):
                yield _pair_of_record(record, f"Record {number:,} of {quoted(source.name)}")
        return
    table = read_table(file, options, DropReport())
    header = [_COLUMNS.get(name.strip().lower(), "") for name in table.rows[0]] if table.rows else []
    has_header = {_GOOD, _BAD} <= set(header)
    columns = header if has_header else list(FIELDS)
    for row, number in zip(table.rows[has_header:], table.numbers[has_header:], strict=True):
        record = {_PHENOMENON: "pairs"} | {name: cell for name, cell in zip(columns, row, strict=False) if cell.strip()}
        yield _pair_of_record(record, table.at(number))


def _pair_of_record(record: Any, where: str) -> MinimalPair:
    if not isinstance(record, dict):
        raise InputError(f"{where} is not an object with the fields {', '.join(FIELDS)}.")
    texts = []
    for field in FIELDS:
        if not isinstance(text := record.get(field), str) or not text.strip():
            raise InputError(f"{where} has no text in the field {quoted(field)}; a minimal pair needs it.")
        texts.append(text.strip())
    good, bad, phenomenon = texts
    differs = [a != b for a, b in zip_longest(words(good), words(bad))]
    return MinimalPair(phenomenon, "", good, bad, differs.index(True) if any(differs) else 0)


_TINY_TOWN = "sample:tiny-town"


def probes_for(corpus: Sequence[str], tokenizer: Tokenizer) -> Probes | None:
    """Return the set that suits a run on a corpus, with the pairs that its vocabulary can be asked; None where none
    does.

    `corpus` are the entries of `PretrainConfig.corpus`. A run on Tiny Town alone is asked about Tiny Town, any other
    about English as far as its vocabulary is English.
    """
    return probes_that_fit("tiny-town" if set(corpus) == {_TINY_TOWN} else "english", tokenizer)


def probes_that_fit(name: str, tokenizer: Tokenizer) -> Probes | None:
    """Return the pairs of a set whose differing words are whole words of a vocabulary; None where fewer than half are.

    A word in two pieces against one in three would be a comparison of lengths. Kinds of which too little is left
    are left out too.
    """
    probes = PROBES[name]
    fitting = [pair for pair in probes.pairs if _fits(pair, tokenizer)]
    if len(fitting) < len(probes.pairs) / 2:
        return None
    left = Counter(pair.kind for pair in fitting)
    kinds = {kind: title for kind, title in probes.kinds.items() if left[kind] >= 6}
    kept = tuple(pair for pair in fitting if pair.kind in kinds)
    return replace(probes, kinds=kinds, read=lambda: kept) if kept else None


def _fits(pair: MinimalPair, tokenizer: Tokenizer) -> bool:
    """Return whether good and bad differ in as many tokens as words, all of them known."""
    if pair.position is None:
        return True
    good, bad = tokenizer.ids([pair.good, pair.bad])
    if len(good) != len(bad):
        return False
    different_tokens = [ids for ids in zip(good, bad, strict=True) if ids[0] != ids[1]]
    different_words = sum(a != b for a, b in zip(words(pair.good), words(pair.bad), strict=True))
    return len(different_tokens) == different_words and not any(tokenizer.unk_id in ids for ids in different_tokens)
