"""What an untrusted tokenizer may hold: checks of a tokenizer.json, and DeBERTa's SentencePiece models.

The library runs whatever a file describes: a regular expression that takes minutes, replacements that multiply a text,
words that are split in quadratic time. So every stage must be a known one that works in time and memory proportional
to the text. `tokenizer.try_tokenizer` then tries texts of the worst shapes in a confined process. DeBERTa is published
with an `spm.model` and no other tokenizer.
"""

import base64
import tomllib
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers
from tokenizers import Tokenizer as Backend

from bertviz_lab import strict_json
from bertviz_lab.errors import InputError
from bertviz_lab.tokenization.pipeline import SpecialTokens, template

#: `stages` that are linear in the text, and regular expressions (`patterns`) of published pipelines.
_KNOWN = tomllib.loads(resources.files(__package__).joinpath("known_stages.toml").read_text(encoding="utf-8"))
_STAGES = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
_LONGEST_WORD = 1_000  # characters; WordPiece takes time quadratic in them, Unigram times those of its longest piece
_LONGEST_REPLACEMENT = 72  # bytes; the ligature of 18 letters in NFKC has 33
_MOST_ADDED = 20_000  # tokens outside the vocabulary


def check_stages(state: dict[str, Any], path: Path) -> None:
    """Raises `InputError` where a tokenizer.json has a stage, or a size, that could take a page down."""
    for part in strict_json.objects_in([state.get(stage) for stage in _STAGES]):
        kind = part.get("type")
        if kind is not None and kind not in _KNOWN["stages"] and "SpecialToken" not in part and "Sequence" not in part:
            raise _refusal(path, f"its stage {str(kind)[:40]!r} is not one of BERT's")
        pattern = part.get("pattern")
        expression = pattern.get("Regex") if isinstance(pattern, dict) else None
        if expression is not None and expression not in _KNOWN["patterns"]:
            raise _refusal(path, f"its regular expression {str(expression)[:40]!r} is not one of a known pipeline")
        if kind == "Precompiled":
            try:
                charsmap = base64.b64decode(part["precompiled_charsmap"], validate=True)
            except (KeyError, ValueError, TypeError):
                charsmap = b""
            check_charsmap(charsmap, path)
        if kind in ("Replace", "Prepend") and _grows(part):
            raise _refusal(path, "it replaces text by longer text")
    if (state["model"].get("max_input_chars_per_word") or 0) > _LONGEST_WORD:
        raise _refusal(path, f"it splits words of more than {_LONGEST_WORD:,} characters")
    if state["model"].get("type") == "Unigram":
        check_pieces((str(entry[0]) for entry in state["model"]["vocab"] if isinstance(entry, list) and entry), path)
    added = state.get("added_tokens")
    check_added(len(added) if isinstance(added, list) else 0, path)


def check_added(count: int, path: Path) -> None:
    """Raise `InputError` for more added tokens than any published tokenizer has."""
    if count > _MOST_ADDED:
        raise _refusal(path, f"it has more than {_MOST_ADDED:,} added tokens")


def check_pieces(pieces: Iterable[str], path: Path) -> None:
    """Raises `InputError` where a Unigram vocabulary has a piece so long that splitting would take quadratic time."""
    if any(len(piece) > _LONGEST_WORD for piece in pieces):
        raise _refusal(path, f"it has a piece of more than {_LONGEST_WORD:,} characters")


def check_charsmap(charsmap: bytes, path: Path) -> None:
    """Raises `InputError` where SentencePiece's table of replacements makes text much longer.

    It is the size of a trie, the trie, and the replacements, each with a zero after it.
    """
    trie = int.from_bytes(charsmap[:4], "little")
    if len(charsmap) < 4 or 4 + trie > len(charsmap):
        raise _refusal(path, "its table of character replacements is damaged")
    if any(len(text) > _LONGEST_REPLACEMENT for text in charsmap[4 + trie :].split(b"\0")):
        raise _refusal(path, "it replaces text by longer text")


def _grows(part: dict[str, Any]) -> bool:
    """Return whether a replacement is longer than the shortest text that it can replace."""
    pattern, content = part.get("pattern"), part.get("prepend" if part.get("type") == "Prepend" else "content")
    replaced = pattern.get("String") if isinstance(pattern, dict) else None
    shortest = len(replaced) if isinstance(replaced, str) and replaced else 1
    return not isinstance(content, str) or len(content) > shortest


def _refusal(path: Path, reason: str) -> InputError:
    return InputError(f"The tokenizer {path.name} cannot be opened: {reason}.")


def read_sentencepiece(path: Path, data: bytes, *, lowercase: bool = False, split_by_punct: bool = False) -> Backend:
    """DeBERTa's tokenizer from the bytes of its SentencePiece model, with [MASK] after the last piece.

    Raises `InputError` where the file is damaged, or its algorithm is not Unigram.
    """
    # Imported here: it takes two seconds, and few models need it.
    from google.protobuf.message import DecodeError
    from transformers.utils.sentencepiece_model_pb2_new import ModelProto, TrainerSpec  # type: ignore[attr-defined]

    try:
        model = ModelProto.FromString(data)
        vocab = [(piece.piece, piece.score) for piece in model.pieces]
        if any(isinstance(piece, bytes) for piece, _ in vocab):
            raise ValueError("A piece is not UTF-8.")
    except (DecodeError, ValueError) as error:
        raise InputError(f"The file {path} is damaged or is not a SentencePiece model.") from error
    if model.trainer_spec.model_type != TrainerSpec.UNIGRAM or not vocab:
        raise InputError(f"The SentencePiece model {path} is not one of Unigram pieces, which alone can be read here.")
    check_pieces((piece for piece, _ in vocab), path)
    kinds = [piece.type for piece in model.pieces]
    unknown = kinds.index(ModelProto.SentencePiece.UNKNOWN) if ModelProto.SentencePiece.UNKNOWN in kinds else None
    backend = Backend(models.Unigram(vocab, unk_id=unknown, byte_fallback=False))
    stages: list[Any] = [normalizers.Lowercase()] if lowercase else []
    stages.append(normalizers.Strip())
    if charsmap := model.normalizer_spec.precompiled_charsmap:
        check_charsmap(charsmap, path)
        stages.append(normalizers.Precompiled(charsmap))
    backend.normalizer = normalizers.Sequence([*stages, normalizers.Replace(Regex(" {2,}"), " ")])
    metaspace = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    by_punctuation = [pre_tokenizers.Punctuation("isolated")] if split_by_punct else []
    backend.pre_tokenizer = pre_tokenizers.Sequence([*by_punctuation, metaspace])
    backend.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always")
    special = SpecialTokens()
    names = [piece.piece for piece in model.pieces if piece.type == ModelProto.SentencePiece.CONTROL]
    backend.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in [*names, special.mask]])
    known = backend.get_vocab(with_added_tokens=True)
    if special.cls in known and special.sep in known:
        backend.post_processor = template(known, special)
    return backend
