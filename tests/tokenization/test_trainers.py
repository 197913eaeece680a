import os
import subprocess
import sys
from collections import Counter

import pytest

from bertviz_lab.errors import InputError
from bertviz_lab.tokenization import Tokenizer


def test_same_text_gives_the_same_vocabulary(corpus):
    # The library alone fails this for WordPiece at nearly every run: equal counts abound in a small corpus.
    for algorithm in ("wordpiece", "bpe"):
        trained = {Tokenizer.train(corpus, vocab_size=500, algorithm=algorithm).fingerprint for _ in range(4)}
        assert len(trained) == 1


def test_another_process_learns_the_same_vocabulary(corpus):
    code = (
        "import sys; from bertviz_lab.tokenization import Tokenizer;"
        "print(Tokenizer.train(sys.stdin.read().splitlines(), vocab_size=500).fingerprint)"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONUTF8": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    answer = subprocess.run(
        [sys.executable, "-c", code], input="\n".join(corpus).encode(), env=environment, capture_output=True, check=True
    )
    assert answer.stdout.decode().strip() == Tokenizer.train(corpus, vocab_size=500).fingerprint


def test_a_text_that_is_held_gives_the_vocabulary_of_one_that_is_streamed(corpus, monkeypatch):
    texts = [*corpus, "Ünïcode ½ naïve Ｆｕｌｌ ﬁne Straße İstanbul 中文 한국어 नमस्ते 😀 e\u0301 \u200d x²"]
    held = Tokenizer.train(texts, vocab_size=500).fingerprint
    monkeypatch.setattr("bertviz_lab.tokenization.trainers._MOST_HELD", 1)
    assert Tokenizer.train(texts, vocab_size=500).fingerprint == held


@pytest.mark.parametrize("vocab_size", [64, 100, 301])
def test_vocabulary_is_as_large_as_asked_for(corpus, vocab_size):
    tokenizer = Tokenizer.train(corpus, vocab_size=vocab_size)
    assert tokenizer.vocab_size == vocab_size
    assert len(set(tokenizer.tokens)) == vocab_size


def test_small_vocabulary_keeps_the_most_frequent_characters(corpus):
    tokenizer = Tokenizer.train(corpus, vocab_size=20)
    counts = Counter(character for text in corpus for character in text.lower() if character.isascii())
    most_frequent = [character for character, _ in counts.most_common(8) if not character.isspace()]
    assert set(most_frequent[:6]) <= set(tokenizer.tokens)


def test_rare_characters_leave_room_for_pieces():
    common = "the cat sat under the tree " * 50_000  # 1.35 million characters
    tokenizer = Tokenizer.train([common, "ж" * 1, "ф" * 2])
    assert tokenizer.id("ж") is None
    assert tokenizer.id("ф") is not None


def test_special_tokens_are_not_learnt_nor_pieces_that_are_too_rare():
    text = ["abcd " * 3]
    assert Tokenizer.train(text, min_frequency=3).id("abcd") is not None
    assert Tokenizer.train(text, min_frequency=4).id("abcd") is None
    tokenizer = Tokenizer.train(["the [MASK] sat [SEP] [MASK]"] * 10)
    assert tokenizer.tokens.count("[MASK]") == 1
    assert tokenizer.id("mask") is not None


@pytest.mark.slow
def test_texts_are_read_as_a_stream():
    given = []

    def texts():
        for number in range(30):
            given.append(number)
            yield f"the cat number {number} sat " * 4000

    progress = []
    Tokenizer.train(texts(), on_progress=lambda characters: progress.append((characters, len(given))))
    characters, texts_given = zip(*progress, strict=True)
    assert texts_given[0] < 15  # the first report, after a megabyte or so
    assert list(characters) == sorted(characters)
    assert characters[-1] == sum(len(f"the cat number {number} sat ") * 4000 for number in range(30))


def test_what_progress_raises_ends_the_training():
    class StoppedError(Exception):
        pass

    def stop(characters: int) -> None:
        raise StoppedError

    with pytest.raises(StoppedError):
        Tokenizer.train(["the cat sat " * 200_000], on_progress=stop)


@pytest.mark.parametrize("algorithm", ["wordpiece", "bpe"])
def test_cutting_a_long_text_changes_no_word(algorithm):
    lines = [f"word{number % 997} the cat" for number in range(20_000)]
    whole = Tokenizer.train([" ".join(lines)], algorithm=algorithm, vocab_size=400)
    by_line = Tokenizer.train([lines[0], *(f" {line}" for line in lines[1:])], algorithm=algorithm, vocab_size=400)
    assert whole.tokens == by_line.tokens


def test_surrogates_are_survived_and_a_string_is_not_taken_for_many():
    assert Tokenizer.train(["the \ud800 cat"] * 3).id("cat") is not None
    with pytest.raises(TypeError, match="not one string"):
        Tokenizer.train("the cat")
    with pytest.raises(TypeError, match="not one string"):
        Tokenizer.train(["the cat"]).ids("the cat")


@pytest.mark.parametrize("algorithm", ["wordpiece", "bpe"])
@pytest.mark.parametrize("texts", [[], [""], ["  \n", "\t"]])
def test_empty_text_is_refused(algorithm, texts):
    with pytest.raises(InputError, match="no text to learn a vocabulary from"):
        Tokenizer.train(texts, algorithm=algorithm)
    with pytest.raises(InputError, match="no text to learn a vocabulary from"):
        Tokenizer.train(["\x00\ufffd"])


def test_vocabulary_without_room_is_refused():
    with pytest.raises(InputError, match="choose more than 5"):
        Tokenizer.train(["the cat"], vocab_size=5)
    with pytest.raises(InputError, match="at least 261 tokens"):
        Tokenizer.train(["the cat"], vocab_size=64, algorithm="bpe")
    assert Tokenizer.train(["the cat"], vocab_size=261, algorithm="bpe").vocab_size == 261
