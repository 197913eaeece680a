"""Read a tokenizer from files and write it to a folder that Hugging Face `transformers` reads too."""

import json
import re
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, processors
from tokenizers import Tokenizer as Backend

from bertviz_lab.config.limits import words_of
from bertviz_lab.errors import InputError
from bertviz_lab.tokenization.foreign import check_added, check_stages, read_sentencepiece
from bertviz_lab.tokenization.pipeline import SpecialTokens, bpe_backend, template, wordpiece_backend

#: Ten times the largest that is published; as Python objects a file takes ten times its size.
_MOST_BYTES = 48_000_000
_BLANKS = " \t\r"
_ROLES = ("pad", "unk", "cls", "sep", "mask")
#: Classes of transformers that split text as the files of this module do; others add rules of their own in Python.
_CLASSES = frozenset(
    "Bert DistilBert Electra MobileBert MPNet ConvBert Funnel LayoutLM SqueezeBert Roberta XLMRoberta Camembert Albert "
    "DebertaV2 PreTrained Tokenizers".split()
)
_ROBERTA_SPELLING = SpecialTokens(pad="<pad>", unk="<unk>", cls="<s>", sep="</s>", mask="<mask>")


def read_folder(folder: Path) -> tuple[Backend, SpecialTokens]:
    """Return the tokenizer in `folder`: from tokenizer.json, else from what older folders of its family have instead.

    That is vocab.txt (BERT, ELECTRA), vocab.json and merges.txt (RoBERTa) or spm.model (DeBERTa). Raises `InputError`
    where the folder or its files are missing, or they are not a tokenizer for BERT.
    """
    if not folder.is_dir():
        raise InputError(f"There is no folder {folder}: give the folder of a saved tokenizer or model.")
    config = _read_object(folder / "tokenizer_config.json", required=False)
    declared = config | _read_object(folder / "special_tokens_map.json", required=False)
    _check_class(folder, config)
    backend, special = _read_backend(folder, config, declared)
    _add_tokens(backend, special, folder, declared)
    return backend, special


def _check_class(folder: Path, config: dict[str, Any]) -> None:
    """Raise `InputError` for a class of tokenizer that splits text by more than files: `BertJapaneseTokenizer`."""
    name = config.get("tokenizer_class") or _read_object(folder / "config.json", required=False).get("tokenizer_class")
    known = name is None or re.sub(r"(Tokenizer)?(Fast|Backend)?$", "", str(name)) in _CLASSES
    if not known and not (folder / "tokenizer.json").is_file():
        raise InputError(
            f"The tokenizer in {folder} is a {str(name)[:60]}, which splits text by more than its files say. The lab "
            "reads the files of BertTokenizer, RobertaTokenizer and DebertaV2Tokenizer, and any tokenizer.json."
        )


def holds_tokenizer(folder: Path) -> bool:
    """Return whether a folder has one of the files that `read_folder` reads."""
    return any((folder / name).is_file() for name in ("tokenizer.json", "vocab.txt", "vocab.json", "spm.model"))


def _read_backend(folder: Path, config: dict[str, Any], declared: dict[str, Any]) -> tuple[Backend, SpecialTokens]:
    """Return the tokenizer of the first file of its family that the folder has."""
    if (folder / "tokenizer.json").is_file():
        return _read_tokenizer_json(folder / "tokenizer.json", declared)
    if (folder / "vocab.txt").is_file():
        vocab = read_vocab(folder / "vocab.txt")
        lowercase, accents = config.get("do_lower_case"), config.get("strip_accents")
        special = special_tokens(vocab, declared, folder / "vocab.txt")
        backend = wordpiece_backend(
            vocab,
            lowercase=_looks_lowercased(vocab) if lowercase is None else bool(lowercase),
            special=special,
            strip_accents=None if accents is None else bool(accents),
            chinese_chars=bool(config.get("tokenize_chinese_chars", True)),
        )
        return backend, special
    if (folder / "vocab.json").is_file() and (folder / "merges.txt").is_file():
        return _read_byte_level_bpe(folder, declared)
    if (folder / "spm.model").is_file():
        path = folder / "spm.model"
        flags = {"lowercase": "do_lower_case", "split_by_punct": "split_by_punct"}
        options = {name: bool(config.get(key)) for name, key in flags.items()}
        backend = read_sentencepiece(path, _read_bytes(path), **options)
        return backend, special_tokens(backend.get_vocab(with_added_tokens=True), declared, path)
    for name in ("sentencepiece.bpe.model", "spiece.model"):
        if (folder / name).is_file():
            raise InputError(
                f"The folder {folder} has only {name} of its tokenizer: save it with transformers' AutoTokenizer, "
                "which writes the tokenizer.json that is read here."
            )
    raise InputError(f"The folder {folder} holds no tokenizer: tokenizer.json and vocab.txt are both missing.")


