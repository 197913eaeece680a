"""Each story of Tiny Town, read word by word and held against the world that it was told from."""

import re
from itertools import islice

import pytest

from bertviz_lab.data.probes.minimal_pairs import words
from bertviz_lab.data.samples.tiny_town.stories import Story, held_out, imagine, stories
from bertviz_lab.data.samples.tiny_town.world import NEIGHBOURS, NUMBERS, PEOPLE

TOLD = [*islice(imagine(11), 1500), *islice(imagine(11, held_out=True), 500)]
PERSON = {person.name: person for person in (*PEOPLE, *NEIGHBOURS)}


def by_plot(name: str) -> list[Story]:
    chosen = [story for story in TOLD if story.plot.name == name]
    assert len(chosen) > 50
    return chosen


def names(sentence: str) -> list[str]:
    return [word for word in words(sentence) if word in PERSON]


def test_no_story_is_told_twice_and_all_fit_an_example_of_128_tokens() -> None:
    told = [document.sentences for document in stories()]
    assert len(told) == len(set(told)) == 4000
    for story in TOLD:
        assert 5 <= len(story.sentences) <= 12
        assert len(story.beats) == len(story.sentences)
        assert sum(len(words(sentence)) for sentence in story.sentences) <= 125


@pytest.mark.slow
def test_held_out_stories_are_told_under_no_seed() -> None:
    kept = {doc.sentences for doc in held_out(0, 1000)}
    for seed in range(3):
        assert not kept & {doc.sentences for doc in stories(seed)}


def test_pronouns_agree_with_the_first_name_of_their_sentence_or_of_the_last_that_has_one() -> None:
    seen = set()
    for story in TOLD:
        person = PERSON[story.world.hero.name]
        for sentence in story.sentences:
            for name in names(sentence)[:1]:
                person = PERSON[name]
            for word in words(sentence.lower()):
                if word in ("he", "him", "himself", "she", "her", "herself"):
                    assert word in (person.he, person.him, person.himself), story.sentences
                    seen.add(word)
    assert seen >= {"he", "she", "him", "her", "himself", "herself"}


def test_sums_and_differences_are_right() -> None:
    for story in by_plot("market"):
        cost, mine, yours, together = (
            NUMBERS.index(number) for number in re.findall(r"(\w+) coins", " ".join(story.sentences))
        )
        assert cost == mine + yours == together
    for story in by_plot("seeds"):
        text = " ".join(story.sentences)
        planted = NUMBERS.index(re.findall(r"plants (\w+)", text)[0])
        left, verb = re.findall(r"Now (\w+) \w+ \w+ (is|are) left", text)[0]
        assert NUMBERS.index(left) == planted - 1
        assert (verb == "is") == (left == "one")
