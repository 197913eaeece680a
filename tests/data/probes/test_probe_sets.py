"""The probes: pairs that no habit answers, and which of them suit a run."""

import re
from collections import Counter
from pathlib import Path

import pytest

from bertviz_lab.data.probes import PROBES, probes_for, probes_that_fit
from bertviz_lab.data.probes.minimal_pairs import minimal_pairs, words
from bertviz_lab.data.probes.probe_sets import contrast_of
from bertviz_lab.data.samples.tiny_town import stories
from bertviz_lab.tokenization import Tokenizer

ENGLISH = PROBES["english"]
EVERY_KIND = [(name, kind) for name, probes in PROBES.items() for kind in probes.kinds]


@pytest.mark.parametrize("name", PROBES)
def test_every_kind_has_a_title_and_at_least_ten_different_pairs(name: str) -> None:
    probes = PROBES[name]
    assert len(set(probes.pairs)) == len(probes.pairs)
    counts = Counter(pair.kind for pair in probes.pairs)
    assert counts.keys() == probes.kinds.keys()
    assert min(counts.values()) >= 10
    assert all(re.fullmatch(r"[a-z].*[^.]", title) for title in probes.kinds.values()), "goes on after 'It can'"


def test_no_english_sentence_is_good_in_two_pairs_or_good_in_one_and_bad_in_another() -> None:
    good = [pair.good for pair in ENGLISH.pairs]
    bad = [pair.bad for pair in ENGLISH.pairs]
    assert len(set(good)) == len(good)
    assert len(set(bad)) == len(bad)
    assert not set(good) & set(bad)


def test_an_english_pair_is_two_short_sentences_that_differ_in_one_place() -> None:
    for pair in ENGLISH.pairs:
        good, bad = words(pair.good), words(pair.bad)
        places = [n for n, (one, other) in enumerate(zip(good, bad, strict=True)) if one != other]
        assert places[0] == pair.position
        if pair.kind == "word_order":
            first, second = places
            assert second == first + 1
            assert [good[first], good[second]] == [bad[second], bad[first]]
        else:
            assert len(places) == 1
        assert pair.context == ""
        for sentence in (pair.good, pair.bad):
            assert re.fullmatch(r"[A-Z](?:[A-Za-z,]| (?! ))*\.", sentence)
            assert len(words(sentence)) <= 11


@pytest.mark.parametrize(("name", "kind"), EVERY_KIND)
def test_of_two_words_each_is_the_right_one_equally_often(name: str, kind: str) -> None:
    contrasts = Counter(contrast_of(pair) for pair in PROBES[name].pairs if pair.kind == kind)
    if kind in ("word_order", "plot_order"):
        assert list(contrasts) == [()]
    else:
        assert all(contrasts[one, other] == contrasts[other, one] for one, other in contrasts)


def test_tiny_town_is_asked_a_dozen_pairs_of_each_kind_from_held_out_stories() -> None:
    pairs = PROBES["tiny-town"].pairs
    assert set(Counter(pair.kind for pair in pairs).values()) == {12}
    assert set(pairs) <= set(minimal_pairs(0, 80))


ENGLISH_SENTENCES = [sentence for pair in PROBES["english"].pairs for sentence in (pair.good, pair.bad)]
FRENCH = ["Le chat dort sur le tapis.", "Une fille lit un livre rouge dans le jardin.", "Il a vu six chiens."]


def learnt_from(texts: list[str], **options) -> Tokenizer:
    return Tokenizer.train(texts * 3, **options)


@pytest.fixture(scope="module")
def english() -> Tokenizer:
    return learnt_from(ENGLISH_SENTENCES, vocab_size=4000)


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
    without = [sentence for sentence in ENGLISH_SENTENCES if not {"himself", "herself"} & set(words(sentence))]
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
