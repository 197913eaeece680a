"""The writing system of a text, and the settings of a tokenizer that suit it."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bertviz_lab.data.corpora.reading_notes import quoted

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
