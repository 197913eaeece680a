"""Cloze questions out of a text without labels: what question answering learns from before any question.

A sentence of a passage loses a name, a number or a word, which is the answer, and gets a question word in its place.
Where the answer stands in another sentence too, its own is often left out of the passage (Dhingra et al. 2018; Lewis et
al. 2019). A small model learns from these within a few hundred steps to look for a question's words in the passage; on
the few thousand published questions alone it does not within many more.
"""

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.task_datasets import wiki2015
from benchmarks.training_data.embedding_pairs import normal
from benchmarks.training_data.unanswerable_questions import tested_passages, write_articles
from bertviz_lab.data.documents import split_sentences

_QUESTIONS = 200_000
_PASSAGE = 80  # words of a passage at least, where its paragraph has so many
_LONGEST_PASSAGE = 1500  # characters
_SHORTEST_SENTENCE, _LONGEST_SENTENCE = 6, 45  # words of one that is asked about
_CONTEXT = (3, 9)  # words that a question keeps on either side of the answer
_FORGOTTEN = 0.15  # share of those that it loses
_LEFT_OUT = 0.5  # share of the sentences that leave the passage, where they can
_FEWEST_LEFT = 3  # words of a question at least

_YEAR = r"\b(?:1[0-9]{3}|20[01][0-9])\b"
_NAMED = r"[A-Z][\w'-]+"
#: What can be asked for, how often each is, and the question words that ask for it.
_KINDS = (
    (re.compile(rf"{_NAMED}(?: (?:of |the |de )?{_NAMED})*"), 4, ("who", "what", "which", "where")),
    (re.compile(_YEAR), 2, ("when", "what year", "in what year")),
    (re.compile(rf"(?!{_YEAR})\b\d(?:[\d,.]*\d)?\b"), 2, ("how many", "what number", "how much")),
    (re.compile(r"\b[a-z]{6,}(?: [a-z]{5,})?\b"), 1, ("what", "which")),
)


def write_cloze_questions(path: Path) -> None:
    """Write questions about wiki2015 in the format of SQuAD 2.0."""
    with wiki2015() as lines:
        asked = cloze_questions(lines, {normal(text) for text in tested_passages()})
        articles = [{"title": q["qas"][0]["id"], "paragraphs": [q]} for q in islice(asked, _QUESTIONS)]
    write_articles(path, articles)


def cloze_questions(paragraphs: Iterable[str], tested: Iterable[str] = (), seed: int = 0) -> Iterator[dict[str, Any]]:
    """A passage with a question, as SQuAD has them, of each paragraph of three sentences with something to ask for.

    A passage with a sentence that stands in one of the `tested` texts is passed over.
    """
    rng = random.Random(seed)
    tested_text = " ".join(tested)
    for paragraph in paragraphs:
        sentences = _passage(split_sentences(paragraph), rng)
        if len(sentences) < 3 or sum(map(len, sentences)) > _LONGEST_PASSAGE:
            continue
        if any(normal(sentence) in tested_text for sentence in sentences if len(sentence) > 40):
            continue
        if (asked := ask(sentences, rng)) is not None:
            passage, question, answer, start = asked
            answers = [{"text": answer, "answer_start": start}]
            number = f"cloze-{normal(question)[:24]}-{rng.getrandbits(40):x}"
            yield {"context": passage, "qas": [{"id": number, "question": question, "answers": answers}]}


def ask(sentences: Sequence[str], rng: random.Random) -> tuple[str, str, str, int] | None:
    """A passage of these sentences, a question about one, its answer and where that begins; None where none fits."""
    place = rng.randrange(len(sentences))
    sentence = sentences[place]
    kinds = [
        (matches, weight, words)
        for pattern, weight, words in _KINDS
        if (matches := [match for match in pattern.finditer(sentence) if match.start() > 0])  # no capital at the start
    ]
    if not kinds or not _SHORTEST_SENTENCE <= len(sentence.split()) <= _LONGEST_SENTENCE:
        return None
    (matches, _, words), *_ = rng.choices(kinds, [weight for _, weight, _ in kinds])
    match = rng.choice(matches)
    question = _question(sentence[: match.start()].split(), rng.choice(words), sentence[match.end() :].split(), rng)
    if question is None:
        return None
    answer = match[0]
    others = [" ".join(sentences[:place]), " ".join(sentences[place + 1 :])]
    rest = " ".join(part for part in others if part)
    elsewhere = [found.start() for found in re.finditer(rf"(?<!\w){re.escape(answer)}(?!\w)", rest)]
    if elsewhere and rng.random() < _LEFT_OUT:
        return rest, question, answer, rng.choice(elsewhere)
    before = f"{others[0]} " if others[0] else ""
    return " ".join(sentences), question, answer, len(before) + match.start()


def _passage(sentences: Sequence[str], rng: random.Random) -> Sequence[str]:
    """Neighbouring sentences of a paragraph, enough for a passage."""
    if not sentences:
        return sentences
    first = rng.randrange(len(sentences))
    end = first + 1
    while sum(len(sentence.split()) for sentence in sentences[first:end]) < _PASSAGE:
        if end < len(sentences):
            end += 1
        elif first > 0:
            first -= 1
        else:
            break
    return sentences[first:end]


def _question(left: Sequence[str], word: str, right: Sequence[str], rng: random.Random) -> str | None:
    """The words around the answer, of which some are forgotten, with the question word between or before them."""
    before, after = (
        [kept for kept in part if rng.random() > _FORGOTTEN]
        for part in (left[-rng.randint(*_CONTEXT) :], right[: rng.randint(*_CONTEXT)])
    )
    if len(before) + len(after) < _FEWEST_LEFT:
        return None
    one, other = rng.choice(((before, after), (after, before)))
    order = rng.choice(([*before, word, *after], [word, *one, *other]))
    return " ".join(order).rstrip(".,;: ") + "?"
