"""A small made-up corpus, and one tokenizer of each kind trained on it."""

import random

import pytest

from bertviz_lab.tokenization import Tokenizer

# fmt: off
WORDS = [
    "the", "a", "cat", "dog", "bird", "sat", "walked", "sings", "slowly", "quickly", "under", "over", "near",
    "tree", "house", "river", "walking", "singing", "houses", "unhappy", "unhappily", "réunion", "naïve",
    "Zürich", "Éclair", "don't", "it's", "1984", "3.14", "e-mail", "Москва", "городской", "東京", "中文", "🦙",
    "🙂", "café",
]
# fmt: on


def sentences(count: int, seed: int = 0) -> list[str]:
    """`count` sentences of random words: some capitals, accents, Chinese, emoji and punctuation in each hundred."""
    choose = random.Random(seed)
    syllables = [first + vowel + last for first in "bdfklmnprst" for vowel in "aeiou" for last in ("", "n", "r")]
    made_up = ["".join(choose.choices(syllables, k=choose.randint(1, 4))) for _ in range(300)]
    lines = []
    for _ in range(count):
        words = choose.choices(WORDS, weights=range(len(WORDS), 0, -1), k=choose.randint(3, 12))
        words += choose.choices(made_up, k=3)
        lines.append(" ".join(words).capitalize() + choose.choice(".!?"))
    return lines


@pytest.fixture(scope="session")
def corpus() -> list[str]:
    return sentences(2000)


@pytest.fixture(scope="session")
def wordpiece(corpus: list[str]) -> Tokenizer:
    return Tokenizer.train(corpus, vocab_size=300)


@pytest.fixture(scope="session")
def cased(corpus: list[str]) -> Tokenizer:
    return Tokenizer.train(corpus, vocab_size=300, lowercase=False)


@pytest.fixture(scope="session")
def bpe(corpus: list[str]) -> Tokenizer:
    return Tokenizer.train(corpus, vocab_size=400, algorithm="bpe", lowercase=False)


@pytest.fixture(scope="session", params=["wordpiece", "cased", "bpe"])
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    """Each of the three in turn."""
    trained: Tokenizer = request.getfixturevalue(request.param)
    return trained
