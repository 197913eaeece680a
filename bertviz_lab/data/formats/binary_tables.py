"""Tables that are no text: Parquet, Arrow and Feather, also as `datasets` saves them, and sheets of workbooks."""

import io
import json
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from bertviz_lab.data.corpora.reading_notes import quoted, quoted_list
from bertviz_lab.data.corpora.sources import Source
from bertviz_lab.data.corpora.streams import Meter, refuse_bomb
from bertviz_lab.data.examples import FileInfo
from bertviz_lab.data.formats.raw import MAX_COLUMNS, DropReport, RawData, RawFile, RawTable, ReadOptions
from bertviz_lab.data.formats.records import ClassNames, cell_text, raw_data_of_records
from bertviz_lab.data.formats.tables import without_titles
from bertviz_lab.errors import InputError, panics_as_errors

#: How files of columns begin; the last is a stream of Arrow, which `datasets` writes.
_PARQUET, _ARROW, _ARROW_STREAM = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"
_BYTES_PER_VALUE = 8  # of a list in memory, however few the file takes for it
_ROWS = 64  # taken at once: a few bytes of a compressed column can expand to megabytes of text in every row
#: The endings of workbooks, and how they begin: as zips, or as the compound files of old Office programs.
WORKBOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
_WORKBOOK_MAGICS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")


def read_columns(source: Source, meter: Meter, options: ReadOptions, report: DropReport) -> RawData:
    """Read a file of columns, a batch of rows at a time; class names come from the metadata that `datasets` writes."""
    import pyarrow
    from pyarrow import ipc, parquet

    place = source.random_access(meter)
    try:
        with pyarrow.OSFile(str(place)) if isinstance(place, Path) else pyarrow.BufferReader(place.getvalue()) as file:
            magic = file.read(4)
            file.seek(0)
            batches: Iterator[Any]
            if magic == _PARQUET:
                table = parquet.ParquetFile(file)
                groups = [table.metadata.row_group(n) for n in range(table.metadata.num_row_groups)]
                values = sum(group.column(c).num_values for group in groups for c in range(group.num_columns))
                if values * _BYTES_PER_VALUE > options.max_bytes:
                    what = f"holds {values:,} values, more than are read; give a part of it."
                    raise InputError(f"{quoted(source.name)} {what}")
                schema, batches = table.schema_arrow, table.iter_batches(_ROWS)
            elif magic == _ARROW_STREAM:
                stream = ipc.open_stream(file)
                schema, batches = stream.schema, iter(stream)
            else:
                arrow = ipc.open_file(file)
                schema, batches = arrow.schema, (arrow.get_batch(n) for n in range(arrow.num_record_batches))
            parts = (batch.slice(start, _ROWS) for batch in batches for start in range(0, batch.num_rows, _ROWS))
            rows = (row for part in parts for row in part.to_pylist())
            info = FileInfo(source.name, "parquet" if magic == _PARQUET else "arrow")
            return raw_data_of_records(rows, _class_names(schema.metadata or {}), RawFile(info), options, report)
    except (pyarrow.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise InputError(f"{quoted(source.name)} is a damaged table ({reason}); make it again.") from None


def _class_names(metadata: dict[bytes, bytes]) -> ClassNames:
    try:
        features = json.loads(metadata.get(b"huggingface", b"{}"))["info"]["features"]
    except (ValueError, KeyError, TypeError):
        return {}
    names = {}
    for column, feature in features.items():
        inner = feature.get("feature", feature) if isinstance(feature, dict) else {}
        if isinstance(inner, dict) and inner.get("_type") == "ClassLabel":
            names[column] = inner.get("names", ())
    return names


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
    raise InputError(f"{quoted(name)} {what}; name one with `sheet`: {quoted_list(tables, 20)}.")


def _text(cell: Any) -> str:
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else cell_text(cell)


#: What reads a file that begins so.
BINARY_READERS = dict.fromkeys((_PARQUET, _ARROW, _ARROW_STREAM), read_columns) | dict.fromkeys(
    _WORKBOOK_MAGICS, read_workbook
)
