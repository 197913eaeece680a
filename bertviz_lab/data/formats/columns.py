"""The columns of a table: whether the first row is a header, and which columns are the text, its pair and the label.

Common names decide (`sentence1`, `hypothesis`, `label` ...). Without them the content does: texts are long, a label is
one of a few short values, and a column of row numbers or of one constant value is neither.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import replace
from importlib import resources
from itertools import compress
from typing import NamedTuple

from bertviz_lab.data.corpora.formats.text import TEXT_NAMES, column_title
from bertviz_lab.data.corpora.reading_notes import quoted, quoted_list
from bertviz_lab.data.formats.column_profile import Profile, is_date
from bertviz_lab.data.formats.labels import LABEL_CELLS, ClassCells, number_of
from bertviz_lab.data.formats.raw import NO_TEXT, DropReport, RawTable, ReadOptions
from bertviz_lab.errors import InputError

#: Names of columns, in lower case, by what they hold; column_names.toml says what each list is.
_NAMES = tomllib.loads(resources.files(__package__).joinpath("column_names.toml").read_text(encoding="utf-8"))
PAIR_NAMES = tuple(map(tuple, _NAMES["pairs"]))
RELATED_NAMES = (*map(tuple, _NAMES["related"]), *PAIR_NAMES)
SINGLE_TEXT_NAMES = (*TEXT_NAMES, *_NAMES["single_texts"])
LABEL_NAMES, WEAK_NAMES = tuple(_NAMES["labels"]), tuple(_NAMES["weak_labels"])
METADATA_NAMES = frozenset(_NAMES["metadata"])
_TEXT_NAMES = {*SINGLE_TEXT_NAMES, *(name for pair in PAIR_NAMES for name in pair)} - {"aspect", "source", "title"}
_JOINED_COLUMN = "labels"  # that replaces columns of 0 and 1
_BITS = ({"0", "1"}, {"0.0", "1.0"}, {"false", "true"}, {"x"})
_MAX_TITLE_LENGTH = 40


class Columns(NamedTuple):
    """Indexes of the columns that are used; `text_b` is None for single texts."""

    text_a: int
    text_b: int | None
    label: int


def split_header(table: RawTable, options: ReadOptions, report: DropReport) -> None:
    """Take the names of the columns from the first row of a table, if it is a header; repetitions are left out."""
    if table.names is not None or not table.rows:
        return
    first, *others = table.rows
    if options.header == "auto" and not all(first) and others and all(others[0]) and has_header(others, options):
        # names of groups of columns in merged cells, above those of the columns
        table.leave_out([0], report, "row<s> above <the header was|headers were> left out")
    if not has_header(table.rows, options):
        return
    names = [cell.strip() for cell in table.rows[0]]
    table.leave_out([0])
    repeated = [place for place, row in enumerate(table.rows) if _repeats(row, names)]
    table.leave_out(repeated, report, "row<s> <repeats|repeat> the header and <was|were> left out")
    if len(names) == table.width - 1 and Profile.of(table.columns[0]).is_id:
        names = ["", *names]  # R writes row numbers without a column name
    table.names = [*map(column_title, names[: table.width])]


def _repeats(row: list[str], names: list[str]) -> bool:
    """Return whether a row is the header again, in any case."""
    same = zip(row, names, strict=False)
    return len(row) == len(names) and all(cell.strip().lower() == name.lower() for cell, name in same)


def has_header(rows: list[list[str]], options: ReadOptions) -> bool:
    """Does the first row name the columns?"""
    if options.header != "auto":
        return options.header == "yes"
    titles = [cell.strip() for cell in rows[0]]
    rows = [rows[0], *(row for row in rows[1:] if not _repeats(row, titles))]
    lower = [column_title(title).lower() for title in titles]
    if not any(titles):
        return False
    requested = (options.text_a, options.text_b, options.label)
    if any(name and not name.isdigit() and column_title(name).lower() in lower for name in requested):
        return True
    columns = [[row[c].strip() if c < len(row) else "" for row in rows[1:]] for c in range(len(titles))]
    recurs = [title in set(column) for title, column in zip(titles, columns, strict=True)]
    some_recur = any(map(all, zip(recurs, titles, strict=True)))
    pairs = RELATED_NAMES if options.task == "embeddings" else PAIR_NAMES
    known_names = {*LABEL_NAMES, *SINGLE_TEXT_NAMES, *(name for pair in pairs for name in pair)}
    is_long = any(len(title) > _MAX_TITLE_LENGTH for title in titles)
    if not (is_long or known_names.isdisjoint(lower) or some_recur):
        return True
    if len(rows) < 3:
        return False
    profiles = [Profile.of(column) for column in columns]
    dated = [p.filled > 0.5 and p.dates == 1 for p in profiles]
    if not some_recur and any(title and not re.search(r"\d", title) for title in compress(titles, dated)):
        return True  # that of a survey, whose questions may be longer than titles
    are_numbers = any(number_of(title.replace(",", ".")) is not None for title in titles if title)
    if is_long or are_numbers or len(set(lower)) < len(lower):
        return False
    measured = [p.filled > 0.5 and 1 in (p.numbers, p.dates) for p in profiles]
    if any(title and not is_date(title) for title in compress(titles, measured)):
        return True
    text = max(range(len(titles)), key=lambda c: profiles[c].length)
    title = titles[text]
    labels = [c for c in range(len(titles)) if c != text and profiles[c].is_label]
    if not labels or not title or title.count(" ") > 2 or any(recurs[c] for c in labels):
        return False
    if any(profiles[c].distinct > max(2, profiles[c].rows // 8) for c in labels):
        return False
    # The first row's label occurs nowhere else. It is a header if its text is a title: much shorter than the others, or
    # one word above classes that all have several examples. Otherwise it is the only example of its class.
    frequent = all(min(Counter(columns[c]).values()) >= 3 for c in labels)
    return profiles[text].length > 2 * len(title) or (frequent and " " not in title and title[-1].isalnum())


def choose_columns(
    table: RawTable, options: ReadOptions, like: tuple[RawTable, Columns] | None, report: DropReport
) -> Columns:
    """Return the columns of a table after `split_header`, or those of `like`, an earlier table that is built alike."""
    if like and not any((options.text_a, options.text_b, options.label)):
        other, columns = like
        if table.width == other.width and (table.names is None or other.names is None or table.names == other.names):
            return columns
    text_a, text_b, label = given = table.given(options)
    if table.width < 2:
        advice = "name its delimiter, or give a file" if table.delimiter else f"give {table.unit}s"
        only = f"{quoted(table.name)} has one column only ({quoted_list(table.column_names)})"
        raise InputError(f"{only}, and a text and a label are needed; {advice} with both.")
    profiles = [Profile.of(column) for column in table.columns]
    taken = {column for column in given if column is not None}
    if label is None:
        label = _label_column(table, profiles, taken, report)
        if _is_metadata(table, profiles[label], label):
            _doubt_label(table, label, "it looks like metadata", report)
    if table.names is None and options.header == "auto":
        _doubt_header(table, profiles[label], report)
    if text_a is None:
        text_a, pair = text_columns(table, profiles, taken | {label}, report)
        text_b = pair if text_b is None else text_b
    elif text_b is None:  # the second column of a pair whose first is given
        after = {name: column for name, column in by_name(table).items() if column >= text_a}
        pair_by_names = pair_by_name(after, set(range(table.width)))
        if pair_by_names and pair_by_names[0] == text_a and pair_by_names[1] != label:
            text_b = pair_by_names[1]
    columns = Columns(text_a, None if options.text_b == NO_TEXT else text_b, label)
    _doubt_parts(table, profiles, columns, report)
    return columns


def by_name(table: RawTable, taken: Collection[int] = ()) -> dict[str, int]:
    """Return the columns that are not taken, by their names in lower case; of several with one name the first."""
    names = reversed(list(enumerate(table.names or [])))
    return {name.lower(): column for column, name in names if column not in taken}


def _label_column(table: RawTable, profiles: Sequence[Profile], taken: set[int], report: DropReport) -> int:
    named = by_name(table, taken)
    known = [n for n in LABEL_NAMES if n in named and (n not in WEAK_NAMES or profiles[named[n]].is_label)]
    free = [c for c in range(table.width) if c not in taken]
    metadata = {column for name, column in named.items() if name in METADATA_NAMES}
    labels = [c for c in free if profiles[c].is_label and c not in metadata]
    if known:
        best = named[known[0]]
        rivals = [c for c, n in enumerate(table.names or ()) if n.lower() == known[0] and c in free and c != best]
        rivals += [named[n] for n in known[1:] if n not in WEAK_NAMES]
        for rival in [c for c in rivals if _is_another(table, profiles, best, c)][:1]:
            _doubt_label(table, best, f"{table.describe_column(rival)} could be it too", report)
        return best
    if labels:
        # Of several, the one with the fewest values; complete ones first, and metadata last; at a tie, the last.
        about = {c for c in labels if _is_metadata(table, profiles[c], c)}
        best = min(labels, key=lambda c: (c in about, profiles[c].filled < 0.9, profiles[c].distinct, -c))
        rivals = [c for c in labels if c != best and (profiles[c].distinct <= 50 or profiles[c].decimals > 0.5)]
        if rivals and table.width > 2:
            others = ", ".join(map(table.describe_column, rivals[:3]))
            _doubt_label(table, best, f"{others} could be it too", report)
        return best
    if table.width == 2 and not taken:  # few rows, or no labels, which `ClassCells.check` refuses
        return min(free, key=lambda c: (profiles[c].is_constant, profiles[c].distinct, profiles[c].length))
    if len(free) == 1:
        return free[0]
    if lists := [c for c in free if c not in metadata and _lists_labels(profiles[c].values)]:
        return lists[-1]
    names = quoted_list(table.column_names, 20)
    raise InputError(
        f"No column of {quoted(table.name)} looks like a label, one of a few short values; name it: {names}."
    )


def _lists_labels(cells: list[str]) -> bool:
    """Return whether cells hold a few short labels between semicolons or bars."""
    parts = Profile.of([part for cell in cells for part in re.split(r"[;|]", cell)])
    return len(cells) < parts.rows and parts.is_label and not parts.numbers


def _doubt_header(table: RawTable, labels: Profile, report: DropReport) -> None:
    """Doubt that the first row is an example, where it alone has its label, and all others have several examples."""
    first, *others = [cell.strip() for cell in labels.values] or [""]
    if others and first and first not in others and number_of(first) is None and min(Counter(others).values()) > 1:
        read = f"The first row of {quoted(table.name)} was read as the only example of {quoted(first)}"
        report.doubt(f"{read}: give --header yes if it names the columns.", "header")


def _is_metadata(table: RawTable, profile: Profile, label: int) -> bool:
    """Return whether a column by its name or its values says when, by whom or for which part a text is."""
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", table.column_names[label]).lower()
    words, values = set(re.split(r"[\W_]+", name)), {cell.strip().lower() for cell in profile.values} - {""}
    is_speaker = bool(values) and all(value.endswith(":") for value in values)
    says_when = profile.dates > 0.9 or values <= {*_NAMES["splits"]} or not words.isdisjoint(_NAMES["metadata_words"])
    return is_speaker or (says_when and name not in LABEL_NAMES and words.isdisjoint(LABEL_NAMES))


def _doubt_parts(table: RawTable, profiles: Sequence[Profile], columns: Columns, report: DropReport) -> None:
    """Doubt that all rows are examples where an unused column says that some are for training and some for tests."""
    for column, profile in enumerate(profiles):
        parts = Counter(cell.strip().lower() for cell in profile.values)
        if column not in columns and len(parts) > 1 and parts.keys() <= {*_NAMES["splits"]}:
            named = ", ".join(f"{quoted(part)} {count:,}" for part, count in parts.items())
            what = f"The {table.describe_column(column)} of {quoted(table.name)} says what its rows are for ({named})"
            report.doubt(f"{what}, and all are read: give a file of one part.", "label")


def _doubt_label(table: RawTable, label: int, doubt: str, report: DropReport) -> None:
    """Doubt the column that was chosen for the label; `doubt` says why."""
    taken = f"The {table.describe_column(label)} of {quoted(table.name)} was taken for the label"
    report.doubt(f"{taken}, but {doubt}: name the label with --label.", "label")


def _is_another(table: RawTable, profiles: Sequence[Profile], label: int, other: int) -> bool:
    """Return whether a column is a label too, and does not say the same as the first in other words."""
    if not (profiles[label].is_label and profiles[other].is_label):
        return False
    pairs = len({(row[label], row[other]) for _, row in table.complete_rows})
    return not pairs == profiles[label].distinct == profiles[other].distinct


def text_columns(
    table: RawTable, profiles: Sequence[Profile], taken: set[int], report: DropReport
) -> tuple[int, int | None]:
    """Choose the column of the text, and of a pair the second one, among columns without a role."""
    named = by_name(table, taken)
    labels = {c for c, p in enumerate(profiles) if p.is_label and p.words <= 1}
    texts_of_pairs = {c for c, p in enumerate(profiles) if p.is_text or (p.is_constant and p.words > 1.5)} - labels
    pair = pair_by_name(named, texts_of_pairs)
    lists = {c for c, p in enumerate(profiles) if p.objects > 0.5}
    if not pair and (meant := pair_by_name(named, texts_of_pairs | lists)):
        unread = next(column for column in meant if column in lists)
        what = f"The {table.describe_column(unread)} of {quoted(table.name)} holds lists or records and is not read"
        report.doubt(f"{what}: write its texts there to read pairs, or give --text-b none for single texts.", "text_b")
    free = [c for c in range(table.width) if c not in taken]
    texts_by_name = [
        named[n] for n in _TEXT_NAMES if n in named and profiles[named[n]].is_text and profiles[named[n]].words > 1.5
    ]
    metadata = {column for name, column in named.items() if name in METADATA_NAMES}
    texts = [c for c in free if profiles[c].is_text and c not in metadata]
    singles = [named[n] for n in SINGLE_TEXT_NAMES if n in named and profiles[named[n]].is_text]
    if used := pair or tuple(singles[:1]):
        names = table.column_names  # those of parses have that of their text in them
        others = [c for c in texts if c not in used and not (pair and any(names[p] in names[c] for p in pair))]
        if rivals := [c for c in others if c in texts_by_name or _is_second(profiles[c], profiles[used[0]])]:
            rival = f"The {table.describe_column(rivals[0])} of {quoted(table.name)} holds text too and is not read"
            advice = "name the two texts with --text-a and --text-b" if pair else "name it with --text-b to read pairs"
            report.doubt(f"{rival}: {advice}.", "text_b", "text_a")
        return pair or (used[0], None)
    texts = texts or [c for c in free if profiles[c].numbers <= 0.9] or free
    if not texts:
        raise InputError(f"{quoted(table.name)} has no column left for the text; name other columns.")
    longest = max(texts, key=lambda c: profiles[c].length)
    seconds = [c for c in texts if c != longest and _is_second(profiles[c], profiles[longest])]
    if not seconds:
        return longest, None
    second_longest = max(seconds, key=lambda c: profiles[c].length)
    if table.names is not None:
        both = " and ".join(table.describe_column(c) for c in sorted((longest, second_longest)))
        doubt = f"The {both} were read as a pair of texts: give --text-b none for single texts."
        report.doubt(doubt, "text_b", "text_a")
    return min(longest, second_longest), max(longest, second_longest)


def _is_second(profile: Profile, longest: Profile) -> bool:
    """Return whether a second text next to the longest: several words, rarely the same, and not much shorter."""
    return (
        profile.words >= 3
        and profile.spaced > 0.8
        and profile.distinct > 0.1 * profile.rows
        and profile.length > 0.2 * longest.length
    )


def pair_by_name(named: Mapping[str, int], texts: Set[int]) -> tuple[int, int] | None:
    """Return the columns of a pair of texts by their names; None where no two names belong together.

    Besides the `PAIR_NAMES`, names of `texts` that differ only in 1 and 2, a and b, first and second, or of which one
    has such an addition: "Sentence 1" and "Sentence 2", "text" and "text_pair".
    """
    found = {name: column for name, column in reversed(list(named.items())) if column in texts}
    plain = {re.sub(r"[^a-z0-9#]", "", name.lower()): column for name, column in found.items()}
    pairs = [tuple(re.sub(r"[^a-z0-9#]", "", name) for name in pair) for pair in PAIR_NAMES]
    for one, two in (("1", "2"), ("a", "b"), ("first", "second"), ("left", "right"), ("0", "1"), ("x", "y")):
        for name in plain:
            end, start = name.removesuffix(one), name.removeprefix(one)
            pairs += [(name, end + two)] if end != name and (end or len(one) > 1) else []
            pairs += [(name, two + start)] if start != name and (start or len(one) > 1) else []
    for name in plain:
        pairs += [(name, name + addition) for addition in ("2", "b", "pair")]
        pairs += [(name, addition + name) for addition in ("target", "second", "other")]
    return next(((plain[one], plain[two]) for one, two in pairs if one in plain and two in plain), None)


def join_indicators(tables: Sequence[RawTable], deciding: int, options: ReadOptions, report: DropReport) -> ReadOptions:
    """Replace columns of 0 and 1 by one that lists the names of those with 1; return the options to read it with.

    There are none unless the first `deciding` tables have several, and no column is named as a label. They are classes
    where each row has 1 in exactly one. Raises `InputError` for a table that lacks some, and for classification by
    several.
    """
    first, named = tables[0], {name.lower() for name in tables[0].names or ()}
    labelled = options.label or (options.task != "multilabel" and not named.isdisjoint(LABEL_NAMES))
    if options.task not in ("auto", "multilabel", "classification") or labelled or not first.names:
        return options
    indicators = []
    for name, cells in zip(first.column_names, first.columns, strict=True):
        values = {cell.strip().lower() for cell in cells} - {""}
        if values and any(values <= bits for bits in _BITS) and name.lower() not in METADATA_NAMES:
            indicators.append(name)
    if len(indicators) < 2 or not all(set(indicators) <= set(table.column_names) for table in tables[:deciding]):
        return options
    columns = [list(map(table.column, indicators)) for table in tables]
    exclusive = options.task != "multilabel" and all(
        sum(_is_one(row[c]) for c in of_table) == 1
        for table, of_table in zip(tables[:deciding], columns, strict=False)
        for _, row in table.complete_rows
    )
    if options.task == "classification" and not exclusive:
        raise InputError(
            f"Rows of {quoted(first.name)} have several of {quoted_list(indicators)}; choose "
            '`task="multilabel"`, or name one column with `label`.'
        )
    for table, of_table in zip(tables, columns, strict=True):
        others = [column for column in range(table.width) if column not in of_table]
        for place, row in enumerate(table.rows):
            if len(row) == table.width:  # others keep their width, and are dropped for it
                labels = compress(indicators, (_is_one(row[column]) for column in of_table))
                table.rows[place] = [*(row[column] for column in others), "\n".join(labels)]
            else:
                table.rows[place] = [*row, *[""] * (len(others) + 2)]
        table.names = [*(table.column_names[column] for column in others), _JOINED_COLUMN]
        table.width, table.delimiter = len(table.names), ""
    task = "classification" if exclusive else "multilabel"
    report.note(f"The indicator columns ({quoted_list(indicators)}) were read as the labels of {task}.")
    return replace(options, label=_JOINED_COLUMN, task=task)


def number_indicators(
    label_columns: Sequence[tuple[RawTable, int]], options: ReadOptions, report: DropReport
) -> ReadOptions:
    """Replace lists of a 0 or 1 for each label, such as [0, 1, 1], by the numbers from 0 of those with 1; return the
    options to read them with. They are classes where each list has exactly one.
    """
    rows = [(row, column) for table, column in label_columns for _, row in table.complete_rows if row[column].strip()]
    cells = Counter(row[column] for row, column in rows)
    separator = LABEL_CELLS.get(options.task, ClassCells).separator_in(cells) or "\n"
    lists = [(row, column, row[column].lower().split(separator)) for row, column in rows]
    sizes, values = {len(bits) for *_, bits in lists}, {bit.strip() for *_, bits in lists for bit in bits}
    if not sizes or 1 in sizes or not any(values <= bits for bits in _BITS):
        return options
    table, column = label_columns[0]
    named = f"The lists of 0 and 1 in {table.describe_column(column, of_file=True)}"
    if len(sizes) > 1:
        raise InputError(f"{named} have {min(sizes)} to {max(sizes)} items; give each a 0 or 1 for every label.")
    for row, column, bits in lists:
        row[column] = "\n".join(str(number) for number, bit in enumerate(bits) if _is_one(bit))
    report.note(f"{named} were read as the labels 0 to {sizes.pop() - 1}, of which those with 1 apply.")
    exclusive = all(sum(map(_is_one, bits)) == 1 for *_, bits in lists)
    return options if exclusive or "task" in options.given else replace(options, task="multilabel")


def _is_one(cell: str) -> bool:
    return cell.strip().lower() in ("1", "1.0", "true", "x")
