"""What a column of a table holds, as far as its role follows from it: texts, labels, numbers, dates, names of rows."""

import re
from dataclasses import dataclass

from bertviz_lab.data.formats.labels import are_comma_decimals, is_missing, number_of

_DATE = re.compile(
    r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
    r"|[a-z]{1,2}[ds]t|utc|gmt|cet|mes?z|am|pm|t|z"
    r"|\d{1,4}+(?:st|nd|rd|th)?|[\s,./:+-])++",  # without going back: ids are long
    re.IGNORECASE,
)
_LONGEST_NAME, _LONGEST_LABEL = 40, 60  # in characters
_PROFILE_ROWS = 2_000


@dataclass(frozen=True)
class Profile:
    """What a column holds."""

    values: list[str]  # of all rows
    distinct: int  # different values in all rows
    length: float  # mean number of characters; this and the following are measured on a sample of the rows
    spaced: float  # fraction of values with a space inside
    words: float  # mean number of words
    filled: float  # fraction of values that are not missing
    # fractions of the values that are not missing
    numbers: float
    decimals: float
    dates: float
    objects: float  # lists and objects of JSON

    @classmethod
    def of(cls, values: list[str]) -> "Profile":
        sample = values[:: max(1, len(values) // _PROFILE_ROWS)]
        count = max(1, len(sample))
        filled = [value for value in sample if not is_missing(value)]
        are_decimals = are_comma_decimals(filled)
        numbers = [value for value in filled if are_decimals or number_of(value) is not None]
        stripped = [value.strip() for value in sample]
        letters = [sum(c >= "\u0e00" for c in value) for value in stripped]  # of scripts without blanks, and others
        return cls(
            values=values,
            distinct=len(set(values)),
            length=sum(map(len, stripped)) / count,
            spaced=sum(" " in value or n > 1 for value, n in zip(stripped, letters, strict=True)) / count,
            words=sum(len(value.split()) + n // 2 for value, n in zip(stripped, letters, strict=True)) / count,
            filled=len(filled) / count,
            numbers=len(numbers) / max(1, len(filled)),
            decimals=sum("." in value or "," in value for value in numbers) / max(1, len(filled)),
            dates=sum(map(is_date, filled)) / max(1, len(filled)),
            objects=sum((v[:1] + v[-1:]) in ("[]", "{}") for v in stripped) / count,
        )

    @property
    def rows(self) -> int:
        return len(self.values)

    @property
    def is_text(self) -> bool:
        """Neither constant, nor numbers, dates or names of rows."""
        return not (self.is_constant or self.is_id or max(self.numbers, self.dates, self.objects) > 0.9)

    @property
    def is_constant(self) -> bool:
        return self.distinct <= 1 and self.rows > 1

    @property
    def is_id(self) -> bool:
        """Numbers the rows, or names them."""
        is_unique = self.distinct > 0.9 * self.rows and self.rows >= 5 and self.spaced < 0.05
        return is_unique and self.length <= _LONGEST_NAME and not self.decimals

    @property
    def is_label(self) -> bool:
        """One of a few short values, or a number."""
        if self.is_constant or self.length > _LONGEST_LABEL or self.filled < 0.5 or self.is_id:
            return False
        if self.numbers > 0.9 and self.decimals:
            return True
        return self.distinct <= max(2, self.rows // 5)


def is_date(value: str) -> bool:
    """Return whether a cell is a date or a time: digits and signs, with names of months, days and zones."""
    value = value.strip()
    looks = (
        6 <= len(value) <= 40 and re.search(r"\d", value) and re.search(r"[^\d.]|^\d?\.\d\d?\.\d\d(\d\d)?$", value[1:])
    )
    return bool(looks) and _DATE.fullmatch(value) is not None
