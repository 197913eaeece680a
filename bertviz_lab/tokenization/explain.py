"""How a text is split, step by step.

A reference implementation of what `Tokenizer.encode` gets from a fast library, which records the steps: for WordPiece
the candidates, for BPE the merges, for Unigram the pieces that could end at each place. Tests hold the two equal.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from tokenizers import PreTokenizedString
from tokenizers.pre_tokenizers import ByteLevel

from bertviz_lab.errors import InputError
from bertviz_lab.tokenization.pipeline import WHITE_SPACE, replace_surrogates, trim_span
from bertviz_lab.tokenization.tokenizer import Tokenizer

# Every step holds the whole word, so the steps of a word grow with the square of its length.
_LONGEST_MERGED_WORD = 1000
_UNKNOWN_PENALTY = 10.0  # of `tokenizers`, models/unigram: K_UNK_PENALTY


@dataclass(frozen=True)
class SplitStep:
    """One step of WordPiece: the longest token that begins at `start`, an offset in the normalized word.

    `candidates` are in order, longest first; the last one is `match`, unless `match` is None because not even a single
    character is a token, which makes the whole word `[UNK]`.
    """

    start: int
    candidates: tuple[str, ...]
    match: str | None


@dataclass(frozen=True)
class MergeStep:
    """One step of BPE: of all adjacent pieces, the `pair` that was learned first (lowest `rank`) is merged."""

    pieces_before: tuple[str, ...]
    pair: tuple[str, str]
    rank: int


class PieceScore(NamedTuple):
    """A piece that could be the last of a word's beginning."""

    piece: str
    score: float  # its log-probability
    total: float  # the sum of the best split of that beginning which ends with it


@dataclass(frozen=True)
class PathStep:
    """One piece of Unigram's best split: `candidates` end at the same place, the offset `end`; the first is taken.

    An unknown character is a candidate with the worst log-probability less 10.
    """

    end: int
    candidates: tuple[PieceScore, ...]


Steps = tuple[SplitStep, ...] | tuple[MergeStep, ...] | tuple[PathStep, ...]


@dataclass(frozen=True)
class WordSplit:
    """A word of the text and its tokens.

    `word` is `text[start:end]`; `normalized` is the input of the algorithm: lowercased, for example, or for BPE the
    bytes in printable form, with "Ġ" for the space before the word. `steps` are empty for a special token, a word too
    long for WordPiece, and a word of one byte.
    """

    word: str
    normalized: str
    start: int
    end: int
    pieces: tuple[str, ...]
    steps: Steps


def explain(tokenizer: Tokenizer, text: str) -> tuple[WordSplit, ...]:
    """Return every word of `text` with the steps that split it; all pieces are `encode(text)` without added tokens.

    Raises `InputError` where a word is too long to show its merges, or the BPE is not byte-level.
    """
    splits = []
    for normalized, start, end, is_special in _words(tokenizer, replace_surrogates(text)):
        pieces, steps = ((normalized,), ()) if is_special else _SPLIT[tokenizer.algorithm](tokenizer, normalized)
        splits.append(WordSplit(text[start:end], normalized, start, end, pieces, steps))
    return tuple(splits)


def _longest_match(tokenizer: Tokenizer, word: str) -> tuple[tuple[str, ...], tuple[SplitStep, ...]]:
    """WordPiece: take the longest token that the word begins with, then the longest continuation, and so on.

    Source: google-research/bert, tokenization.py, WordpieceTokenizer.
    """
    unknown = (tokenizer.special.unk,)
    if tokenizer.max_word_length is not None and len(word) > tokenizer.max_word_length:
        return unknown, ()
    pieces: list[str] = []
    steps: list[SplitStep] = []
    start = 0
    while start < len(word):
        prefix = tokenizer.continuation_prefix if start > 0 else ""
        candidates = []
        for end in range(len(word), start, -1):
            candidates.append(prefix + word[start:end])
            if tokenizer.id(candidates[-1]) is not None:
                break
        else:
            return unknown, (*steps, SplitStep(start, tuple(candidates), None))
        steps.append(SplitStep(start, tuple(candidates), candidates[-1]))
        pieces.append(candidates[-1])
        start = end
    return tuple(pieces), tuple(steps)


