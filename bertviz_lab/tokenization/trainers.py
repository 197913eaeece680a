"""The WordPiece trainer and the byte-level BPE trainer: learn a vocabulary from text, by the `tokenizers` library.

Both learn in the same way (Sennrich et al. 2016): begin with single characters, count which two neighbouring
pieces stand together most often inside words, make that pair a new piece, and repeat until the vocabulary is
full. The text is read once, as a stream; only word counts stay in memory.
"""

import functools
import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from tokenizers import Tokenizer as Backend
from tokenizers import models, normalizers, pre_tokenizers, trainers

from bertviz_lab.errors import InputError
from bertviz_lab.tokenization.pipeline import (
    SpecialTokens,
    bpe_backend,
    bpe_stages,
    replace_surrogates,
    wordpiece_backend,
    wordpiece_stages,
)

# Text goes to the library in chunks of about this many characters: a book given as one string would otherwise
# need many times its size in memory.
_CHUNK = 1 << 16
# A run of non-spaces longer than this is no word but data (base64, a page without spaces); every merge walks
# through the words it touches, so a megabyte in one word would take hours.
_LONGEST_WORD = 500
_LONG_RUN = re.compile(rf"(\S{{{_LONGEST_WORD}}})(?=\S)")
# A character rarer than one in a million buys less than a learnt piece does (on 42 million characters of an
# encyclopaedia, 134 of 1,926 characters are kept, and 0.02% of the text lies in the others).
_RAREST = 1e-6
# More than the different characters that any text has. The trainer counts the rare ones, which are left out
# in the end, into its vocabulary; a piece too many costs it microseconds.
_ANY_CHARACTERS = 1 << 16


def train_wordpiece(
    texts: Iterable[str],
    *,
    vocab_size: int,
    lowercase: bool,
    min_frequency: int,
    on_progress: Callable[[int], None] | None = None,
) -> Backend:
    """A WordPiece tokenizer over at most `vocab_size` tokens learnt from `texts`; see `Tokenizer.train`."""
    special = SpecialTokens()
    if vocab_size <= len(special.all):
        raise InputError(
            f"A vocabulary of {vocab_size} tokens is too small: choose more than {len(special.all)}, "
            "which the special tokens take."
        )
    backend = _untrained_backend(models.WordPiece(unk_token=special.unk), wordpiece_stages(lowercase=lowercase))
    characters: Counter[str] = Counter()

    # The trainer numbers "##a", "##b" ... in the order in which a hash map gives the words, and the number
    # settles which of two equally frequent pairs is merged first: the same text would give another vocabulary
    # at every run (huggingface/tokenizers issue 1794). Handing it all of them beforehand, in order, settles
    # the numbers. They come off again below, so the trainer is asked for that many more.
    reserved = [*special.all, *_continuations()]
    trainer = trainers.WordPieceTrainer(
        vocab_size=len(reserved) + _ANY_CHARACTERS + vocab_size,
        min_frequency=min_frequency,
        special_tokens=reserved,
        show_progress=False,
        continuing_subword_prefix="##",
    )
    backend.train_from_iterator(_chunks(texts, characters, on_progress), trainer)

    alphabet = _alphabet(backend, characters, room=vocab_size - len(special.all))
    if not alphabet:
        raise InputError("There is no text to learn a vocabulary from: give a text with words in it.")
    learnt = sorted(backend.get_vocab(with_added_tokens=False).items(), key=lambda item: item[1])
    merged = (token for token, _ in learnt if len(token.removeprefix("##")) > 1 and token not in special.all)
    tokens = [*special.all, *alphabet]
    # Pieces are learnt greedily, the most frequent pair first, so the first ones are the right ones to keep.
    tokens += [token for token, _ in zip(merged, range(vocab_size - len(tokens)), strict=False)]
    return wordpiece_backend({token: i for i, token in enumerate(tokens)}, lowercase=lowercase)


