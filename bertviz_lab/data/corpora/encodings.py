"""Detect the encoding of a text file.

First by certain signs (byte-order marks, zeros in every second byte, valid UTF-8 throughout), then with `chardet` on a
sample.
"""

import codecs
from typing import IO

import chardet

from bertviz_lab.data.corpora.reading_notes import quoted
from bertviz_lab.data.corpora.sources import READABLE, Source, refuse_binary
from bertviz_lab.errors import InputError

_SAMPLE = 1 << 16
_BOMS = (  # UTF-32 first: its BOM begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
#: Encodings of the web and ISO 8859; including those of DOS and old Macs would misidentify short texts.
_ENCODINGS = chardet.EncodingEra.MODERN_WEB | chardet.EncodingEra.LEGACY_ISO


def recognize(source: Source) -> str:
    """Return the encoding to decode `source` with, errors replaced. Raises `InputError` for what is not text."""
    with source.open() as stream:
        head = stream.read(_SAMPLE)
        if not head:
            raise InputError(f"{quoted(source.name)} is empty; choose a file with text in it.")
        refuse_binary(source.name, head)
        encoding = next((name for mark, name in _BOMS if head.startswith(mark)), None) or _utf16_or_utf32(head)
        if encoding is None and (b"\x1b$B" in head or b"\x1b$@" in head):
            # As in Japanese mail: 7 bits, so valid UTF-8, with sequences that choose characters.
            encoding = "iso2022_jp"
        sample = head
        if encoding is None and not _is_noise(head.decode("latin-1")):
            invalid = _first_invalid_utf8(stream, head)
            if invalid is None:
                encoding = "utf-8"
            else:
                sample, multibyte = invalid
                encoding = _detect(sample, multibyte) or _utf16_or_utf32(head, max_other_zeros=0.05)
    if encoding is None or _is_noise(sample.decode(encoding, "replace")):
        raise InputError(f"{quoted(source.name)} is not text in any known encoding; give {READABLE}.")
    return encoding


def _utf16_or_utf32(head: bytes, max_other_zeros: float = 0.01) -> str | None:
    """UTF-16 or UTF-32 without a BOM: line ends and ASCII leave zeros at the same offsets of every unit.

    `max_other_zeros` is the share of zeros allowed at other offsets, where some Chinese characters have them.
    """
    if b"\x00" not in head:
        return None
    for name, width, zeros in (
        ("utf-32-le", 4, (2, 3)),
        ("utf-32-be", 4, (0, 1)),
        ("utf-16-le", 2, (1,)),
        ("utf-16-be", 2, (0,)),
    ):
        body = head[: len(head) // width * width]
        units = len(body) // width
        if not units or (len(head) < _SAMPLE and len(head) % width):
            continue
        share = [body[offset::width].count(0) / units for offset in range(width)]
        other_zeros = max(share[offset] for offset in range(width) if offset not in zeros)
        if min(share[offset] for offset in zeros) < (0.9 if width == 4 else 0.005) or other_zeros > max_other_zeros:
            continue
        text = body.decode(name, "replace")
        odd = sum(not (c.isprintable() or c.isspace()) for c in text)
        if odd <= 0.02 * len(text):  # other bytes give unassigned code points and lone surrogates
            return name
    return None


def _first_invalid_utf8(stream: IO[bytes], head: bytes) -> tuple[bytes, int] | None:
    """Return a sample from where the stream stops being UTF-8 on, and the number of multi-byte bytes before it."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    multibyte, chunk = 0, head
    while True:
        following = stream.read(1 << 20)
        try:
            multibyte += len(chunk) - len(decoder.decode(chunk, final=not following))
        except UnicodeDecodeError as error:
            carried = len(error.object) - len(chunk)  # bytes of a character that began in the previous chunk
            invalid = max(0, error.start - carried)
            start = chunk.rfind(b"\n", 0, invalid) + 1  # no encoding has a line feed inside a character
            start = start if invalid - start < _SAMPLE // 2 else invalid
            multibyte += invalid - len(chunk[:invalid].decode("utf-8", "ignore"))
            return (chunk + following)[start : start + _SAMPLE], multibyte
        if not following:
            return None
        chunk = following


def _detect(sample: bytes, multibyte: int) -> str | None:
    """Return the encoding of a sample that is not valid UTF-8; `multibyte` as `_first_invalid_utf8` counts it."""
    text = sample.decode("utf-8", "replace")
    damage = text.count("\ufffd")
    sound = sum(c > "\x7f" for c in text) - damage
    if sound + multibyte >= 8 * damage:
        return "utf-8"  # with a few damaged bytes
    encoding = chardet.detect(sample, encoding_era=_ENCODINGS, compat_names=False)["encoding"]
    return "cp1252" if encoding == "iso8859-1" else encoding  # a superset, with quotation marks


def _is_noise(text: str) -> bool:
    """Return whether there are more control or undecodable characters than in any text."""
    odd = sum(c < " " and c not in "\t\n\r\x0b\x0c\x1b" for c in text) + text.count("\x7f") + text.count("\ufffd")
    return odd > 0.1 * len(text)
