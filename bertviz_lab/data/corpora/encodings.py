"""Detect the encoding of a text file.

By `chardet` where the first bytes have certain signs of one (byte-order marks, zeros, escape sequences); else UTF-8
where the whole file is valid; else by `chardet` on a sample from where it is not.
"""

import codecs
from typing import IO

import chardet

from bertviz_lab.data.corpora.reading_notes import quoted
from bertviz_lab.data.corpora.sources import READABLE, Source
from bertviz_lab.data.corpora.streams import refuse_binary
from bertviz_lab.errors import InputError

_SAMPLE = 1 << 16
#: Encodings of the web and ISO 8859; including those of DOS and old Macs would misidentify short texts.
_ENCODINGS = chardet.EncodingEra.MODERN_WEB | chardet.EncodingEra.LEGACY_ISO
#: Those with signs that are certain. Japanese mail has 7 bits, so it is valid UTF-8.
_CERTAIN = ("utf-8-sig", "utf-16", "utf-32", "iso2022")


def recognize(source: Source) -> str:
    """Return the encoding to decode `source` with, errors replaced. Raises `InputError` for what is not text."""
    with source.open() as stream:
        head = stream.read(_SAMPLE)
        if not head:
            raise InputError(f"{quoted(source.name)} is empty; choose a file with text in it.")
        refuse_binary(source.name, head)
        encoding, sample = _by_chardet(head), head
        if not (encoding or "").startswith(_CERTAIN):
            encoding = None
            if not _is_noise(head.decode("latin-1")):
                invalid = _first_invalid_utf8(stream, head)
                sample, multibyte = invalid or (head, 0)
                is_utf8 = invalid is None or _is_damaged_utf8(sample, multibyte)
                encoding = "utf-8" if is_utf8 else _by_chardet(sample) or _utf16_of_few_zeros(head)
    if encoding is None or _is_noise(sample.decode(encoding, "replace")):
        raise InputError(f"{quoted(source.name)} is not text in any known encoding; give {READABLE}.")
    return encoding


def _by_chardet(sample: bytes) -> str | None:
    encoding = chardet.detect(sample, encoding_era=_ENCODINGS, compat_names=False)["encoding"]
    return "cp1252" if encoding == "iso8859-1" else encoding  # a superset, with quotation marks


def _utf16_of_few_zeros(head: bytes) -> str | None:
    """Return UTF-16 without a mark where that gives text: of Chinese, line ends alone leave the zeros that show it."""
    for name in ("utf-16-le", "utf-16-be") if b"\0" in head else ():
        text = head.decode(name, "replace")
        # Other bytes give unassigned code points and lone surrogates.
        if "\n" in text and sum(not (c.isprintable() or c.isspace()) for c in text) <= 0.02 * len(text):
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


def _is_damaged_utf8(sample: bytes, multibyte: int) -> bool:
    """Return whether a sample is UTF-8 with a few damaged bytes; `multibyte` as `_first_invalid_utf8` counts it."""
    text = sample.decode("utf-8", "replace")
    damage = text.count("\ufffd")
    sound = sum(c > "\x7f" for c in text) - damage
    return sound + multibyte >= 8 * damage


def _is_noise(text: str) -> bool:
    """Return whether there are more control or undecodable characters than in any text."""
    odd = sum(c < " " and c not in "\t\n\r\x0b\x0c\x1b" for c in text) + text.count("\x7f") + text.count("\ufffd")
    return odd > 0.1 * len(text)
