"""Tables of texts that belong together: pairs, triplets with negatives, or pairs with scores."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bertviz_lab.data.corpora.reading_notes import quoted
from bertviz_lab.data.examples import Example, FileInfo, RelatedTexts
from bertviz_lab.data.formats.columns import LABEL_NAMES, METADATA_NAMES, RELATED_NAMES, Columns, Profile
from bertviz_lab.data.formats.labels import number_of
from bertviz_lab.data.formats.raw import (
    NO_TEXT,
    DropReport,
    RawTable,
    ReadOptions,
    column_index,
    pluralized,
    preview,
    quoted_list,
    row_location,
)
from bertviz_lab.data.formats.tables import check_numbers
from bertviz_lab.errors import InputError

#: Cosines lie between these; scores of another range are scaled to 0 to 1.
_COSINES = (-1.0, 1.0)


@dataclass(frozen=True)
class RelatedColumns:
    """Indexes of the columns that are used; `score` is None where there is none."""

    anchor: int
    positive: int
    negatives: tuple[int, ...] = ()
    score: int | None = None


def read_related(
    splits: Sequence[tuple[Sequence[RawTable], DropReport]], options: ReadOptions
) -> list[tuple[list[Example], tuple[FileInfo, ...], DropReport]]:
    """The examples of each split, of tables after `split_header`; scores are scaled as those of the first.

    Raises `InputError` as `choose_related_columns` and `related_texts`, and where only some files have scores.
    """
    results, bounds = [], None
    for tables, report in splits:
        examples: list[RelatedTexts] = []
        files: list[RawTable] = []  # of each example
        infos = []
        for table in tables:
            columns = choose_related_columns(table, options)
            examples += related_texts(table, columns, report)
            files += [table] * (len(examples) - len(files))
            infos.append(related_file_info(table, columns))
        if len({example.score is None for example in examples}) > 1:
            raise InputError("Some of the files have scores and others have none; give files of one kind.")
        if bounds is None and (bounds := score_range(examples)) is not None:
            report.note(f"The scores from {bounds[0]:g} to {bounds[1]:g} were scaled to cosines from 0 to 1.")
        scaled: list[Example] = list(with_cosines(with_equal_negatives(examples, files, report), bounds))
        results.append((scaled, tuple(infos), report))
    return results


def choose_related_columns(table: RawTable, options: ReadOptions) -> RelatedColumns:
    """The columns of a table after `split_header`. Raises `InputError` where there are no two columns of texts."""
    names = {name.lower(): column for column, name in reversed(list(enumerate(table.names or [])))}
    profiles = [Profile.of(column) for column in table.columns]

    def given(name: str) -> int | None:
        return column_index(name, table.column_names, table.file_name) if name and name != NO_TEXT else None

    anchor, positive, score = given(options.text_a), given(options.text_b), given(options.label)
    texts = [
        column
        for column, profile in enumerate(profiles)
        if column != score and profile.numbers <= 0.9 and (profile.spaced > 0.3 or not profile.is_label)
    ]
    if anchor is None:
        for first, second in RELATED_NAMES:
            if first in names and second in names:
                anchor, positive = names[first], names[second] if positive is None else positive
                break
    anchor = next((column for column in texts if column != positive), None) if anchor is None else anchor
    if positive is None:
        positive = next((column for column in texts if column != anchor), None)
    if anchor is None or positive is None or anchor == positive:
        raise InputError(
            f"{quoted(table.file_name)} has no two columns of texts that belong together; name them: "
            f"{quoted_list(table.column_names, 20)}."
        )
    if score is None:
        score = _score_column(table, profiles, {anchor, positive})
    negatives = [column for name, column in names.items() if name.startswith(("neg", "hard_neg"))]
    unnamed = all(name.isdigit() for name in table.column_names)
    if unnamed and score is None:
        negatives = [column for column in texts if column not in (anchor, positive)]
    return RelatedColumns(anchor, positive, () if score is not None else tuple(sorted(negatives)), score)


def _score_column(table: RawTable, profiles: Sequence[Profile], taken: set[int]) -> int | None:
    """The one column of numbers that do not count the rows; of several one with the name of a label."""
    names = [name.lower() for name in table.column_names]
    numbers = [
        column
        for column, profile in enumerate(profiles)
        if column not in taken and profile.numbers > 0.9 and not profile.is_id and names[column] not in METADATA_NAMES
    ]
    named = [column for column in numbers if names[column] in LABEL_NAMES]
    return next(iter(named or (numbers if len(numbers) == 1 else [])), None)


def related_texts(table: RawTable, columns: RelatedColumns, report: DropReport) -> list[RelatedTexts]:
    """The examples of a table, in order; every row gives one or is counted in the report with its reason.

    A negative cell of several lines, which a list of a record is read as, holds a negative in each.

    Raises:
        InputError: half of the scores or more are not numbers.
    """
    if columns.score is not None:
        check_numbers(table, Columns(columns.anchor, columns.positive, columns.score), "the scores of pairs are")
    examples = []
    for number, row in zip(table.numbers, table.rows, strict=True):
        reason = ""
        if len(row) != table.width:
            reason = f"it has {len(row)} cells, and most rows have {table.width}"
            report.drop(reason, table.file_name, table.unit, number)
            continue
        negatives = tuple(text for column in columns.negatives for text in row[column].split("\n") if text.strip())
        score = None if columns.score is None else number_of(row[columns.score])
        if not row[columns.anchor].strip():
            reason = f"the text is empty ({table.describe_column(columns.anchor)})"
        elif not row[columns.positive].strip():
            reason = f"the second text is empty ({table.describe_column(columns.positive)})"
        elif columns.negatives and not negatives:
            reason = f"the negative is empty ({table.describe_column(columns.negatives[0])})"
        elif columns.score is not None and score is None:
            reason = f"the score is no finite number ({table.describe_column(columns.score)})"
        if reason:
            report.drop(reason, table.file_name, table.unit, number)
        else:
            examples.append(RelatedTexts(row[columns.anchor], row[columns.positive], negatives, score, number))
    return examples


def with_equal_negatives(
    examples: Sequence[RelatedTexts], files: Sequence[RawTable], report: DropReport
) -> list[RelatedTexts]:
    """The examples with as many negatives as the one with the fewest has, the first of each.

    How many that leaves out is noted; `files` are those of each example.
    """
    counts = [len(example.negatives) for example in examples]
    fewest = min(counts, default=0)
    if surplus := sum(counts) - fewest * len(counts):
        shortest = counts.index(fewest)
        place = row_location(files[shortest].file_name, files[shortest].unit, examples[shortest].row)
        report.note(
            f"{pluralized(surplus, 'negative was', 'negatives were')} left out: all examples need as many as the one "
            f"with the fewest, and {place} has {fewest}."
        )
    return [replace(example, negatives=example.negatives[:fewest]) for example in examples]


def score_range(examples: Sequence[RelatedTexts]) -> tuple[float, float] | None:
    """The smallest and the largest score, by which scores become cosines; None where they are cosines or absent."""
    scores = [example.score for example in examples if example.score is not None]
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    return None if _COSINES[0] <= low <= high <= _COSINES[1] or low == high else (low, high)


def with_cosines(examples: Sequence[RelatedTexts], bounds: tuple[float, float] | None) -> list[RelatedTexts]:
    """The examples with scores from 0, at the lower bound, to 1."""
    if bounds is None:
        return list(examples)
    low, high = bounds
    return [
        e if e.score is None else replace(e, score=min(1.0, max(0.0, (e.score - low) / (high - low)))) for e in examples
    ]


def related_file_info(table: RawTable, columns: RelatedColumns) -> FileInfo:
    """How a table was read, with its columns."""
    names = table.column_names
    return replace(
        table.info,
        header=table.names is not None and table.info.format == "table",
        columns=names,
        text_a=names[columns.anchor],
        text_b=names[columns.positive],
        label="" if columns.score is None else names[columns.score],
        rows=preview(table.rows),
    )
