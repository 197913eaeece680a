"""Writing systems, and warnings about a text before training, each with what the lab does about it."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bertviz_lab.data.corpora.reading_notes import ReadingNotes, quoted
from bertviz_lab.data.documents import LONGEST_SENTENCE

_CHARACTERS = 200_000  # that are looked at
_MANY_CHANGED = 0.15  # words that accent stripping changes
#: First words of Unicode's names of letters, with the name of the writing.
_SCRIPTS = {
    "LATIN": "Latin", "CYRILLIC": "Cyrillic", "DEVANAGARI": "Devanagari", "ARABIC": "Arabic", "THAI": "Thai",
    "CJK": "Chinese", "HIRAGANA": "Japanese", "KATAKANA": "Japanese", "HANGUL": "Korean", "GREEK": "Greek",
    "HEBREW": "Hebrew", "BENGALI": "Bengali", "TAMIL": "Tamil", "TELUGU": "Telugu", "GEORGIAN": "Georgian",
    "ARMENIAN": "Armenian", "KHMER": "Khmer", "LAO": "Lao", "MYANMAR": "Burmese",
}  # fmt: skip
_UNSPACED = ("Thai", "Japanese", "Khmer", "Lao", "Burmese")


@dataclass(frozen=True)
class WritingSystem:
    """The writing of most letters of a text.

    Attributes:
        name: such as "Cyrillic"; "" without letters.
        changed: fraction of the words that lowercasing with accent stripping changes in more than their case.
        example: one such word and what is left of it.
    """

    name: str
    changed: float
    example: tuple[str, str]

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
        settings: dict[str, str | bool] = {}
        if self.loses_letters or self.is_unspaced:
            settings["lowercase"] = False
        if self.is_unspaced:
            settings["algorithm"] = "bpe"
        return settings


def writing_system(sentences: Iterable[str]) -> WritingSystem:
    """Return the writing system of a text, by its first sentences."""
    scripts: Counter[str] = Counter()
    words: Counter[str] = Counter()
    seen = 0
    for sentence in sentences:
        words.update(sentence.split())
        seen += len(sentence)
        if seen > _CHARACTERS:
            break
    letters = Counter(character for word, count in words.items() for character in word for _ in range(min(count, 3)))
    for character, count in letters.items():
        if character.isalpha():
            scripts[_SCRIPTS.get(unicodedata.name(character, "?").split()[0], "another")] += count
    name = max(scripts, key=lambda script: scripts[script], default="")
    if name == "Chinese" and scripts["Japanese"] > 0.05 * scripts.total():
        name = "Japanese"
    changed = {word: stripped for word in words if (stripped := _stripped(word)) != _composed(word.lower())}
    example = max(changed, key=lambda word: words[word], default="")
    share = sum(words[word] for word in changed) / max(1, words.total())
    return WritingSystem(name, share, (example, changed.get(example, "")))


def writing_warnings(writing: WritingSystem, *, strips_accents: bool, splits_words: bool) -> Iterator[str]:
    """Yield a sentence on each setting that does not suit a writing system.

    `strips_accents` where the tokenizer lowercases and strips accents, `splits_words` where it is WordPiece.
    """
    if strips_accents and writing.loses_letters:
        word, left = writing.example
        yield (
            f"The text is mostly {writing.name}, and lowercasing with accent stripping takes letters, tones or vowel "
            f"signs from {writing.changed:.0%} of its words ({quoted(word)} becomes {quoted(left)}): switch "
            "lowercasing off (--no-lowercase)."
        )
    if splits_words and writing.is_unspaced:
        yield (
            f"The text is mostly {writing.name}, which has no spaces between words, and WordPiece takes a clause for a "
            "word: byte-level BPE suits it better (--algorithm bpe)."
        )


def _stripped(word: str) -> str:
    """Return a word as BERT's uncased tokenizers leave it."""
    if word.isascii():
        return word.lower()
    parts = unicodedata.normalize("NFD", word.lower())
    return _composed("".join(part for part in parts if unicodedata.category(part) != "Mn"))


def _composed(word: str) -> str:
    return word if word.isascii() else unicodedata.normalize("NFC", word)


_FEW_TOKENS = 20_000
_MANY_UNKNOWN = 0.02
_MANY_DUPLICATES = 0.2
_MANY_TOO_LONG = 0.05
_MOSTLY_SINGLE = 0.9
_MANY_CUT = 0.001
_FEW_DISTINCT = 5
_FILES_NAMED = 3


@dataclass(frozen=True)
class Findings:
    """The statistics that warnings depend on; shares are 0 to 1.

    Attributes:
        single_documents: documents of one sentence.
        distinct_tokens: tokens of the vocabulary that occur.
        duplicated: share of sentences that repeat an earlier one.
        too_long: share of sentences that do not fit into `seq_len` tokens.
        strips_accents: the tokenizer lowercases and strips accents.
        splits_words: the tokenizer is WordPiece, which needs words between spaces.
    """

    documents: int
    sentences: int
    pairs: int
    single_documents: int
    tokens: int
    distinct_tokens: int
    unk_rate: float
    duplicated: float
    too_long: float
    seq_len: int
    writing: WritingSystem | None = None
    strips_accents: bool = False
    splits_words: bool = False

    @property
    def nsp_possible(self) -> bool:
        """NSP needs adjacent sentences, and another document to draw a random one from."""
        return self.documents >= 2 and self.pairs > 0


