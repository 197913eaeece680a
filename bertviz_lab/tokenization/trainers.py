"""Train WordPiece and byte-level BPE vocabularies with the `tokenizers` library.

Both use the same algorithm (Sennrich et al. 2016): begin with single characters, merge the most frequent pair of
adjacent pieces inside words into a new piece, and repeat until the vocabulary is full. The text is read once, as a
stream; only word counts are kept in memory.
"""

import itertools
import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator

from tokenizers import Tokenizer as Backend
from tokenizers import models, pre_tokenizers, trainers

from bertviz_lab.errors import InputError
from bertviz_lab.tokenization import pipeline

# Text is passed to the library in chunks of about this many characters: a book as one string would need many times its
# size in memory.
_CHUNK = 1 << 16
# A longer run of non-spaces is data (base64, for example), not a word. Every merge scans the words that it affects, so
# one word of a megabyte would take hours.
_MAX_WORD_LENGTH = 500
_LONG_RUN = re.compile(rf"(\S{{{_MAX_WORD_LENGTH}}})(?=\S)")
# Rarer characters are worth less than a merged piece (for 42 million characters of an encyclopedia, 134 of 1,926
# characters are kept; the others are 0.02% of the text).
_MIN_CHARACTER_SHARE = 1e-6
# More than the number of distinct characters of any text. The trainer's vocabulary includes the rare ones, which are
# removed afterwards.
_MAX_CHARACTERS = 1 << 16
# A shorter text is held in memory: only its own characters are reserved, which is 0.2 seconds faster.
_MOST_HELD = 1_000_000  # characters
#: Called now and then with the number of characters read.
OnProgress = Callable[[int], None]
_CHINESE = (range(0x3400, 0x4DC0), range(0x4E00, 0xA000), range(0xF900, 0xFB00))


def train_wordpiece(
    texts: Iterable[str], vocab_size: int, lowercase: bool, min_frequency: int, on_progress: OnProgress
) -> Backend:
    """Return a WordPiece tokenizer with at most `vocab_size` tokens trained on `texts`; see `Tokenizer.train`."""
    special = pipeline.SpecialTokens()
    if vocab_size <= len(special.all):
        raise InputError(
            f"A vocabulary of {vocab_size} tokens is too small: choose more than {len(special.all)}, "
            "which the special tokens take."
        )
    # Without special tokens, whose names the trainer would learn from as words ("[MAS", "##K]").
    backend = Backend(models.WordPiece(unk_token=special.unk))
    backend.normalizer, backend.pre_tokenizer = pipeline.wordpiece_stages(lowercase=lowercase)
    characters: Counter[str] = Counter()

    # The trainer numbers "##a", "##b" ... in the order of a hash map, and the numbers decide which of two equally
    # frequent pairs is merged first, so the vocabulary would vary between runs (huggingface/tokenizers issue 1794).
    # Reserving all of them in order makes it deterministic. They are removed below, hence the larger vocabulary here.
    chunks = _chunks(texts, characters, on_progress)
    head, is_whole = _beginning(chunks)
    normalized = set[str]().union(*map(backend.normalizer.normalize_str, head)) if is_whole else None
    reserved = [*special.all, *_continuations(normalized)]
    trainer = trainers.WordPieceTrainer(
        vocab_size=len(reserved) + _MAX_CHARACTERS + vocab_size,
        min_frequency=min_frequency,
        special_tokens=reserved,
        show_progress=False,
        continuing_subword_prefix="##",
    )
    backend.train_from_iterator(itertools.chain(head, chunks), trainer)

    alphabet = _alphabet(backend, characters, room=vocab_size - len(special.all))
    if not alphabet:
        raise InputError("There is no text to learn a vocabulary from: give a text with words in it.")
    vocab = sorted(backend.get_vocab(with_added_tokens=False).items(), key=lambda item: item[1])
    merged = (token for token, _ in vocab if len(token.removeprefix("##")) > 1 and token not in special.all)
    tokens = [*special.all, *alphabet]
    # Pieces are in the order of merging, the most frequent pairs first.
    tokens += [token for token, _ in zip(merged, range(vocab_size - len(tokens)), strict=False)]
    return pipeline.wordpiece_backend({token: i for i, token in enumerate(tokens)}, lowercase=lowercase)