def _add_tokens(backend: Backend, special: SpecialTokens, folder: Path, declared: dict[str, Any]) -> None:
    """Add the tokens that added_tokens.json and the `added_tokens_decoder` of tokenizer_config.json state.

    Raises `InputError` where a token cannot have the id that the files give it.
    """
    extra = [*_spellings(declared.get("additional_special_tokens")), *_spellings(declared.get("extra_special_tokens"))]
    stated: dict[str, tuple[int, dict[str, Any]]] = {}
    for token, token_id in _read_object(folder / "added_tokens.json", required=False).items():
        stated[token] = token_id, {"special": token in extra}
    decoder = declared.get("added_tokens_decoder")
    for token_id, entry in decoder.items() if isinstance(decoder, dict) else ():
        if isinstance(entry, dict) and isinstance(entry.get("content"), str) and str(token_id).isdigit():
            stated[entry["content"]] = int(token_id), entry
    vocab = backend.get_vocab(with_added_tokens=True)
    known = {token.content for token in backend.get_added_tokens_decoder().values()}
    check_added(len(known) + len(stated), folder)
    for token, (token_id, entry) in sorted(
        stated.items(), key=lambda item: (not isinstance(item[1][0], int), item[1][0])
    ):
        if token in special.all or token in known:
            continue
        expected = vocab.get(token, len(vocab))
        if not token or token_id != expected:
            raise InputError(
                f"The folder {folder} gives the added token {token[:40]!r} the id {token_id}, and its vocabulary has "
                f"{expected} for it: save the tokenizer with transformers' AutoTokenizer, which writes tokenizer.json."
            )
        flags = {name: bool(entry.get(name)) for name in ("lstrip", "rstrip", "single_word", "special")}
        backend.add_tokens([AddedToken(token, normalized=bool(entry.get("normalized", not flags["special"])), **flags)])
        vocab[token] = token_id
    marked = [token for token in extra if token in vocab and token not in known and token not in stated]
    backend.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in marked])


def _spellings(tokens: Any) -> list[str]:
    """Return the spellings in a list, or an object, of tokens that are strings or objects."""
    listed = list(tokens.values()) if isinstance(tokens, dict) else tokens if isinstance(tokens, list) else []
    contents = [token.get("content") if isinstance(token, dict) else token for token in listed]
    return [content for content in contents if isinstance(content, str) and content]


def _read_byte_level_bpe(folder: Path, declared: dict[str, Any]) -> tuple[Backend, SpecialTokens]:
    """RoBERTa's tokenizer from vocab.json and merges.txt, one pair a line after a line with the version."""
    vocab = _read_object(folder / "vocab.json")
    lines = [line.rstrip("\r") for line in _read_text(folder / "merges.txt").split("\n")]
    merges = [tuple(line.split(" ")) for line in lines if line and not line.startswith("#version")]
    if not all(isinstance(number, int) for number in vocab.values()) or any(len(pair) != 2 for pair in merges):
        raise InputError(f"vocab.json and merges.txt in {folder} are not those of a byte-level BPE tokenizer.")
    special = special_tokens(vocab, declared, folder / "vocab.json")
    try:
        backend = bpe_backend(vocab, merges, lowercase=False, special=special)  # type: ignore[arg-type]
    except Exception as error:  # the library raises bare Exception: a merge of pieces that are no tokens
        raise InputError(f"vocab.json and merges.txt in {folder} do not belong together ({error}).") from error
    cls, sep = ((name, vocab[name]) for name in (special.cls, special.sep))
    backend.post_processor = processors.RobertaProcessing(sep, cls, True, False)  # offsets without spaces, none added
    return backend, special


def read_vocab(path: Path) -> dict[str, int]:
    """Return the vocabulary in a vocab.txt, one token per line: token -> id, the line number from 0.

    A blank line counts: it becomes a token that no text has. Raises `InputError` where the file is missing, empty, not
    UTF-8, or names a token twice.
    """
    # Only the line feed ends a line: published vocabularies have tokens that str.splitlines would split.
    lines = [line.rstrip(_BLANKS) for line in _read_text(path).rstrip(_BLANKS + "\n").split("\n")]
    if lines == [""]:
        raise InputError(f"The vocabulary {path} is empty: it must have one token a line.")
    vocab: dict[str, int] = {}
    for number, line in enumerate(lines):
        token = line or f"[blank line {number + 1}]"
        if token in vocab:
            raise InputError(
                f"The vocabulary {path} has the token {token!r} twice, in lines {vocab[token] + 1} and "
                f"{number + 1}: every line must be another token."
            )
        vocab[token] = number
    if any(token.startswith("Ġ") for token in vocab) and not any(token.startswith("##") for token in vocab):
        raise InputError(
            f"The vocabulary {path} belongs to a byte-level BPE tokenizer, whose merges it does not hold: "
            "put the tokenizer.json next to it."
        )
    return vocab


