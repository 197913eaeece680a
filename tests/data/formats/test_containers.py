"""Compressed files, workbooks, and files of columns give the examples that they contain."""

import bz2
import gzip
import io
import lzma
import zipfile

import datasets
import pyarrow
import pytest
from pyarrow import feather, ipc, parquet

from bertviz_lab.data.formats.read import read_task
from bertviz_lab.data.tasks.unlabeled_inputs import read_inputs
from bertviz_lab.errors import InputError
from tests.data.formats.support import rows_of, table
from tests.data.support import written, zipped

ROWS = [(f"good film number {n}", None, ("neg", "pos")[n % 2]) for n in range(20)]
TEXTS, LABELS = [row[0] for row in ROWS], [row[2] for row in ROWS]
PACKERS = {
    "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress,
    "zst": lambda content: pyarrow.compress(content, "zstd", asbytes=True),
}  # fmt: skip


@pytest.mark.parametrize("ending", PACKERS)
def test_a_compressed_file_is_read_alone_and_in_a_zip(ending, tmp_path):
    packed = PACKERS[ending](table().encode())
    assert rows_of(read_task(written(tmp_path, f"a.csv.{ending}", packed))) == ROWS
    tests = PACKERS[ending](b"unseen\n")
    data = read_task(zipped(tmp_path, {f"train.csv.{ending}": packed, f"test.csv.{ending}": tests}))
    assert rows_of(data) == ROWS
    lines = written(tmp_path, f"b.txt.{ending}", PACKERS[ending](b"one\ntwo\n"))
    assert [example.text_a for example in read_inputs(lines, "classification").examples] == ["one", "two"]


def test_a_compressed_file_that_is_cut_off_or_unpacks_to_very_much_is_refused(tmp_path):
    with pytest.raises(InputError, match=r'"a\.csv\.gz" is damaged; pack it again'):
        read_task(written(tmp_path, "a.csv.gz", gzip.compress(table().encode())[:-20]))
    with pytest.raises(InputError, match="unpacks to more than is read"):
        read_task(written(tmp_path, "b.csv.gz", gzip.compress(b"the same line,a\n" * 2_000_000)))


def workbook(sheets: dict[str, list[tuple]]) -> bytes:
    """Return an .xlsx file with these rows of strings and numbers."""
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"

    def cell(value) -> str:
        text = f'<c t="inlineStr"><is><t>{value}</t></is></c>'
        return text if isinstance(value, str) else f"<c><v>{value}</v></c>"

    files = {
        "_rels/.rels": [f'<Relationship Id="r" Type="{kind}/officeDocument" Target="xl/workbook.xml"/>'],
        "xl/_rels/workbook.xml.rels": [
            f'<Relationship Id="r{n}" Type="{kind}/worksheet" Target="worksheets/{n}.xml"/>' for n in range(len(sheets))
        ],
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, relations in files.items():
            package = "http://schemas.openxmlformats.org/package/2006/relationships"
            archive.writestr(name, f'<Relationships xmlns="{package}">{"".join(relations)}</Relationships>')
        names = "".join(f'<sheet name="{name}" sheetId="{n + 1}" r:id="r{n}"/>' for n, name in enumerate(sheets))
        body = f'<workbook xmlns="{main}" xmlns:r="{kind}"><sheets>{names}</sheets></workbook>'
        archive.writestr("xl/workbook.xml", body)
        for n, rows in enumerate(sheets.values()):
            lines = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
            archive.writestr(
                f"xl/worksheets/{n}.xml", f'<worksheet xmlns="{main}"><sheetData>{lines}</sheetData></worksheet>'
            )
    return packed.getvalue()


SHEET = [("Survey 2024", "", ""), ("no", "text", "stars"), *((n, text, n % 3) for n, text in enumerate(TEXTS))]


def test_the_sheet_of_a_workbook_that_is_a_table_is_read(tmp_path):
    content = workbook({"About": [("Made in May",)], "Data": [*SHEET, ("Total", "", 20)]})
    for path in (written(tmp_path, "a.xlsx", content), zipped(tmp_path, {"train.xlsx": content})):
        data = read_task(path)
        assert rows_of(data) == [(text, None, str(n % 3)) for n, text in enumerate(TEXTS)]
        assert [repair.count for repair in data.repaired] == [1, 1], "a title and a row of totals"
        assert any('only the sheet "Data" is read, not "About"' in note for note in data.notes)


def test_of_several_sheets_with_tables_one_has_to_be_named(tmp_path):
    path = written(tmp_path, "a.xlsx", workbook({"May": SHEET[:9], "June": SHEET}))
    with pytest.raises(InputError, match='2 sheets with tables; name one with --sheet: "May", "June"'):
        read_task(path)
    assert len(read_task(path, sheet="June").examples) == len(read_task(path, sheet="2").examples) == 20
    with pytest.raises(InputError, match='has no sheet "July"'):
        read_task(path, sheet="July")


def test_what_is_no_workbook_is_refused(tmp_path):
    for content in (b"PK\x03\x04" + bytes(90), b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)):
        with pytest.raises(InputError, match=r'"a\.xlsx" is no workbook that can be opened'):
            read_task(written(tmp_path, "a.xlsx", content))


def test_files_of_columns_are_read_alone_and_in_a_zip(tmp_path):
    columns = pyarrow.table({"text": [text.encode() for text in TEXTS], "label": LABELS})
    columns = columns.set_column(1, "label", columns["label"].dictionary_encode())
    parquet.write_table(columns, tmp_path / "a.parquet")
    feather.write_feather(columns, str(tmp_path / "a.feather"))
    with ipc.new_stream(str(tmp_path / "a.arrow"), columns.schema) as stream:
        stream.write_table(columns)
    for name in ("a.parquet", "a.feather", "a.arrow"):
        assert rows_of(read_task(tmp_path / name)) == ROWS, name
        assert rows_of(read_task(zipped(tmp_path, {name: (tmp_path / name).read_bytes()}))) == ROWS, name
    with pytest.raises(InputError, match=r'"b\.arrow" is a damaged table'):
        read_task(written(tmp_path, "b.arrow", (tmp_path / "a.arrow").read_bytes()[:-400]))


def test_data_sets_that_were_saved_to_disk_are_read_with_their_class_names(tmp_path):
    features = datasets.Features({"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["pos", "neg"])})
    saved = datasets.Dataset.from_dict({"text": TEXTS, "label": LABELS}, features=features)
    saved.save_to_disk(str(tmp_path / "one"), num_shards=2)
    datasets.DatasetDict({"train": saved, "test": saved.select(range(5))}).save_to_disk(str(tmp_path / "two"))
    for folder in ("one", "two"):
        data = read_task(tmp_path / folder)
        assert rows_of(data) == ROWS
        assert data.labels == ("pos", "neg")
