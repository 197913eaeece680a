"""Recognise files that are not text by their first bytes, with advice for each kind."""

from collections.abc import Set

_CONVERT = "open it and save it as plain text (.txt)"
_UNPACK = "unpack it, or pack the texts as a .zip"
_OTHER = "give a text file instead (.txt, .md, .csv, .jsonl or a .zip of these)"

# (offset, bytes, what it is, what to do)
_SIGNATURES: tuple[tuple[int, bytes, str, str], ...] = (
    (0, b"%PDF-", "a PDF", _CONVERT),
    (0, b"{\\rtf", "a Rich Text document", _CONVERT),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Word, Excel or PowerPoint file", _CONVERT),
    (0, b"%!PS", "a PostScript file", _CONVERT),
    (0, b"\x1f\x8b", "compressed with gzip", _UNPACK),
    (0, b"BZh", "compressed with bzip2", _UNPACK),
    (0, b"\xfd7zXZ\x00", "compressed with xz", _UNPACK),
    (0, b"\x28\xb5\x2f\xfd", "compressed with zstandard", _UNPACK),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", _UNPACK),
    (0, b"Rar!\x1a\x07", "a RAR archive", _UNPACK),
    (257, b"ustar", "a tar archive", _UNPACK),
    (0, b"\x89PNG\r\n\x1a\n", "a PNG picture", _OTHER),
    (0, b"\xff\xd8\xff", "a JPEG picture", _OTHER),
    (0, b"GIF8", "a GIF picture", _OTHER),
    (0, b"II*\x00", "a TIFF picture", _OTHER),
    (0, b"MM\x00*", "a TIFF picture", _OTHER),
    (0, b"\x7fELF", "a program (ELF)", _OTHER),
    (0, b"MZ\x90\x00", "a Windows program", _OTHER),
    (0, b"\xcf\xfa\xed\xfe", "a macOS program", _OTHER),
    (0, b"\xca\xfe\xba\xbe", "a compiled program", _OTHER),
    (0, b"SQLite format 3\x00", "a SQLite database", _OTHER),
    (0, b"PAR1", "a Parquet table", "export it as .csv or .jsonl"),
    (0, b"ARROW1", "an Arrow table", "export it as .csv or .jsonl"),
    (0, b"\x93NUMPY", "a NumPy array", _OTHER),
    (0, b"\x89HDF\r\n\x1a\n", "an HDF5 file", _OTHER),
    (0, b"GGUF", "model weights (GGUF)", _OTHER),
    (8, b'{"', "model weights (safetensors)", _OTHER),
    (0, b"ID3", "a sound file", _OTHER),
    (0, b"OggS", "a sound file", _OTHER),
    (0, b"fLaC", "a sound file", _OTHER),
    (0, b"RIFF", "a sound, video or picture file", _OTHER),
    (4, b"ftyp", "a video or picture file", _OTHER),
    (0, b"\x1aE\xdf\xa3", "a video file", _OTHER),
    (0, b"wOF", "a font", _OTHER),
)

_CONTAINERS = (
    ("word/document.xml", "a Word document"),
    ("xl/workbook.xml", "an Excel workbook"),
    ("ppt/presentation.xml", "a PowerPoint presentation"),
    ("META-INF/container.xml", "an e-book (EPUB)"),
    ("content.xml", "an OpenDocument file"),
    ("META-INF/MANIFEST.MF", "a Java archive"),
)


def binary_kind(head: bytes) -> tuple[str, str] | None:
    """The kind of a file with these first bytes, and advice; None where it may be text."""
    for offset, magic, what, advice in _SIGNATURES:
        if head[offset : offset + len(magic)] == magic:
            # Eight arbitrary bytes and `{"` may be text; a little-endian length ends in zeros.
            if offset == 8 and head[5:8] != b"\x00\x00\x00":
                continue
            if offset == 4 and head[:2] != b"\x00\x00":
                continue
            return what, advice
    if head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return "a Python pickle", _OTHER
    start = head[:1024].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith((b"<!doctype html", b"<html")):
        return "a web page (HTML)", "open it in a browser and save its text as .txt"
    return None


def container_kind(names: Set[str]) -> str | None:
    """The kind of document of a zip with these members; None for a plain zip."""
    if any(name.endswith("/data.pkl") for name in names):
        return "a PyTorch file"
    for member, what in _CONTAINERS:
        if member in names:
            return what
    return None