def settled(backend: Backend, special: SpecialTokens) -> Backend:
    """Return a copy of `backend` without truncation, padding and merge dropout, and with the special tokens registered.

    A published tokenizer.json may have the settings of its authors' training.
    """
    state = json.loads(backend.to_str())
    state["truncation"] = state["padding"] = None
    if "dropout" in state["model"]:
        state["model"]["dropout"] = None
    added = {entry["content"]: entry for entry in state["added_tokens"]}
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    for token in special.all:
        entry = {"content": token, **plain, **added.get(token, {}), "special": True}
        added[token] = entry | {"id": backend.token_to_id(token)}
    state["added_tokens"] = sorted(added.values(), key=lambda entry: entry["id"])
    copy = Backend.from_str(json.dumps(state))
    if copy.post_processor is None:
        copy.post_processor = template(copy.get_vocab(with_added_tokens=True), special)
    return copy


def _read_tokenizer_json(path: Path, declared: dict[str, Any]) -> tuple[Backend, SpecialTokens]:
    """Return the tokenizer in a tokenizer.json, checked for compatibility."""
    state = _read_object(path)
    model = state.get("model")
    if not isinstance(model, dict) or not isinstance(model.get("vocab"), dict | list):
        raise InputError(f'The file {path} is not a saved tokenizer: it has no "model" with a vocabulary.')
    # Early versions of the format do not name the model.
    kind = model.get("type") or ("BPE" if "merges" in model else "WordPiece")
    if kind not in ("WordPiece", "BPE", "Unigram"):
        raise InputError(f"The tokenizer {path} is of the kind {kind}: WordPiece, BPE and Unigram can be used here.")
    check_stages(state, path)
    try:
        backend = Backend.from_str(json.dumps(state))
    except Exception as error:  # the library raises bare Exception, with Rust's message
        reason = str(error).splitlines()[0] if str(error) else "no reason given"
        raise InputError(f"The file {path} is not a tokenizer that can be read ({reason}).") from error
    vocab = backend.get_vocab(with_added_tokens=True)
    if not vocab:
        raise InputError(f"The vocabulary in {path} is empty.")
    if len(set(vocab.values())) != len(vocab):
        raise InputError(f"The vocabulary in {path} gives two tokens the same id.")
    return backend, special_tokens(vocab, declared, path)


def special_tokens(vocab: dict[str, int], declared: dict[str, Any], path: Path) -> SpecialTokens:
    """Return the spellings of the special tokens: as declared in the files, else BERT's, else RoBERTa's."""
    spellings, missing = {}, []
    for role in _ROLES:
        declared_token = declared.get(f"{role}_token")
        if isinstance(declared_token, dict):
            declared_token = declared_token.get("content")
        default = getattr(SpecialTokens(), role)
        candidates = (declared_token, default, getattr(_ROBERTA_SPELLING, role))
        spelling = next((token for token in candidates if isinstance(token, str) and token in vocab), None)
        if spelling is None:
            missing.append(default)
        else:
            spellings[role] = spelling
    if missing:
        raise InputError(f"The vocabulary in {path} lacks {' and '.join(missing)}, which BERT needs.")
    return SpecialTokens(**spellings)


def _looks_lowercased(vocab: dict[str, int]) -> bool:
    """Return whether fewer than 1% of the tokens have a capital letter."""
    words = [token for token in vocab if not token.startswith(("[", "<"))]
    return sum(token != token.lower() for token in words) < 0.01 * len(words)


def _read_text(path: Path) -> str:
    """Return the text of a file, without a byte-order mark."""
    try:
        return _read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"The file {path} is not UTF-8 text (byte {error.start} is not): save it as UTF-8.") from error


def _read_bytes(path: Path) -> bytes:
    """Everything in a file that is not too large for a tokenizer's."""
    try:
        size = path.stat().st_size
        if size > _MOST_BYTES:
            raise InputError(f"{path.name} has {words_of('bytes', size)}: no tokenizer of BERT has that many.")
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"The file {path} cannot be read: {error.strerror or error}.") from error


def _read_object(path: Path, *, required: bool = True) -> dict[str, Any]:
    """Return the JSON object in a file; empty if the file is missing and not required."""
    if not required and not path.is_file():
        return {}
    try:
        value = json.loads(_read_text(path))
    except (json.JSONDecodeError, RecursionError) as error:
        raise InputError(f"The file {path} is not JSON: it is damaged or was not fully copied.") from error
    if not isinstance(value, dict):
        raise InputError(f"The file {path} is not a saved tokenizer: it holds no JSON object.")
    return value