def _merge(tokenizer: Tokenizer, word: str) -> tuple[tuple[str, ...], tuple[MergeStep, ...]]:
    """BPE: begin with single bytes; merge the pair that was learned first, leftmost on ties, until none is left.

    Source: Sennrich et al. 2016, section 3.2.
    """
    _check_length(word, "bytes")
    if any(tokenizer.id(character) is None for character in word):
        raise InputError("Only byte-level BPE can be shown step by step, and this tokenizer does not know every byte.")
    ranks = tokenizer.merge_ranks
    pieces = tuple(word)
    steps = []
    while ranked := [(ranks[pair], position) for position, pair in enumerate(pairwise(pieces)) if pair in ranks]:
        rank, position = min(ranked)
        left, right = pieces[position : position + 2]
        steps.append(MergeStep(pieces, (left, right), rank))
        pieces = (*pieces[:position], left + right, *pieces[position + 2 :])
    return pieces, tuple(steps)


def _best_path(tokenizer: Tokenizer, word: str) -> tuple[tuple[str, ...], tuple[PathStep, ...]]:
    """Unigram: of all splits into pieces, the one with the largest sum of log-probabilities (Viterbi's algorithm).

    Source: Kudo 2018, "Subword Regularization", section 3.2; unknown characters in a row are one unknown token.
    """
    _check_length(word, "characters")
    scores = tokenizer.piece_scores
    longest = max(map(len, scores))
    unknown_score = min(scores.values()) - _UNKNOWN_PENALTY
    totals = [0.0]
    ending: list[tuple[PieceScore, ...]] = [()]  # at each offset, the best first
    for end in range(1, len(word) + 1):
        ended_here = []
        for start in range(max(0, end - longest), end):
            piece = word[start:end]
            if piece in scores:
                ended_here.append(PieceScore(piece, scores[piece], totals[start] + scores[piece]))
        if word[end - 1] not in scores:
            ended_here.append(PieceScore(word[end - 1], unknown_score, totals[end - 1] + unknown_score))
        ended_here.sort(key=lambda candidate: -candidate.total)  # of equal ones the longest, which began first
        ending.append(tuple(ended_here))
        totals.append(ended_here[0].total)
    steps = []
    end = len(word)
    while end:
        steps.append(PathStep(end, ending[end]))
        end -= len(ending[end][0].piece)
    pieces: list[str] = []
    for step in reversed(steps):
        piece = step.candidates[0].piece
        token = piece if piece in scores else tokenizer.special.unk
        if token != tokenizer.special.unk or pieces[-1:] != [token]:
            pieces.append(token)
    return tuple(pieces), tuple(reversed(steps))


_SPLIT: dict[str, Callable[[Tokenizer, str], tuple[tuple[str, ...], Steps]]] = {
    "wordpiece": _longest_match,
    "bpe": _merge,
    "unigram": _best_path,
}


def _check_length(word: str, unit: str) -> None:
    if len(word) > _LONGEST_MERGED_WORD:
        raise InputError(
            f"A word of {len(word):,} {unit} is too long to show how it is split: shorten it to "
            f"{_LONGEST_MERGED_WORD:,}."
        )


def _words(tokenizer: Tokenizer, text: str) -> Iterator[tuple[str, int, int, bool]]:
    """(normalized, start, end, is special) of each word; special tokens are words that are never split."""
    added = [token for token in tokenizer.backend.get_added_tokens_decoder().values() if not token.normalized]
    space, end = f"[{WHITE_SPACE}]*", 0
    pattern = "|".join(  # the longest if several match, with the white space that it absorbs
        (space if token.lstrip else "") + re.escape(token.content) + (space if token.rstrip else "")
        for token in sorted(added, key=lambda token: -len(token.content))
    )
    for match in re.finditer(pattern, text):
        yield from _plain_words(tokenizer, text, end, match.start())
        yield match.group().strip(WHITE_SPACE), *trim_span(text, *match.span()), True
        end = match.end()
    yield from _plain_words(tokenizer, text, end, len(text))


