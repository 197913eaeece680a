"""The text of a token, the tokens of a word (without "##", "Ġ", "▁" and the bytes of BPE), misspelled mask tokens."""

import re

from tokenizers.pre_tokenizers import ByteLevel

from bertviz_lab.tokenization.tokenizer import Tokenizer

_BYTES = ByteLevel(add_prefix_space=False, use_regex=False)
# Common variants: "mask" or "blank" in any brackets, one of which may be missing, underscores, or MASK in capitals.
_OPEN, _CLOSE = r"[\[(<{【〈«]+", r"[\])>}】〉»]+"
_ATTEMPTS = re.compile(
    rf"{_OPEN}\s*[/|]?\s*(?:mask|maks|msak|masks|masked|blank)\s*[/|]?\s*{_CLOSE}"
    rf"|{_OPEN}\s*(?:mask|maks|msak)\b"
    rf"|\b(?:mask|maks|msak)\s*{_CLOSE}"
    r"|_{2,}",
    re.IGNORECASE,
)
_CAPITALS = re.compile(r"\bMASK\b")


def token_text(tokenizer: Tokenizer, token_id: int) -> str:
    """A token as it stands in a text: "café" for BPE's "ĠcafÃ©", "ing" for WordPiece's "##ing".

    Empty for a token of white space and an id beyond the vocabulary; U+FFFD where a token has part of a character.
    """
    text = tokenizer.decode([token_id], skip_special=False).strip()
    return text.removeprefix(tokenizer.continuation_prefix) or text


def token_name(tokenizer: Tokenizer, token_id: int) -> str:
    """What to call a token: its text, or its spelling in the vocabulary where the text says less.

    That is so of WordPiece, whose "##ing" is not the word "ing", of white space, and of parts of a character.
    """
    text = token_text(tokenizer, token_id)
    is_readable = text and text.isprintable() and "\ufffd" not in text
    return text if is_readable and tokenizer.algorithm != "wordpiece" else tokenizer.token(token_id)


def ids_named(tokenizer: Tokenizer, name: str) -> tuple[int, ...]:
    """The ids of the tokens with a `token_name`: the one after a space first, then the one without."""
    ids = (tokenizer.id(spelling) for spelling in _spellings(tokenizer, name))
    return tuple(dict.fromkeys(token_id for token_id in ids if token_id is not None))


def _spellings(tokenizer: Tokenizer, name: str) -> tuple[str, ...]:
    if tokenizer.algorithm == "wordpiece":
        return (name,)
    if tokenizer.algorithm == "unigram":
        return (f"▁{name}", name)
    return (_bytes(f" {name}"), f"▁{name}", _bytes(name), name)


def _bytes(text: str) -> str:
    """A text in the characters that byte-level BPE has for its bytes."""
    return "".join(piece for piece, _ in _BYTES.pre_tokenize_str(text))


def check_mask_spelling(text: str, tokenizer: Tokenizer) -> str | None:
    """Advice on how to write the mask token where `text` has a misspelt one, else None.

    "[mask]", "<mask>", "(MASK)", "[MASK" and "___" are tokenized like any other text, so there would be nothing to
    predict and no error.
    """
    mask = tokenizer.special.mask
    # Correct mask tokens are not part of a misspelling; spaces keep their neighbours apart.
    rest = text.replace(mask, " " * len(mask))
    attempt = _ATTEMPTS.search(rest)
    if attempt is None and not text.isupper():
        attempt = _CAPITALS.search(rest)
    if attempt is None:
        return None
    return f'To let the model fill in a word, write {mask} in place of "{attempt.group().strip()}".'
