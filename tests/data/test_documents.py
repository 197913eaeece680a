"""German paragraphs are split by German abbreviations and ordinals, and English ones as before."""

from pathlib import Path

import pytest
import sentencex

from bertviz_lab.data.documents import split_sentences

#: A hundred sentences in their order, one a line, written for this test: every second has an abbreviation or ordinal.
SENTENCES = (Path(__file__).parent / "german_sentences.txt").read_text(encoding="utf-8").splitlines()


def ends(sentences: list[str]) -> set[int]:
    """Where sentences end, counted in characters that are not spaces."""
    places, place = set(), 0
    for sentence in sentences:
        place += len("".join(sentence.split()))
        places.add(place)
    return places


def test_of_a_hundred_german_sentences_none_is_split_and_hardly_any_are_joined() -> None:
    wanted, text = ends(SENTENCES), " ".join(SENTENCES)
    as_english = ends(list(sentencex.segment("en", text)))
    assert (len(as_english - wanted), len(wanted - as_english)) == (40, 2), "what English abbreviations make of it"
    ours = ends(split_sentences(text))
    assert ours <= wanted
    assert len(wanted - ours) <= 1, "an abbreviation at the end of a sentence may join the next"


@pytest.mark.parametrize(
    "sentence",
    [
        "Der Turm brannte am 3. Oktober 1905 ab.",
        "Im 19. Jahrhundert und in der 2. Hälfte des 18. Jahrhunderts war das anders.",
        "Die Kinder, z. B. Anna, spielen im Hof, d. h. draußen.",
        "Frau Dr. Lindner bzw. Herr Prof. Hansen ist ab dem 1. Mai zuständig.",
    ],
)
def test_a_german_sentence_stays_whole(sentence: str) -> None:
    assert split_sentences(f"{sentence} {sentence}") == [sentence, sentence]


@pytest.mark.parametrize(
    "sentences",
    [
        ["He came on day 3.", "October was cold.", "The war of 1914 was over."],
        ["I am 5.", "Mary is 6."],
        ["They saw the film Die 3.", "Nobody liked it, and the critics left."],
        ["The painter Hans von der Tann was born in 1880.", "He died at 60.", "The rest is in the archive."],
    ],
)
def test_english_sentences_end_with_a_number_also_beside_german_words(sentences: list[str]) -> None:
    assert split_sentences(" ".join(sentences)) == sentences