def train_bpe(
    texts: Iterable[str], vocab_size: int, lowercase: bool, min_frequency: int, on_progress: OnProgress
) -> Backend:
    """Return a byte-level BPE tokenizer with at most `vocab_size` tokens trained on `texts`; see `Tokenizer.train`."""
    special = pipeline.SpecialTokens()
    byte_characters = pre_tokenizers.ByteLevel.alphabet()
    min_size = len(special.all) + len(byte_characters)
    if vocab_size < min_size:
        raise InputError(
            f"Byte-level BPE needs a vocabulary of at least {min_size} tokens (256 bytes and "
            f"{len(special.all)} special tokens), and {vocab_size} were asked for: choose more, or WordPiece."
        )
    backend = Backend(models.BPE())
    backend.normalizer, backend.pre_tokenizer = pipeline.bpe_stages(lowercase=lowercase)
    characters: Counter[str] = Counter()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=min_frequency,
        special_tokens=list(special.all),
        initial_alphabet=byte_characters,
        show_progress=False,
    )
    backend.train_from_iterator(_chunks(texts, characters, on_progress), trainer)
    if not "".join(characters).strip():
        raise InputError("There is no text to learn a vocabulary from: give a text with words in it.")
    model = json.loads(backend.to_str())["model"]
    return pipeline.bpe_backend(model["vocab"], [(left, right) for left, right in model["merges"]], lowercase=lowercase)


def _chunks(texts: Iterable[str], characters: Counter[str], on_progress: OnProgress) -> Iterator[str]:
    """Yield the texts in chunks for the trainer; `characters` is updated with the counts of their characters."""
    read = 0
    for text in texts:
        text = pipeline.replace_surrogates(text)
        start = 0
        while start < len(text):
            end = min(start + _CHUNK, len(text))
            if end < len(text):  # cut at white space where possible
                space = max(text.rfind(" ", start, end), text.rfind("\n", start, end))
                end = space if space > start else end
            chunk = text[start:end]
            characters.update(chunk)
            yield _LONG_RUN.sub(r"\1 ", chunk) if len(chunk) > _MAX_WORD_LENGTH else chunk
            if (read + len(chunk)) >> 20 != read >> 20:
                on_progress(read + len(chunk))
            read += len(chunk)
            start = end
    on_progress(read)


def _beginning(chunks: Iterator[str]) -> tuple[list[str], bool]:
    """Return the first million characters, and whether these are all."""
    head, held = [], 0
    for chunk in chunks:
        head.append(chunk)
        held += len(chunk)
        if held >= _MOST_HELD:
            return head, False
    return head, True


def _continuations(characters: Collection[str] | None) -> list[str]:
    """Return every letter, mark, number and symbol among `characters`, or of Unicode, as the continuation of a word:
    "##a" ...

    Without the characters that BERT treats as words of their own (punctuation, Chinese) or removes.
    """
    codes = sorted(map(ord, characters)) if characters is not None else range(0x21, 0x20000)
    return [
        f"##{chr(code)}"
        for code in codes
        if 0x21 <= code < 0x20000
        and unicodedata.category(chr(code))[0] in "LMNS"
        and not any(code in block for block in _CHINESE)
    ]


def _alphabet(backend: Backend, characters: Counter[str], *, room: int) -> list[str]:
    """Return the single-character tokens to keep, in the order of the characters.

    A character that makes up at least a millionth of the text is kept both as the start of a word and as a
    continuation ("##"), so that every word of such characters can be encoded. If there are more than `room`, the most
    frequent are kept.
    """
    counts: Counter[str] = Counter()
    isolated: set[str] = set()
    for character, count in characters.items():
        # Normalize and split it between two letters: it is joined with them, a word of its own, or removed.
        between = backend.normalizer.normalize_str(f"a{character}a")
        words = [word for word, _ in backend.pre_tokenizer.pre_tokenize_str(between)]
        separate = "".join(words[1:-1])
        isolated.update(separate)
        for normalized in words[0][1:-1] if len(words) == 1 else separate:
            counts[normalized] += count

    min_count = math.ceil(_MIN_CHARACTER_SHARE * counts.total())
    starts, continuations = [], []
    for character, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        forms = 1 if character in isolated else 2
        if count < min_count:
            break
        if forms > room:
            continue
        room -= forms
        starts.append(character)
        continuations += [f"##{character}"] * (forms - 1)
    return sorted(starts) + sorted(continuations)
