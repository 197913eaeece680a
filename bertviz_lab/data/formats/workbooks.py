"""Workbooks of spreadsheets (.xlsx, .xls, .ods): the rows of one sheet."""

import io
import zipfile
from contextlib import suppress
from typing import Any

from bertviz_lab.data.corpora.reading_notes import quoted, quoted_list
from bertviz_lab.data.corpora.sources import Meter, Source, refuse_bomb
from bertviz_lab.data.examples import FileInfo
from bertviz_lab.data.formats.raw import MAX_COLUMNS, DropReport, RawTable, ReadOptions
from bertviz_lab.data.formats.records import cell_text
from bertviz_lab.data.formats.tables import without_titles
from bertviz_lab.errors import InputError, panics_as_errors

#: The endings of workbooks, and how they begin: as zips, or as the compound files of old Office programs.
ENDINGS, MAGICS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"), (b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")


def read_workbook(source: Source, meter: Meter, options: ReadOptions, report: DropReport) -> RawTable:
    """Read the sheet that is a table. Raises `InputError` where none is, or several are and none is given."""
    import python_calamine

    place = source.random_access(meter)
    with suppress(zipfile.BadZipFile), zipfile.ZipFile(place) as archive:
        refuse_bomb(source.name, sum(i.file_size for i in archive.infolist()), source.size, options.max_bytes)
    if isinstance(place, io.BytesIO):
        place.seek(0)
    try:
        with panics_as_errors(), python_calamine.load_workbook(place) as book:
            shown = [s.name for s in book.sheets_metadata if s.visible == python_calamine.SheetVisibleEnum.Visible]
            sheets = {name: book.get_sheet_by_name(name) for name in shown}
            tables = [name for name, sheet in sheets.items() if sheet.height > 1 and sheet.width > 1]
            chosen = _sheet(source.name, tables, options.sheet)
            others = [name for name, sheet in sheets.items() if sheet.height and name != chosen]
            start, width = sheets[chosen].start, sheets[chosen].width
            if width > MAX_COLUMNS:
                raise InputError(f"{quoted(source.name)} has more than {MAX_COLUMNS:,} columns; give fewer.")
            options.check_count(sheets[chosen].height - 1, source.name)  # one may be the header
            rows = [[_text(cell) for cell in row] for row in sheets[chosen].to_python()]
    except (python_calamine.CalamineError, RuntimeError, OSError) as error:
        raise InputError(f"{quoted(source.name)} is no workbook that can be opened ({error}); save it again.") from None
    if others:
        report.note(f"Of {quoted(source.name)} only the sheet {quoted(chosen)} is read, not {quoted_list(others)}.")
    first = 1 + (start or (0, 0))[0]
    numbered = [(number, row) for number, row in enumerate(rows, first) if any(row)]
    info = FileInfo(source.name, "workbook")
    table = RawTable(info, "row", [row for _, row in numbered], [number for number, _ in numbered], width)
    return without_titles(table, report)


def _sheet(name: str, tables: list[str], given: str) -> str:
    """Return the sheet to read: the one that is given by name or number, or the only one that is a table."""
    if given.isdigit() and given not in tables and 1 <= int(given) <= len(tables):
        return tables[int(given) - 1]
    if given in tables or (len(tables) == 1 and not given):
        return given or tables[0]
    if not tables:
        raise InputError(f"{quoted(name)} has no sheet with a table; give one with a text and a label in each row.")
    what = f"has no sheet {quoted(given)}" if given else f"has {len(tables)} sheets with tables"
    raise InputError(f"{quoted(name)} {what}; name one with --sheet: {quoted_list(tables, 20)}.")


def _text(cell: Any) -> str:
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else cell_text(cell)
