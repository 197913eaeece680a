"""Bytes in, text out: which encoding a file is in, for any that can be recognised.

First the certain signs (byte-order marks, zeros in every second byte, valid UTF-8 throughout), then the
letters of European languages in the one-byte encodings, then the `charset-normalizer` library on a sample.
"""
# look-alike letters and marks are this module's subject

import codecs
import re
from typing import IO

import charset_normalizer

from bertviz_lab.data.corpora.file_signatures import binary_kind
from bertviz_lab.data.corpora.reading_notes import quoted
from bertviz_lab.data.corpora.sources import READABLE, Source
from bertviz_lab.errors import InputError

_SAMPLE = 1 << 16
_BOMS = (  # UTF-32 first: its mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_MARKS = "’‘“”„–—…«»‹›°§¡¿£€©®·•ªº½¼×\xa0\xad´"
# Languages whose letters beyond ASCII sit among ASCII letters: too few for statistics, but each has its own.
_ALPHABETS = (
    ("cp1252", "àâæçèéêëîïôœùûüÿ"),  # French
    ("cp1252", "äöüß"),  # German
    ("cp1252", "áéíñóúü"),  # Spanish
    ("cp1252", "ãâáàçéêíóôõúü"),  # Portuguese
    ("cp1252", "àèéìíîòóùú"),  # Italian
    ("cp1252", "åäöé"),  # Swedish, Finnish
    ("cp1252", "æøåéèêóòôü"),  # Danish, Norwegian
    ("cp1252", "áéëïíóöúüè"),  # Dutch
    ("cp1252", "áðéíóúýþæö"),  # Icelandic
    ("cp1250", "ąćęłńóśźż"),  # Polish
    ("iso8859-2", "ąćęłńóśźż"),
    ("cp1250", "áčďéěíňóřšťúůýž"),  # Czech
    ("iso8859-2", "áčďéěíňóřšťúůýž"),
    ("cp1250", "áäčďéíĺľňóôŕšťúýž"),  # Slovak
    ("cp1250", "áéíóöőúüű"),  # Hungarian
    ("cp1250", "čćđšž"),  # Croatian, Slovenian
    ("iso8859-2", "čćđšž"),
    ("cp1250", "ăâîşţ"),  # Romanian
    ("cp1254", "âçğıîöşüû\u0307"),  # Turkish; a lower-cased İ is i and a combining dot
    ("cp1257", "ąčęėįšųūž"),  # Lithuanian
    ("cp1257", "āčēģīķļņšūž"),  # Latvian
    ("cp1257", "äõöüšž"),  # Estonian
    ("cp1255", "אבגדהוזחטיךכלםמןנסעףפץצקרשתװױײ"),  # Hebrew
)


def recognise(source: Source) -> str:
    """The name of the encoding in which `source` is to be decoded (with `errors="replace"`).

    Raises:
        InputError: the file is empty or is not text; the sentence says what it is and what to do.
    """
    with source.open() as stream:
        head = stream.read(_SAMPLE)
        if not head:
            raise InputError(f"{quoted(source.name)} is empty; choose a file with text in it.")
        kind = binary_kind(head)
        if kind:
            raise InputError(f"{quoted(source.name)} is {kind[0]}, not text; {kind[1]}.")
        encoding = _by_mark(head) or _wide(head)
        sample = head
        if encoding is None and not _is_noise(head.decode("latin-1")):
            wrong = _first_wrong(stream, head)
            if wrong is None:
                encoding = "utf-8"
            else:
                sample, multibyte = wrong
                encoding = _one_of_many(sample, multibyte)
    if encoding is None or _is_noise(sample.decode(encoding, "replace")):
        raise InputError(f"{quoted(source.name)} is not text in any known encoding; give {READABLE}.")
    return encoding


def _by_mark(head: bytes) -> str | None:
    return next((name for mark, name in _BOMS if head.startswith(mark)), None)


def _wide(head: bytes) -> str | None:
    """UTF-16 or UTF-32 without a mark: line ends and ASCII leave zeros at the same place of every unit."""
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
        share = [body[place::width].count(0) / units for place in range(width)]
        others = [share[place] for place in range(width) if place not in zeros]
        if min(share[place] for place in zeros) < (0.9 if width == 4 else 0.005) or max(others) > 0.01:
            continue
        text = body.decode(name, "replace")
        odd = sum(not (c.isprintable() or c.isspace()) for c in text)
        if odd <= 0.02 * len(text):  # bytes of another kind give unassigned code points and lone surrogates
            return name
    return None


def _first_wrong(stream: IO[bytes], head: bytes) -> tuple[bytes, int] | None:
    """Where the stream stops being UTF-8: a sample from there on, and the multi-byte bytes before it."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    multibyte, chunk = 0, head
    while True:
        following = stream.read(1 << 20)
        try:
            multibyte += len(chunk) - len(decoder.decode(chunk, final=not following))
        except UnicodeDecodeError as error:
            kept = len(error.object) - len(chunk)  # bytes of a character begun in the chunk before
            wrong = max(0, error.start - kept)
            start = chunk.rfind(b"\n", 0, wrong) + 1  # no encoding has a line end inside a character
            start = start if wrong - start < _SAMPLE // 2 else wrong
            sample = (chunk + following)[start : start + _SAMPLE]
            return sample, multibyte + _multibyte(chunk[:wrong])
        if not following:
            return None
        chunk = following


def _multibyte(valid: bytes) -> int:
    return len(valid) - len(valid.decode("utf-8", "ignore"))


def _one_of_many(sample: bytes, multibyte: int) -> str | None:
    """The encoding of a sample that is not valid UTF-8; `multibyte` as `_first_wrong` counts it."""
    text = sample.decode("utf-8", "replace")
    damage = text.count("\ufffd")
    sound = sum(c > "\x7f" for c in text) - damage
    if sound + multibyte >= 8 * damage:
        return "utf-8"  # with a few damaged bytes
    encoding, share = max(
        ((name, _coverage(sample, name, letters)) for name, letters in _ALPHABETS), key=lambda pair: pair[1]
    )
    if share >= 0.97:
        return encoding
    best = charset_normalizer.from_bytes(sample).best()
    if best is not None:
        return best.encoding
    return None if _is_noise(sample.decode("cp1252", "replace")) else "cp1252"


def _coverage(sample: bytes, encoding: str, letters: str) -> float:
    """Share of the sample's characters beyond ASCII that are this language's letters or common marks."""
    beyond = re.sub(r"[\x00-\x7f]+", "", sample.decode(encoding, "replace"))
    if not beyond:
        return 0.0
    known = sum(c in letters for c in beyond.lower())
    marks = sum(c in _MARKS for c in beyond)
    # Text of marks alone says nothing about the language, except that it is Western.
    return (known + marks) / len(beyond) if known or encoding == "cp1252" else 0.0


def _is_noise(text: str) -> bool:
    """More control or unreadable characters than any text has."""
    odd = sum(c < " " and c not in "\t\n\r\x0b\x0c\x1b" for c in text) + text.count("\x7f")
    odd += text.count("\ufffd")
    return odd > 0.1 * len(text)