def _plain_words(tokenizer: Tokenizer, text: str, start: int, end: int) -> Iterator[tuple[str, int, int, bool]]:
    """Yield the words of `text[start:end]` after the library's normalizer and pre-tokenizer."""
    if start == end:
        return
    backend = tokenizer.backend
    part = PreTokenizedString(text[start:end])
    if backend.normalizer is not None:
        part.normalize(backend.normalizer.normalize)
    if backend.pre_tokenizer is not None:
        backend.pre_tokenizer.pre_tokenize(part)
    for normalized, (word_start, word_end), _ in part.get_splits("original", "char"):
        yield normalized, *trim_span(text, start + word_start, start + word_end), False


_BYTES = ByteLevel(add_prefix_space=False, use_regex=False)
# Common variants: "mask" or "blank" in any brackets, one of which may be missing, underscores, or MASK in capitals.
_OPEN, _CLOSE = r"[\[(<{【〈«]+", r"[\])>}】〉»]+"
MASK_ATTEMPTS = re.compile(
    rf"{_OPEN}\s*[/|]?\s*(?:mask|maks|msak|masks|masked|blank)\s*[/|]?\s*{_CLOSE}"
    rf"|{_OPEN}\s*(?:mask|maks|msak)\b"
    rf"|\b(?:mask|maks|msak)\s*{_CLOSE}"
    r"|_{2,}",
    re.IGNORECASE,
)
_CAPITALS = re.compile(r"\bMASK\b")


def token_text(tokenizer: Tokenizer, token_id: int) -> str:
    """Return a token as it stands in a text: "café" for BPE's "ĠcafÃ©", "ing" for WordPiece's "##ing".

    Empty for a token of white space and an id beyond the vocabulary; U+FFFD where a token has part of a character.
    """
    text = tokenizer.decode([token_id], skip_special=False).strip()
    return text.removeprefix(tokenizer.continuation_prefix) or text


def token_name(tokenizer: Tokenizer, token_id: int) -> str:
    """Return what to call a token: its text, or its spelling in the vocabulary where the text says less.

    That is so of WordPiece, whose "##ing" is not the word "ing", of white space, and of parts of a character.
    """
    text = token_text(tokenizer, token_id)
    is_readable = text and text.isprintable() and "\ufffd" not in text
    return text if is_readable and tokenizer.algorithm != "wordpiece" else tokenizer.token(token_id)


def ids_named(tokenizer: Tokenizer, name: str) -> tuple[int, ...]:
    """Return the ids of the tokens with a `token_name`: the one after a space first, then the one without."""
    spellings = [name] if tokenizer.algorithm == "wordpiece" else [f"▁{name}", name]
    if tokenizer.algorithm == "bpe":
        spellings = [_bytes(f" {name}"), f"▁{name}", _bytes(name), name]
    ids = map(tokenizer.id, spellings)
    return tuple(dict.fromkeys(token_id for token_id in ids if token_id is not None))


def _bytes(text: str) -> str:
    """Return a text in the characters that byte-level BPE has for its bytes."""
    return "".join(piece for piece, _ in _BYTES.pre_tokenize_str(text))


def check_mask_spelling(text: str, tokenizer: Tokenizer) -> str | None:
    """Advice on how to write the mask token where `text` has a misspelled one, else None.

    "[mask]", "<mask>", "(MASK)", "[MASK" and "___" are tokenized like any other text, so there would be nothing to
    predict and no error.
    """
    mask = tokenizer.special.mask
    # Correct mask tokens are not part of a misspelling; spaces keep their neighbours apart.
    rest = text.replace(mask, " " * len(mask))
    attempt = MASK_ATTEMPTS.search(rest) or (None if text.isupper() else _CAPITALS.search(rest))
    if attempt is None:
        return None
    return f'To let the model fill in a word, write {mask} in place of "{attempt.group().strip()}".'
