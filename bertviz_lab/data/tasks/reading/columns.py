"""What the columns of a table mean: is the first row a header, where are the text, a second one, and the label?

Names that are in use say it (`sentence1`, `hypothesis`, `label` ...). Without them the content does: texts are long, a
label is one of a few short values, and what numbers the rows or is always the same is neither.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from bertviz_lab.data.corpora.file_names import quoted
from bertviz_lab.data.corpora.formats.fields import TEXT_NAMES
from bertviz_lab.data.tasks.reading.labels import is_missing, number_of
from bertviz_lab.data.tasks.reading.raw_data import Sheet, listed
from bertviz_lab.data.tasks.reading.read_options import NO_TEXT, Wishes
from bertviz_lab.errors import InputError

#: The first and the second text of a pair.
PAIR_NAMES = (
    ("sentence1", "sentence2"),
    ("premise", "hypothesis"),
    ("question1", "question2"),
    ("#1 string", "#2 string"),
    ("question", "passage"),
    ("question", "sentence"),
    ("question", "context"),
    ("query", "passage"),
    ("query", "document"),
    ("claim", "evidence"),
    ("text_a", "text_b"),
    ("text1", "text2"),
    ("text_1", "text_2"),
    ("sentence_a", "sentence_b"),
    ("sentence_1", "sentence_2"),
    ("string1", "string2"),
    ("s1", "s2"),
)
#: A text, where there is one; the first of these that a table has.
ONE_TEXT_NAMES = (*TEXT_NAMES, "text_a", "sentence1", "question", "query", "utterance", "headline", "title", "phrase")
#: The label; the first of these that a table has.
LABEL_NAMES = (
    "label",
    "labels",
    "gold_label",
    "class",
    "category",
    "sentiment",
    "target",
    "score",
    "quality",
    "is_duplicate",
    "coarse_label",
    "intent",
    "emotion",
    "topic",
    "stars",
    "rating",
    "similarity",
    "similarity_score",
    "relatedness_score",
    "polarity",
    "airline_sentiment",
    "label-coarse",
    "fine_label",
    "tag",
    "answer",
    "type",
    "y",
)
#: What comes with examples and is neither text nor label.
ASIDE = frozenset({"id", "idx", "index", "split", "fold", "lang", "language", "source", "genre", "date", "url", "user"})


_LONGEST_TITLE, _LONGEST_LABEL = 40, 60
_SAMPLE = 2_000


@dataclass(frozen=True)
class Columns:
    """Indexes of the columns that are used; `text_b` None for texts that are no pairs."""

    text_a: int
    text_b: int | None
    label: int


@dataclass(frozen=True)
class Profile:
    """What a column holds.

    Attributes:
        distinct: different values in all rows.
        length: mean number of characters, over the rows of a sample, as are the shares that follow.
        spaced: share of values with a blank inside.
        words: mean number of words.
        filled: share of values that are not missing.
        numbers, decimals: shares of the filled ones.
    """

    rows: int
    distinct: int
    length: float
    spaced: float
    words: float
    filled: float
    numbers: float
    decimals: float

    @classmethod
    def of(cls, values: list[str]) -> "Profile":
        sample = values[:: max(1, len(values) // _SAMPLE)]
        count = max(1, len(sample))
        filled = [value for value in sample if not is_missing(value)]
        numbers = [value for value in filled if number_of(value) is not None]
        stripped = [value.strip() for value in sample]
        return cls(
            rows=len(values),
            distinct=len(set(values)),
            length=sum(map(len, stripped)) / count,
            spaced=sum(" " in value for value in stripped) / count,
            words=sum(len(value.split()) for value in stripped) / count,
            filled=len(filled) / count,
            numbers=len(numbers) / max(1, len(filled)),
            decimals=sum("." in value for value in numbers) / max(1, len(filled)),
        )

    @property
    def is_constant(self) -> bool:
        return self.distinct <= 1 and self.rows > 1

    @property
    def is_id(self) -> bool:
        """Numbers the rows, or names them."""
        alone = self.distinct > 0.9 * self.rows and self.rows >= 5 and self.spaced < 0.05
        return alone and self.length <= _LONGEST_TITLE and not self.decimals

    @property
    def is_label(self) -> bool:
        """One of a few short values, or a number."""
        if self.is_constant or self.length > _LONGEST_LABEL or self.filled < 0.5 or self.is_id:
            return False
        if self.numbers > 0.9 and self.decimals:
            return True
        return self.distinct <= max(2, self.rows // 5)


def split_header(sheet: Sheet, wishes: Wishes) -> None:
    """Take the names of the columns from the first row of a sheet, if it is a header."""
    if sheet.names is not None or not sheet.rows or not has_header(sheet.rows, wishes):
        return
    names = [cell.strip() for cell in sheet.rows[0]]
    sheet.rows, sheet.numbers = sheet.rows[1:], sheet.numbers[1:]
    if len(names) == sheet.width - 1 and Profile.of(by_column(sheet)[0]).is_id:
        names = ["", *names]  # as R writes it, with numbers of rows that have no name
    sheet.names = names[: sheet.width]


def has_header(rows: list[list[str]], wishes: Wishes) -> bool:
    """Does the first row name the columns?"""
    if wishes.header != "auto":
        return wishes.header == "yes"
    first = [cell.strip() for cell in rows[0]]
    lower = [cell.lower() for cell in first]
    if any(len(cell) > _LONGEST_TITLE for cell in first) or not any(first):
        return False
    asked = [name.lower() for name in (wishes.text_a, wishes.text_b, wishes.label) if name and not name.isdigit()]
    if any(name in lower for name in asked):
        return True
    body = [[row[c].strip() if c < len(row) else "" for row in rows[1:]] for c in range(len(first))]
    again = [cell in set(column) for cell, column in zip(first, body, strict=True)]
    known = {*LABEL_NAMES, *ONE_TEXT_NAMES, *(name for pair in PAIR_NAMES for name in pair)}
    if any(name in known for name in lower) and not any(a and cell for a, cell in zip(again, first, strict=True)):
        return True
    if len(rows) < 3 or any(number_of(cell) is not None for cell in first if cell) or len(set(lower)) < len(lower):
        return False
    profiles = [Profile.of(column) for column in body]
    if any(p.numbers == 1 and p.filled > 0.5 and cell for p, cell in zip(profiles, first, strict=True)):
        return True
    text = max(range(len(first)), key=lambda c: profiles[c].length)
    title = first[text]
    labels = [c for c in range(len(first)) if c != text and profiles[c].is_label]
    if not labels or not title or title.count(" ") > 2 or any(again[c] for c in labels):
        return False
    if any(profiles[c].distinct > max(2, profiles[c].rows // 8) for c in labels):
        return False
    # The first row has a label of its own: a class of one example, or a title over texts that are longer, or one over
    # classes of many.
    often = all(min(Counter(body[c]).values()) >= 3 for c in labels)
    return profiles[text].length > 2 * len(title) or (often and " " not in title and title[-1].isalnum())


def choose_columns(sheet: Sheet, wishes: Wishes, like: tuple[Sheet, Columns] | None = None) -> Columns:
    """The columns of a sheet that has its header split off; `like` is another of the same making, already known.

    Raises:
        InputError: a column that is named is not there or is named twice, or none looks like a text or a label.
    """
    names = [name.lower() for name in sheet.names or []]
    if like and not any((wishes.text_a, wishes.text_b, wishes.label)):
        other, columns = like
        if sheet.width == other.width and (sheet.names is None or other.names is None or sheet.names == other.names):
            return columns
    used = {
        what: find_column(sheet, wanted)
        for what, wanted in (("text_a", wishes.text_a), ("text_b", wishes.text_b), ("label", wishes.label))
        if wanted and not (what == "text_b" and wanted == NO_TEXT)
    }
    if len(set(used.values())) < len(used):
        raise InputError(f"Texts and label of {quoted(sheet.name)} are to be different columns; name each once.")
    if sheet.width < 2:
        raise InputError(
            f"{quoted(sheet.name)} has one column only, and a text and a label are needed; name its delimiter, "
            "or give a file with both."
        )
    profiles = [Profile.of(column) for column in by_column(sheet)]
    taken = set(used.values())
    label = used.get("label", -1)
    if label < 0:
        label = _label_column(sheet, names, profiles, taken)
        taken.add(label)
    if wishes.text_b == NO_TEXT:
        text_b: int | None = None
        text_a = used.get("text_a", -1)
        return Columns(text_a if text_a >= 0 else text_columns(sheet, names, profiles, taken)[0], None, label)
    if "text_a" in used:
        pair = _partner(names, used["text_a"]) if "text_b" not in used else used["text_b"]
        return Columns(used["text_a"], pair if pair != label else None, label)
    if "text_b" in used:
        return Columns(text_columns(sheet, names, profiles, taken)[0], used["text_b"], label)
    text_a, text_b = text_columns(sheet, names, profiles, taken)
    return Columns(text_a, text_b, label)


def column_names(sheet: Sheet) -> tuple[str, ...]:
    """What the columns can be called: by their names, and by their numbers where they have none."""
    return tuple(
        sheet.names[c] if sheet.names and c < len(sheet.names) and sheet.names[c] else str(c + 1)
        for c in range(sheet.width)
    )


def find_column(sheet: Sheet, wanted: str) -> int:
    """The column of this name (case aside), or of this number from 1. Raises `InputError` where there is none."""
    names = column_names(sheet)
    for candidates, name in ((names, wanted), ([n.lower() for n in names], wanted.strip().lower())):
        if name in candidates:
            return list(candidates).index(name)
    if wanted.isdigit() and 1 <= int(wanted) <= sheet.width:
        return int(wanted) - 1
    raise InputError(f"{quoted(sheet.name)} has no column {quoted(wanted)}; it has {listed(list(names), 20)}.")


def by_column(sheet: Sheet) -> list[list[str]]:
    """The cells of each column, over the even rows."""
    even = [row for row in sheet.rows if len(row) == sheet.width]
    return [list(column) for column in zip(*even, strict=True)] or [[] for _ in range(sheet.width)]


def _label_column(sheet: Sheet, names: list[str], profiles: Sequence[Profile], taken: set[int]) -> int:
    for name in LABEL_NAMES:
        if name in names and names.index(name) not in taken:
            return names.index(name)
    free = [c for c in range(sheet.width) if c not in taken]
    aside = {c for c in free if c < len(names) and names[c] in ASIDE}
    labels = [c for c in free if profiles[c].is_label and c not in aside]
    if labels:
        # Of several, the one with the fewest values, complete ones first; of two alike, the last.
        return min(labels, key=lambda c: (profiles[c].filled < 0.9, profiles[c].distinct, -c))
    if sheet.width == 2 and not taken:  # few rows, or wrong ones, which are refused with their counts later
        return min(free, key=lambda c: (profiles[c].is_constant, profiles[c].distinct, profiles[c].length))
    if len(free) == 1:
        return free[0]
    raise InputError(
        f"No column of {quoted(sheet.name)} looks like a label, one of a few short values; name it: "
        f"{listed(list(column_names(sheet)), 20)}."
    )


def text_columns(
    sheet: Sheet, names: list[str], profiles: Sequence[Profile], taken: set[int]
) -> tuple[int, int | None]:
    """The column of the text, and that of the second text of a pair, among those that are not taken."""
    for first, second in PAIR_NAMES:
        if first in names and second in names and not {names.index(first), names.index(second)} & taken:
            return names.index(first), names.index(second)
    for name in ONE_TEXT_NAMES:
        if name in names and names.index(name) not in taken and not profiles[names.index(name)].is_constant:
            return names.index(name), None
    free = [c for c in range(sheet.width) if c not in taken]
    texts = [c for c in free if not (profiles[c].is_constant or profiles[c].is_id or profiles[c].numbers > 0.9)]
    texts = texts or [c for c in free if profiles[c].numbers <= 0.9] or free
    if not texts:
        raise InputError(f"{quoted(sheet.name)} has no column left for the text; name other columns.")
    longest = max(texts, key=lambda c: profiles[c].length)
    others = [c for c in texts if c != longest and _is_second(profiles[c], profiles[longest])]
    if not others:
        return longest, None
    other = max(others, key=lambda c: profiles[c].length)
    return min(longest, other), max(longest, other)


def _is_second(profile: Profile, longest: Profile) -> bool:
    """A second text beside the longest: of several words, hardly ever the same, and not much shorter."""
    return (
        profile.words >= 3
        and profile.spaced > 0.8
        and profile.distinct > 0.1 * profile.rows
        and profile.length > 0.2 * longest.length
    )


def _partner(names: list[str], text_a: int) -> int | None:
    """The second of a pair whose first is named."""
    for first, second in PAIR_NAMES:
        if text_a < len(names) and names[text_a] == first and second in names:
            return names.index(second)
    return None