def train_bpe(
    texts: Iterable[str],
    *,
    vocab_size: int,
    lowercase: bool,
    min_frequency: int,
    on_progress: Callable[[int], None] | None = None,
) -> Backend:
    """A byte-level BPE tokenizer over at most `vocab_size` tokens learnt from `texts`; see `Tokenizer.train`."""
    special = SpecialTokens()
    byte_characters = pre_tokenizers.ByteLevel.alphabet()
    smallest = len(special.all) + len(byte_characters)
    if vocab_size < smallest:
        raise InputError(
            f"Byte-level BPE needs a vocabulary of at least {smallest} tokens (256 bytes and "
            f"{len(special.all)} special tokens), and {vocab_size} were asked for: choose more, or WordPiece."
        )
    backend = _untrained_backend(models.BPE(), bpe_stages(lowercase=lowercase))
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
    learnt = json.loads(backend.to_str())["model"]
    return bpe_backend(learnt["vocab"], [(left, right) for left, right in learnt["merges"]], lowercase=lowercase)


def _untrained_backend(
    model: models.Model, stages: tuple[normalizers.Normalizer, pre_tokenizers.PreTokenizer]
) -> Backend:
    """A backend with the normalizer and the pre-tokenizer that the trainer uses.

    It knows no special tokens: those it knew it would take out of the text and learn from as words ("[MAS", "##K]").
    """
    backend = Backend(model)
    backend.normalizer, backend.pre_tokenizer = stages
    return backend


def _chunks(texts: Iterable[str], characters: Counter[str], on_progress: Callable[[int], None] | None) -> Iterator[str]:
    """The texts in chunks for the trainer, while `characters` counts their characters."""
    done = 0
    for text in texts:
        text = replace_surrogates(text)
        start = 0
        while start < len(text):
            end = min(start + _CHUNK, len(text))
            if end < len(text):  # cut at a space where there is one, so that no word is cut
                space = max(text.rfind(" ", start, end), text.rfind("\n", start, end))
                end = space if space > start else end
            part = text[start:end]
            characters.update(part)
            yield _LONG_RUN.sub(r"\1 ", part) if len(part) > _LONGEST_WORD else part
            if on_progress is not None and (done + len(part)) >> 20 != done >> 20:
                on_progress(done + len(part))
            done += len(part)
            start = end
    if on_progress is not None:
        on_progress(done)


@functools.cache  # a third of a second, which short texts would notice
def _continuations() -> tuple[str, ...]:
    """Every letter, mark, number and symbol as the continuation of a word: "##a" ...

    Left out are the characters of which BERT makes words of their own (punctuation, Chinese) and those it
    removes.
    """
    chinese = (range(0x3400, 0x4DC0), range(0x4E00, 0xA000), range(0xF900, 0xFB00))
    return tuple(
        f"##{chr(code)}"
        for code in range(0x21, 0x20000)
        if unicodedata.category(chr(code))[0] in "LMNS" and not any(code in block for block in chinese)
    )


def _alphabet(backend: Backend, characters: Counter[str], *, room: int) -> list[str]:
    """The single-character tokens to keep, in the order of the characters.

    A character that makes up at least a millionth of the text is kept
    both as the start of a word and as a continuation ("##"), so that every word made of such characters can
    be written. Where `room` is short the most frequent come first.
    """
    counts: Counter[str] = Counter()
    isolated: set[str] = set()
    for character, count in characters.items():
        # Between two letters it shows what becomes of it: joined with them, a word of its own, or nothing.
        between = backend.normalizer.normalize_str(f"a{character}a")
        words = [word for word, _ in backend.pre_tokenizer.pre_tokenize_str(between)]
        alone = "".join(words[1:-1])
        isolated.update(alone)
        for normalized in words[0][1:-1] if len(words) == 1 else alone:
            counts[normalized] += count

    enough = math.ceil(_RAREST * counts.total())
    starts, continuations = [], []
    for character, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        forms = 1 if character in isolated else 2
        if count < enough:
            break
        if forms > room:
            continue
        room -= forms
        starts.append(character)
        continuations += [f"##{character}"] * (forms - 1)
    return sorted(starts) + sorted(continuations)
