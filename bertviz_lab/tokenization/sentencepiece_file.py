"""A SentencePiece model (`spm.model`), read without its library: DeBERTa is published with no other tokenizer.

The file is a protocol buffer of three messages; of their fields the pieces, the algorithm and the table of character
replacements are read. Source: google/sentencepiece, src/sentencepiece_model.proto.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers
from tokenizers import Tokenizer as Backend

from bertviz_lab.errors import InputError
from bertviz_lab.tokenization.foreign import check_charsmap, check_pieces
from bertviz_lab.tokenization.pipeline import SpecialTokens, template

_UNIGRAM = 1  # model_type of trainer_spec; BPE is 2
_UNKNOWN, _CONTROL = 2, 3  # types of a piece
_VARINT, _EIGHT_BYTES, _MESSAGE, _FOUR_BYTES = 0, 1, 2, 5  # wire types


def read_sentencepiece(path: Path, data: bytes, *, lowercase: bool = False, split_by_punct: bool = False) -> Backend:
    """DeBERTa's tokenizer from the bytes of its SentencePiece model, with [MASK] after the last piece.

    Raises `InputError` where the file is damaged, or its algorithm is not Unigram.
    """
    try:
        pieces, algorithm, charsmap = _read_model(data)
    except (IndexError, struct.error, UnicodeDecodeError, ValueError) as error:
        raise InputError(f"The file {path} is damaged or is not a SentencePiece model.") from error
    if algorithm != _UNIGRAM or not pieces:
        raise InputError(f"The SentencePiece model {path} is not one of Unigram pieces, which alone can be read here.")
    vocab = [(piece, score) for piece, score, _ in pieces]
    check_pieces((piece for piece, _ in vocab), path)
    unknown = next((index for index, (_, _, kind) in enumerate(pieces) if kind == _UNKNOWN), None)
    backend = Backend(models.Unigram(vocab, unk_id=unknown, byte_fallback=False))
    stages: list[Any] = [normalizers.Lowercase()] if lowercase else []
    stages.append(normalizers.Strip())
    if charsmap:
        check_charsmap(charsmap, path)
        stages.append(normalizers.Precompiled(charsmap))
    backend.normalizer = normalizers.Sequence([*stages, normalizers.Replace(Regex(" {2,}"), " ")])
    metaspace = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    by_punctuation = [pre_tokenizers.Punctuation("isolated")] if split_by_punct else []
    backend.pre_tokenizer = pre_tokenizers.Sequence([*by_punctuation, metaspace])
    backend.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always")
    special = SpecialTokens()
    names = [piece for piece, _, kind in pieces if kind == _CONTROL]
    backend.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in [*names, special.mask]])
    known = backend.get_vocab(with_added_tokens=True)
    if special.cls in known and special.sep in known:
        backend.post_processor = template(known, special)
    return backend


def _read_model(data: bytes) -> tuple[list[tuple[str, float, int]], int, bytes]:
    """(piece, score, type) of each piece, the algorithm, and the table of character replacements."""
    pieces: list[tuple[str, float, int]] = []
    algorithm, charsmap = _UNIGRAM, b""
    for field, value in _fields(data):
        if field == 1:
            piece = dict(_fields(value))
            pieces.append((piece[1].decode("utf-8") if 1 in piece else "", float(piece.get(2, 0.0)), piece.get(3, 1)))
        elif field == 2:
            algorithm = dict(_fields(value)).get(3, _UNIGRAM)
        elif field == 3:
            charsmap = dict(_fields(value)).get(2, b"")
    return pieces, algorithm, charsmap


def _fields(data: Any) -> Iterator[tuple[int, Any]]:
    """The fields of a message: (number, whole number, float or bytes). Raises `ValueError` for another format."""
    if not isinstance(data, bytes):
        raise ValueError("not a message")
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        field, wire = key >> 3, key & 7
        if wire == _VARINT:
            value, at = _varint(data, at)
            yield field, value
            continue
        if wire == _MESSAGE:
            size, at = _varint(data, at)
        elif wire in (_FOUR_BYTES, _EIGHT_BYTES):
            size = 4 if wire == _FOUR_BYTES else 8
        else:
            raise ValueError(f"wire type {wire}")
        if at + size > len(data):
            raise ValueError("cut short")
        part = data[at : at + size]
        at += size
        yield field, struct.unpack("<f", part)[0] if wire == _FOUR_BYTES else part


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A whole number of seven bits a byte, and where it ends."""
    value = 0
    for shift in range(0, 70, 7):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise ValueError("a number of more than 64 bits")
