"""Which probes suit a run: by its text, and by the words of its vocabulary."""

from pathlib import Path

import pytest

from bertviz_lab.data.probes import PROBES, probes_for, probes_that_fit
from bertviz_lab.data.probes.minimal_pairs import words
from bertviz_lab.data.samples.tiny_town import stories
from bertviz_lab.tokenization import Tokenizer

ENGLISH = [sentence for pair in PROBES["english"].pairs for sentence in (pair.good, pair.bad)]
FRENCH = ["Le chat dort sur le tapis.", "Une fille lit un livre rouge dans le jardin.", "Il a vu six chiens."]


def learnt_from(texts: list[str], **options) -> Tokenizer:
    return Tokenizer.train(texts * 3, **options)


@pytest.fixture(scope="module")
def english() -> Tokenizer:
    return learnt_from(ENGLISH, vocab_size=4000)


@pytest.fixture(scope="module")
def town() -> Tokenizer:
    return Tokenizer.train(
        (sentence for document in stories(0, 600) for sentence in document.sentences), vocab_size=2000
    )


def test_an_english_vocabulary_can_be_asked_every_english_pair(english: Tokenizer) -> None:
    found, probes = probes_for(["book.txt"], english), PROBES["english"]
    assert found is not None
    assert (found.name, found.pairs, found.kinds) == ("english", probes.pairs, probes.kinds)


def test_a_run_on_tiny_town_alone_is_asked_about_tiny_town(town: Tokenizer) -> None:
    found = probes_for(["sample:tiny-town"], town)
    assert found is not None
    assert (found.name, found.pairs) == ("tiny-town", PROBES["tiny-town"].pairs)
    other = probes_for(["sample:tiny-town", "book.txt"], town)
    assert other is None or other.name == "english"


@pytest.mark.parametrize("text", ["livre.txt", "sample:tiny-town"])
def test_a_text_in_another_language_is_asked_nothing(text: str) -> None:
    assert probes_for([text], learnt_from(FRENCH, vocab_size=400)) is None


@pytest.mark.parametrize("algorithm", ["wordpiece", "bpe"])
@pytest.mark.parametrize("lowercase", [True, False])
def test_pairs_whose_words_are_not_whole_are_left_out_in_both_directions(algorithm: str, lowercase: bool) -> None:
    without = [sentence for sentence in ENGLISH if not {"himself", "herself"} & set(words(sentence))]
    tokenizer = learnt_from(without, vocab_size=4000, algorithm=algorithm, lowercase=lowercase)
    found = probes_that_fit("english", tokenizer)
    assert found is not None
    asked = {word for pair in found.pairs for word in words(pair.good) + words(pair.bad)}
    assert asked.isdisjoint({"himself", "herself"})
    assert "reflexive" not in found.kinds, "too few of its pairs are left"
    assert {pair.kind for pair in found.pairs} == set(found.kinds)
    for pair in found.pairs:
        good, bad = tokenizer.ids([pair.good, pair.bad])
        differs = [ids for ids in zip(good, bad, strict=True) if ids[0] != ids[1]]
        assert len(differs) == (2 if pair.kind == "word_order" else 1)
        assert tokenizer.unk_id not in {token for ids in differs for token in ids}


def test_shipped_models_are_asked_what_they_were_trained_on() -> None:
    folder = Path(__file__).parents[3] / "checkpoints"
    for model, corpus, name in (("tiny-town", "sample:tiny-town", "tiny-town"), ("wiki-tiny", "wiki.txt", "english")):
        found = probes_for([corpus], Tokenizer.load(folder / model))
        assert found is not None
        assert found.name == name
