"""Tables of texts that belong together: pairs, triplets with negatives, or pairs with scores."""

from collections.abc import Sequence, Set
from dataclasses import replace
from typing import NamedTuple

from bertviz_lab.data.corpora.reading_notes import pluralized, quoted, quoted_list
from bertviz_lab.data.examples import FileInfo, RelatedTexts
from bertviz_lab.data.formats.column_profile import Profile
from bertviz_lab.data.formats.columns import LABEL_NAMES, METADATA_NAMES, RELATED_NAMES, by_name
from bertviz_lab.data.formats.labels import are_comma_decimals, is_missing, number_of
from bertviz_lab.data.formats.raw import DropReport, RawTable, ReadOptions
from bertviz_lab.data.formats.tables import check_numbers, even_rows, write_points
from bertviz_lab.errors import InputError


class RelatedColumns(NamedTuple):
    """Indexes of the columns that are used; `score` is None where there is none."""

    anchor: int
    positive: int
    score: int | None
    negatives: tuple[int, ...]


def read_related(
    splits: Sequence[tuple[Sequence[RawTable], DropReport]], options: ReadOptions
) -> list[tuple[list[RelatedTexts], tuple[FileInfo, ...], DropReport]]:
    """Return the examples of each split, of tables after `split_header`; scores are scaled as those of the first.

    Raises `InputError` for a table without two columns of texts, scores that are no numbers, or scores in some files.
    """
    results = []
    bounds: tuple[float, float] | None = None
    for tables, report in splits:
        examples: list[RelatedTexts] = []
        files: list[RawTable] = []  # of each example
        infos = []
        for table in tables:
            columns = _choose_columns(table, options, report)
            examples += _related_texts(table, columns, report)
            files += [table] * (len(examples) - len(files))
            negatives = tuple(table.column_names[column] for column in columns.negatives)
            infos.append(replace(table.info_with_columns(*columns[:3]), negatives=negatives))
        scores = [example.score for example in examples if example.score is not None]
        if 0 < len(scores) < len(examples):
            raise InputError("Some of the files have scores and others have none; give files of one kind.")
        low, high = bounds or (min(scores, default=0.0), max(scores, default=0.0))
        if bounds is None and low < high and (low < -1 or high > 1):  # others are cosines already
            bounds = low, high
            report.note(f"The scores from {low:g} to {high:g} were scaled to cosines from 0 to 1.")
        examples = _with_equal_negatives(examples, files, report)
        if bounds is not None:
            cosines = (
                None if e.score is None else min(1.0, max(0.0, (e.score - low) / (high - low))) for e in examples
            )
            examples = [replace(e, score=cosine) for e, cosine in zip(examples, cosines, strict=True)]
        results.append((examples, tuple(infos), report))
    return results


def _choose_columns(table: RawTable, options: ReadOptions, report: DropReport) -> RelatedColumns:
    names = by_name(table)
    profiles = [Profile.of(column) for column in table.columns]
    anchor, positive, score = table.given(options)
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
            f"{quoted(table.name)} has no two columns of texts that belong together; name them: "
            f"{quoted_list(table.column_names, 20)}."
        )
    if score is None:
        score = _score_column(table, profiles, {anchor, positive})
    others = by_name(table, {anchor, positive})
    negatives = [column for name, column in others.items() if name.startswith(("neg", "hard_neg"))]
    if score is not None:
        negatives = []
    elif all(name.isdigit() for name in table.column_names):
        negatives = [column for column in texts if column not in (anchor, positive)]
    if score is None:
        _doubt_unread(table, profiles, {anchor, positive, *negatives}, report)
    return RelatedColumns(anchor, positive, score, tuple(sorted(negatives)))


def _score_column(table: RawTable, profiles: Sequence[Profile], taken: set[int]) -> int | None:
    """Return the one column of numbers that do not count the rows; of several one with the name of a label."""
    names = [name.lower() for name in table.column_names]
    numbers = [
        column
        for column, profile in enumerate(profiles)
        if column not in taken and profile.numbers > 0.9 and not profile.is_id and names[column] not in METADATA_NAMES
    ]
    named = [column for column in numbers if names[column] in LABEL_NAMES]
    return next(iter(named or (numbers if len(numbers) == 1 else [])), None)


def _doubt_unread(table: RawTable, profiles: Sequence[Profile], used: Set[int], report: DropReport) -> None:
    """Doubt that all texts of a row belong together where another column may say of which rows they do."""
    for name, column in by_name(table, used).items():
        if name not in METADATA_NAMES and (name in LABEL_NAMES or profiles[column].is_label):
            unread = f"The {table.describe_column(column)} of {quoted(table.name)} is not read, and all pairs are taken"
            advice = "name the score with --label, or the second text with --text-b"
            report.doubt(f"{unread} for texts that belong together: {advice}.", "text_b", "label")
            return


def _related_texts(table: RawTable, columns: RelatedColumns, report: DropReport) -> list[RelatedTexts]:
    """Return the examples of a table or why there is none of a row; lines of a negative cell are negatives each."""
    if columns.score is not None:
        if are_comma_decimals([cell for cell in table.columns[columns.score] if not is_missing(cell)]):
            write_points(table, columns.score, report)
        check_numbers(table, columns.score, "the scores of pairs are")
    examples = []
    for number, row in even_rows(table, columns[:2], lambda repaired: False, report):
        reason = ""
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
            report.drop(reason, table, number)
        else:
            texts = row[columns.anchor], row[columns.positive]
            examples.append(RelatedTexts(*texts, negatives, score, number, table.name))
    return examples


def _with_equal_negatives(
    examples: Sequence[RelatedTexts], files: Sequence[RawTable], report: DropReport
) -> list[RelatedTexts]:
    """Return the examples, which are of these files, with as many negatives as the one with the fewest has."""
    counts = [len(example.negatives) for example in examples]
    fewest = min(counts, default=0)
    if surplus := sum(counts) - fewest * len(counts):
        shortest = counts.index(fewest)
        report.note(
            f"{pluralized(surplus, 'negative<s> <was|were>')} left out: all examples need as many as the one "
            f"with the fewest, and {files[shortest].at(examples[shortest].row)} has {fewest}."
        )
    return [replace(example, negatives=example.negatives[:fewest]) for example in examples]
