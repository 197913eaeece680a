"""Tables of words: a row a word with its label and the number of its sentence, or a row a sentence with its labels."""

from collections.abc import Iterator
from dataclasses import replace

from bertviz_lab.data.examples import LabelledWords
from bertviz_lab.data.formats.conll import PLAIN, bio_scheme, canonical_labels
from bertviz_lab.data.formats.options import ReadOptions
from bertviz_lab.data.formats.raw import DropReport, RawSentences, RawTable, column_index, preview

_WORDS = ("word", "words", "token", "tokens", "form", "text", "sentence")
_TAGS = ("tag", "tags", "ner", "ner_tag", "ner_tags", "label", "labels", "word_labels", "iob", "bio", "entity", "pos")
_SENTENCES = (
    "sentence #",
    "sentence_id",
    "sentence_idx",
    "sent_id",
    "sentence",
    "sent",
    "sentence id",
    "sentence_number",
)
_SAMPLE = 500  # rows by which a table is recognized


def sentences_of_table(table: RawTable, options: ReadOptions, report: DropReport) -> RawSentences | None:
    """Return the labeled words of a table after `split_header`; None where it holds no such words.

    Its labels must mark spans, unless the task is given as tokens.
    """
    names = [name.lower() for name in table.column_names]
    tag = _column(table, options.label, _TAGS, names)
    word = _column(table, options.text_a, _WORDS, names)
    if tag is None or word is None or tag == word:
        return None
    sample = [row for row in table.rows[:_SAMPLE] if len(row) == table.width]
    marks = bio_scheme([canonical_labels(label for row in sample for label in _split(row[tag]))]) != PLAIN
    if not sample or (not marks and options.task != "tokens"):
        return None
    is_word = sum(" " not in row[word].strip() for row in sample) > 0.9 * len(sample)
    number = next((names.index(name) for name in _SENTENCES if name in names and names.index(name) != word), None)
    if is_word and number is None:
        return None
    info = replace(
        table.info,
        header=table.names is not None,
        columns=table.column_names,
        text_a=table.column_names[word],
        label=table.column_names[tag],
        rows=preview(table.rows),
    )
    raw = RawSentences(info, table.unit)
    if is_word and number is not None:
        sentences = _sentences_of_rows(table, word, tag, number)
    else:
        sentences = (
            LabelledWords(tuple(_split(row[word])), tuple(_split(row[tag])), n)
            for n, row in zip(table.numbers, table.rows, strict=True)
            if len(row) == table.width
        )
    for sentence in sentences:
        if len(sentence.words) != len(sentence.labels):
            report.drop("it has not as many labels as words", table.file_name, table.unit, sentence.row)
        elif not all(sentence.words) or not all(sentence.labels):
            report.drop("a word or its label is missing", table.file_name, table.unit, sentence.row)
        else:
            raw.sentences.append(sentence)
    return raw if raw.sentences else None


def _column(table: RawTable, given: str, usual: tuple[str, ...], names: list[str]) -> int | None:
    if given:
        return column_index(given, table.column_names, table.file_name)
    return next((names.index(name) for name in usual if name in names), None)


def _split(cell: str) -> list[str]:
    """Return the parts of a cell: between blanks, or of a list in brackets, or between commas."""
    inner = cell.strip()
    if inner[:1] == "[" and inner[-1:] == "]":
        return [part.strip(" '\"\n") for part in inner[1:-1].replace("' '", "','").split(",")]
    return inner.split("," if "," in inner and " " not in inner else None)


def _sentences_of_rows(table: RawTable, word: int, tag: int, number: int) -> Iterator[LabelledWords]:
    """Yield the words of rows with the same number of a sentence, which may be given in its first row only."""
    words: list[str] = []
    labels: list[str] = []
    current, first = "", 0
    for row_number, row in zip(table.numbers, table.rows, strict=True):
        if len(row) != table.width:
            continue
        if row[number].strip() and row[number] != current:
            if words:
                yield LabelledWords(tuple(words), tuple(labels), first)
            current, words, labels = row[number], [], []
        if not words:
            first = row_number
        words.append(row[word].strip())
        labels.append(row[tag].strip())
    if words:
        yield LabelledWords(tuple(words), tuple(labels), first)
