"""What the health report of a corpus says: its statistics, the writing system, and warnings, each with a remedy."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from tokenizers.normalizers import BertNormalizer

from bertviz_lab.data.corpora.reading_notes import FileNotes, ReadingNotes, pluralized, quoted, quoted_list
from bertviz_lab.data.documents import LONGEST_SENTENCE
from bertviz_lab.tokenization import Tokenizer

_CHARACTERS = 200_000  # that are looked at
_SENTENCES, _MANY_UNKNOWN = 2_000, 0.01
_MANY_CHANGED = 0.15  # words that accent stripping changes
#: First words of Unicode's names of letters that are not the name of the writing.
_SCRIPTS = {"CJK": "Chinese", "HIRAGANA": "Japanese", "KATAKANA": "Japanese", "HANGUL": "Korean", "MYANMAR": "Burmese"}
#: What BERT's uncased tokenizers leave of a word.
_UNCASED = BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=True)
_UNSPACED = ("Thai", "Japanese", "Khmer", "Lao", "Burmese")


@dataclass(frozen=True)
class WritingSystem:
    """The writing of most letters of a text."""

    name: str  # such as "Cyrillic"; "" without letters
    changed: float  # fraction of the words that lowercasing with accent stripping changes in more than their case
    example: tuple[str, str]  # one such word and what is left of it

    @property
    def loses_letters(self) -> bool:
        """Whether accent stripping takes letters, tones or vowel signs from many words."""
        return self.changed > _MANY_CHANGED

    @property
    def is_unspaced(self) -> bool:
        """Whether words are written without spaces, so that WordPiece takes a clause for a word."""
        return self.name in _UNSPACED

    @property
    def settings(self) -> dict[str, str | bool]:
        """The options of `pretrain` that suit this writing and are not the defaults."""
        cased: dict[str, str | bool] = {"lowercase": False} if self.loses_letters or self.is_unspaced else {}
        return cased | ({"algorithm": "bpe"} if self.is_unspaced else {})


def writing_system(sentences: Iterable[str]) -> WritingSystem:
    """Return the writing system of a text, by its first sentences."""
    words: Counter[str] = Counter()
    seen = 0
    for sentence in sentences:
        words.update(sentence.split())
        seen += len(sentence)
        if seen > _CHARACTERS:
            break
    scripts: Counter[str] = Counter()
    letters = Counter(character for word, count in words.items() for character in word for _ in range(min(count, 3)))
    for character, count in letters.items():
        if character.isalpha():
            script = unicodedata.name(character, "ANOTHER").split()[0]
            scripts[_SCRIPTS.get(script, script.title())] += count
    name = max(scripts, key=lambda script: scripts[script], default="")
    if name == "Chinese" and scripts["Japanese"] > 0.05 * scripts.total():
        name = "Japanese"
    stripped = {word: unicodedata.normalize("NFC", _UNCASED.normalize_str(word)) for word in words}
    changed = {word: left for word, left in stripped.items() if left != unicodedata.normalize("NFC", word.lower())}
    example = max(changed, key=lambda word: words[word], default="")
    share = sum(words[word] for word in changed) / max(1, words.total())
    return WritingSystem(name, share, (example, changed.get(example, "")))


def writing_warnings(writing: WritingSystem, tokenizer: Tokenizer) -> Iterator[str]:
    """Yield a sentence on each setting of the tokenizer that does not suit a writing system."""
    mostly, is_wordpiece = f"The text is mostly {writing.name}", tokenizer.algorithm == "wordpiece"
    if is_wordpiece and tokenizer.lowercase and writing.loses_letters:
        word, left = writing.example
        yield (
            f"{mostly}, and lowercasing with accent stripping takes letters, tones or vowel "
            f"signs from {writing.changed:.0%} of its words ({quoted(word)} becomes {quoted(left)}): switch "
            "lowercasing off (--no-lowercase)."
        )
    if is_wordpiece and writing.is_unspaced:
        yield (
            f"{mostly}, which has no spaces between words, and WordPiece takes a clause for a "
            "word: byte-level BPE suits it better (--algorithm bpe)."
        )


def unknown_warning(share: float, tokenizer: Tokenizer, sentences: Iterable[str], *, is_given: bool) -> Iterator[str]:
    """Yield a sentence on the cause of [UNK] tokens where they are more than 1% of a text's."""
    if share <= _MANY_UNKNOWN:
        return

    def is_missing(character: str) -> bool:
        normalizer, prefix = tokenizer.backend.normalizer, tokenizer.continuation_prefix
        plain = normalizer.normalize_str(character).strip() if normalizer else character
        return any(tokenizer.id(c) is None and tokenizer.id(prefix + c) is None for c in plain)

    words: Counter[str] = Counter()
    for sentence in islice(sentences, _SENTENCES):
        encoding = tokenizer.encode(sentence)
        spans = zip(encoding.ids, encoding.offsets, strict=True)
        words.update(sentence[slice(*span)] for token_id, span in spans if token_id == tokenizer.unk_id)
    longest = tokenizer.max_word_length or LONGEST_SENTENCE
    missing = Counter(c for word in words.elements() for c in set(word) if is_missing(c))
    such = f", such as {', '.join(quoted(c) for c, _ in missing.most_common(3))}" if missing else ""
    if sum(len(word) > longest for word in words.elements()) > words.total() / 2:
        cause = f"runs of more than {longest} characters without a space, which byte-level BPE splits (--algorithm bpe)"
    elif is_given:
        cause = f"words with characters that the given tokenizer lacks{such}: choose one of this language"
    else:
        cause = (
            f"words with characters that a vocabulary of {tokenizer.vocab_size:,} tokens lacks{such}: choose a larger "
        )
        cause += "one (--vocab-size), byte-level BPE (--algorithm bpe) or more text"
    yield f"{percent(share)} of the tokens are [UNK], which cannot be learned or predicted. Most are {cause}."


