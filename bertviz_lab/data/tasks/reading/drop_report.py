"""What reading keeps account of: rows that gave no example, and what was repaired."""

from collections import Counter

from bertviz_lab.data.corpora.file_names import quoted
from bertviz_lab.data.tasks.examples import Dropped

#: Places that are named for one reason.
PLACES = 5


def place(name: str, unit: str, row: int) -> str:
    """A row as messages name it: '"reviews.csv" row 17'."""
    return f"{quoted(name)} {unit} {row:,}"


def listed(names: list[str], most: int = 10) -> str:
    """Names in quotation marks, with commas; of many, the first."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(map(quoted, names[:most])) + more


def counted(number: int, one: str, many: str) -> str:
    """ "1 line", "1,200 lines"."""
    return f"{number:,} {one if number == 1 else many}"


class Ledger:
    """Filled while files are read. Every row that gives no example is in `dropped`, every repair in `notes`."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self._counts: Counter[str] = Counter()
        self._places: dict[str, list[str]] = {}

    def drop(self, reason: str, name: str, unit: str, row: int) -> None:
        """One row gives no example, for this reason."""
        self._counts[reason] += 1
        where = self._places.setdefault(reason, [])
        if len(where) < PLACES:
            where.append(place(name, unit, row))

    def note(self, sentence: str) -> None:
        """A sentence for the person, once."""
        if sentence not in self.notes:
            self.notes.append(sentence)

    @property
    def dropped(self) -> tuple[Dropped, ...]:
        return tuple(Dropped(reason, n, tuple(self._places[reason])) for reason, n in self._counts.items())

    @property
    def dropped_rows(self) -> int:
        return sum(self._counts.values())


class Repairs:
    """Counts one kind of repair in one file, and remembers the first row of it."""

    def __init__(self, name: str, unit: str) -> None:
        self.name, self.unit = name, unit
        self.count, self.first = 0, 0

    def add(self, row: int) -> None:
        self.count += 1
        self.first = self.first or row

    def tell(self, ledger: Ledger, one: str, many: str) -> None:
        """Note `one` or `many` with the count in front and the first place behind, if there was any."""
        if self.count:
            what = counted(self.count, one, many)
            ledger.note(f"{what} (first: {place(self.name, self.unit, self.first)}).")