def warnings_about(findings: Findings, notes: ReadingNotes) -> Iterator[str]:
    """Full sentences, the most important first."""
    yield from _about_writing(findings)
    yield from _about_pairs(findings)
    yield from _about_amount(findings)
    yield from _about_tokens(findings)
    yield from _about_reading(findings, notes)


def _about_writing(findings: Findings) -> Iterator[str]:
    if findings.writing is not None:
        yield from writing_warnings(
            findings.writing, strips_accents=findings.strips_accents, splits_words=findings.splits_words
        )


def _about_pairs(findings: Findings) -> Iterator[str]:
    if findings.sentences == 1:
        yield (
            "The text is a single sentence: the lab trains MLM only and the model will know nothing but this sentence."
        )
    elif findings.documents == 1:
        yield (
            "The text is one document, so there is no other document to draw a random next sentence from: the "
            "lab trains MLM only; blank lines between articles, or several files, would give it "
            "more documents."
        )
    elif findings.pairs == 0:
        yield ("Every document is a single sentence, so no sentence has a next one: the lab trains MLM only.")
    elif findings.single_documents > _MOSTLY_SINGLE * findings.documents:
        yield (
            f"{_percent(findings.single_documents / findings.documents)} of the documents are a single sentence, so "
            "nearly all next sentences will be random ones and NSP accuracy will mean little: training "
            "with MLM only serves this text better."
        )


def _about_amount(findings: Findings) -> Iterator[str]:
    if findings.distinct_tokens <= _FEW_DISTINCT:
        yield (
            f"The text is made of only {findings.distinct_tokens} different "
            f"{'token' if findings.distinct_tokens == 1 else 'tokens'}, repeated: training works, but there is "
            "nothing to learn from it."
        )
    elif findings.tokens < _FEW_TOKENS:
        yield (
            f"The text is tiny ({findings.tokens:,} tokens): the model will learn it by heart, and its scores will "
            "say little about other text."
        )
    if findings.duplicated > _MANY_DUPLICATES and findings.sentences > 1:
        yield (
            f"{_percent(findings.duplicated)} of the sentences repeat an earlier one: the lab keeps them, so "
            "scores on held-out text will look better than they are."
        )


def _about_tokens(findings: Findings) -> Iterator[str]:
    if findings.unk_rate > _MANY_UNKNOWN:
        yield (
            f"{_percent(findings.unk_rate)} of the tokens are [UNK], because the vocabulary has no pieces for "
            "them: the lab trains on all the same, but cannot learn or predict these words; a larger vocabulary "
            "or BPE would know them."
        )
    if findings.too_long > _MANY_TOO_LONG:
        yield (
            f"{_percent(findings.too_long)} of the sentences do not fit into {findings.seq_len} tokens: the lab cuts "
            "them to fit; a greater sequence length would keep them whole."
        )


def _about_reading(findings: Findings, notes: ReadingNotes) -> Iterator[str]:
    names = [file.name for file in notes.files if file.blank_after_sentence]
    if names:
        by_request = any(file.blank_after_sentence and file.blank_ends_document for file in notes.files)
        consequence = (
            "as you asked, each of these lines is a document, and next sentences will nearly all be random ones; "
            'choose "auto" to have them joined.'
            if by_request
            else "the lab does not take these blank lines for the ends of documents, since next sentences would "
            "then all be random ones; longer gaps still end one."
        )
        yield f"A blank line follows nearly every sentence in {_listed(names)}: {consequence}"
    damaged = [file for file in notes.files if file.replaced]
    if damaged:
        count = sum(file.replaced for file in damaged)
        yield (
            f"{count:,} {'character' if count == 1 else 'characters'} could not be read in "
            f"{_listed([file.name for file in damaged])}: the lab leaves them out; saving as UTF-8 may bring them back."
        )
    if notes.sentences_cut > _MANY_CUT * findings.sentences:
        several = notes.sentences_cut != 1
        yield (
            f"{notes.sentences_cut:,} {'sentences have' if several else 'sentence has'} more than "
            f"{LONGEST_SENTENCE} words: the lab cuts {'them' if several else 'it'} into parts."
        )
    ragged = [file for file in notes.files if file.ragged_rows]
    if ragged:
        yield (
            f"{sum(file.ragged_rows for file in ragged):,} rows of {_listed([file.name for file in ragged])} have "
            "more or fewer cells than the others: the lab takes what stands in the text column."
        )
    skipped = [file for file in notes.files if file.skipped_rows]
    if skipped:
        yield (
            f"{sum(file.skipped_rows for file in skipped):,} rows of "
            f"{_listed([file.name for file in skipped])} hold no text: the lab leaves them out."
        )
    yield from notes.left_out()


def _listed(names: list[str]) -> str:
    first = ", ".join(quoted(name) for name in names[:_FILES_NAMED])
    remaining = len(names) - _FILES_NAMED
    return f"{first} and {remaining:,} more" if remaining > 0 else first


def _percent(share: float) -> str:
    if 0.99 < share < 1:
        return "Nearly all"
    return f"{100 * share:.0f}%" if share >= 0.1 else f"{100 * share:.1f}%"
