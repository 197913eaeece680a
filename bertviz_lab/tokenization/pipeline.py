"""The stages of a BERT tokenizer, built from the `tokenizers` library.

A tokenizer has four stages: normalize the text, split it into words, split each word into pieces, and wrap the pieces
as `[CLS] A [SEP] B [SEP]`. This file defines each stage for WordPiece (as in BERT: Devlin et al. 2018, and
google-research/bert, tokenization.py) and for byte-level BPE (as in GPT-2: Radford et al. 2019).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass

from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers, processors
from tokenizers import Tokenizer as Backend

_SURROGATE = re.compile("[\ud800-\udfff]")
# White space as in Unicode and the library. Python's str.strip and \s also include U+001C to U+001F.
WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"


@dataclass(frozen=True)
class SpecialTokens:
    """The spellings of the five special tokens."""

    pad: str = "[PAD]"
    unk: str = "[UNK]"
    cls: str = "[CLS]"
    sep: str = "[SEP]"
    mask: str = "[MASK]"

    @property
    def all(self) -> tuple[str, ...]:
        """The five spellings in the order of their ids in a vocabulary trained here, 0 to 4."""
        return astuple(self)


def check_several(texts: Iterable[str]) -> None:
    """Raises `TypeError` for one string, which would be taken for as many texts as it has characters."""
    if isinstance(texts, str):
        raise TypeError("texts must be several strings, such as [text], not one string")


def replace_surrogates(text: str) -> str:
    """`text` with every lone surrogate (left by broken decoding) replaced by U+FFFD.

    The library accepts only text that can be encoded in UTF-8. Offsets do not change.
    """
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text)
    return text


def trim_span(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span without white space at its ends, or the whole span if it is only white space.

    A byte-level token includes the space before its word.
    """
    inside = text[start:end]
    if not inside.strip(WHITE_SPACE):
        return start, end
    return end - len(inside.lstrip(WHITE_SPACE)), start + len(inside.rstrip(WHITE_SPACE))


def wordpiece_stages(
    *, lowercase: bool, strip_accents: bool | None = None, chinese_chars: bool = True
) -> tuple[normalizers.Normalizer, pre_tokenizers.PreTokenizer]:
    """Return the first two stages of BERT: clean the text, then split at white space and punctuation.

    `strip_accents=None` strips accents exactly when text is lowercased, as in Google's code; `chinese_chars`
    makes every Chinese character a word.
    """
    normalizer = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=chinese_chars, strip_accents=strip_accents, lowercase=lowercase
    )
    return normalizer, pre_tokenizers.BertPreTokenizer()


def bpe_stages(*, lowercase: bool) -> tuple[normalizers.Normalizer, pre_tokenizers.PreTokenizer]:
    """Return the first two stages of GPT-2: the text unchanged or lowercased, then words with the space before them."""
    normalizer = normalizers.Sequence([normalizers.Lowercase()] if lowercase else [])
    return normalizer, pre_tokenizers.ByteLevel(add_prefix_space=False)


def wordpiece_backend(
    vocab: Mapping[str, int],
    *,
    lowercase: bool,
    special: SpecialTokens | None = None,
    strip_accents: bool | None = None,
    chinese_chars: bool = True,
) -> Backend:
    """BERT's tokenizer with `vocab` (token -> id), which must include the special tokens."""
    special = special or SpecialTokens()
    backend = Backend(models.WordPiece(dict(vocab), unk_token=special.unk, max_input_chars_per_word=100))
    backend.normalizer, backend.pre_tokenizer = wordpiece_stages(
        lowercase=lowercase, strip_accents=strip_accents, chinese_chars=chinese_chars
    )
    backend.decoder = decoders.WordPiece(prefix="##", cleanup=True)
    backend.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special.all])
    backend.post_processor = template(vocab, special)
    return backend


def bpe_backend(
    vocab: Mapping[str, int],
    merges: Sequence[tuple[str, str]],
    *,
    lowercase: bool,
    special: SpecialTokens | None = None,
) -> Backend:
    """Byte-level BPE with `vocab`, which must include the 256 byte characters and the special tokens.

    Every byte is a token, so nothing is ever unknown. The space before a word is part of the word ("Ġcat"); the mask
    token absorbs it, so that "the [MASK]" masks "Ġcat" and leaves no space token.
    """
    special = special or SpecialTokens()
    backend = Backend(models.BPE(dict(vocab), list(merges)))
    backend.normalizer, backend.pre_tokenizer = bpe_stages(lowercase=lowercase)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens(
        [AddedToken(token, special=True, normalized=False, lstrip=token == special.mask) for token in special.all]
    )
    backend.post_processor = template(vocab, special)
    return backend


def template(vocab: Mapping[str, int], special: SpecialTokens) -> processors.TemplateProcessing:
    """Return the last stage: `[CLS] A [SEP]` or `[CLS] A [SEP] B [SEP]`, segment 0 to the first `[SEP]`, then 1."""
    cls, sep = special.cls, special.sep
    return processors.TemplateProcessing(
        single=f"{cls}:0 $A:0 {sep}:0",
        pair=f"{cls}:0 $A:0 {sep}:0 $B:1 {sep}:1",
        special_tokens=[(cls, vocab[cls]), (sep, vocab[sep])],
    )
