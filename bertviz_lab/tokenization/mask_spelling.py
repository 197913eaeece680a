"""Notice a mask token that was meant but not quite written."""

import re

from bertviz_lab.tokenization.tokenizer import Tokenizer

# What people write for a gap: brackets of any sort around "mask" or "blank", one of them perhaps forgotten, a
# row of underscores, or MASK in capitals.
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
    """A sentence that says how to write the mask token where `text` has something like it, else None.

    "[mask]", "<mask>", "(MASK)", "[MASK" and "___" are split like any other text, so the model would have
    nothing to fill in and no error would tell.
    """
    mask = tokenizer.special.mask
    # What is spelt right cannot be part of a mistake; a space keeps its neighbours apart.
    rest = text.replace(mask, " " * len(mask))
    attempt = _ATTEMPTS.search(rest)
    if attempt is None and not text.isupper():
        attempt = _CAPITALS.search(rest)
    if attempt is None:
        return None
    return f'To let the model fill in a word, write {mask} in place of "{attempt.group().strip()}".'