@dataclass(frozen=True)
class HealthReport:
    """The statistics of a text, and warnings about it."""

    # of the whole text; characters without spaces between sentences; in scripts without spaces every character is a
    # word
    documents: int
    sentences: int
    words: int
    characters: int
    pairs: int  # adjacent sentences in the same document
    longest_sentence: int  # words in the longest sentence
    tokens: int  # without special tokens; `tokens_estimated` if the text is longer than the sample
    tokens_estimated: bool
    vocab_size: int  # size of the vocabulary that was used or trained
    unk_rate: float  # share of `[UNK]` among the tokens of text that the tokenizer was not trained on, 0 to 1
    nsp_possible: bool  # there are two documents and a pair; otherwise the lab trains MLM only
    unigram_entropy: float  # of the tokens, in nats: the MLM loss of the unigram baseline
    frequent: tuple[tuple[str, float], ...]  # the most frequent tokens with their shares, 0 to 1, in descending order
    reading: tuple[str, ...]  # a sentence per file on how it was read, for the first files
    recommended: dict[str, str | bool]  # options of `pretrain` that suit the writing system and are not the defaults
    warnings: tuple[str, ...] = ()  # full sentences, each with what the lab does about it


def reading_warnings(notes: ReadingNotes, sentences: int) -> Iterator[str]:
    """Yield one warning for each oddity found while reading a corpus of this many sentences."""
    if blank := [file for file in notes.files if file.blank_after_sentence]:
        consequence = (
            "as you asked, each of these lines is a document, and next sentences will nearly all be random ones; "
            'choose "auto" to have them joined.'
            if any(file.blank_ends_document for file in blank)
            else "the lab does not take these blank lines for the ends of documents, since next sentences would "
            "then all be random ones; longer gaps still end one."
        )
        yield f"A blank line follows nearly every sentence in {_listed(blank)}: {consequence}"
    if damaged := [file for file in notes.files if file.replaced]:
        count = sum(file.replaced for file in damaged)
        yield (
            f"{pluralized(count, 'character<s>')} could not be read in {_listed(damaged)}: "
            "the lab leaves them out; saving as UTF-8 may bring them back."
        )
    if notes.sentences_cut > 0.001 * sentences:
        long = f"sentence<s> <has|have> more than {LONGEST_SENTENCE} words: the lab cuts <it|them> into parts."
        yield pluralized(notes.sentences_cut, long)
    if ragged := [file for file in notes.files if file.ragged_rows]:
        yield (
            f"{sum(file.ragged_rows for file in ragged):,} rows of {_listed(ragged)} have "
            "more or fewer cells than the others: the lab takes what stands in the text column."
        )
    if skipped := [file for file in notes.files if file.skipped_rows]:
        rows = sum(file.skipped_rows for file in skipped)
        yield f"{rows:,} rows of {_listed(skipped)} hold no text: the lab leaves them out."
    yield from notes.left_out()


def _listed(files: list[FileNotes]) -> str:
    return quoted_list([file.name for file in files], 3)


def percent(share: float) -> str:
    """Return a share of all, 0 to 1, for people."""
    if 0.99 < share < 1:
        return "Nearly all"
    return f"{100 * share:.0f}%" if share >= 0.1 else f"{100 * share:.1f}%"
