"""Detect misspelt mask tokens."""

import re

from bertviz_lab.tokenization.tokenizer import Tokenizer

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
