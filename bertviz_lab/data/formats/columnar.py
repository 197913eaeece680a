"""Parquet, Arrow and Feather files, also those that `datasets` saves to disk: their rows as records."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bertviz_lab.data.corpora.reading_notes import quoted
from bertviz_lab.data.corpora.sources import Meter, Source
from bertviz_lab.data.examples import FileInfo
from bertviz_lab.data.formats.raw import DropReport, RawData, RawFile, ReadOptions
from bertviz_lab.data.formats.records import ClassNames, raw_data_of_records
from bertviz_lab.errors import InputError

#: How files of columns begin; the last is a stream of Arrow, which `datasets` writes.
PARQUET, ARROW, ARROW_STREAM = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"
_BYTES_PER_VALUE = 8  # of a list in memory, however few the file takes for it
_ROWS = 64  # taken at once: a few bytes of a compressed column can expand to megabytes of text in every row


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
            if magic == PARQUET:
                table = parquet.ParquetFile(file)
                groups = [table.metadata.row_group(n) for n in range(table.metadata.num_row_groups)]
                values = sum(group.column(c).num_values for group in groups for c in range(group.num_columns))
                if values * _BYTES_PER_VALUE > options.max_bytes:
                    what = f"holds {values:,} values, more than are read; give a part of it."
                    raise InputError(f"{quoted(source.name)} {what}")
                schema, batches = table.schema_arrow, table.iter_batches(_ROWS)
            elif magic == ARROW_STREAM:
                stream = ipc.open_stream(file)
                schema, batches = stream.schema, iter(stream)
            else:
                arrow = ipc.open_file(file)
                schema, batches = arrow.schema, (arrow.get_batch(n) for n in range(arrow.num_record_batches))
            parts = (batch.slice(start, _ROWS) for batch in batches for start in range(0, batch.num_rows, _ROWS))
            rows = (row for part in parts for row in part.to_pylist())
            info = FileInfo(source.name, "parquet" if magic == PARQUET else "arrow")
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
