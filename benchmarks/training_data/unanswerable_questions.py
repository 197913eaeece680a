"""Questions with answers out of published data, and questions made of them that their passages do not answer.

The published training data has few questions without an answer. So most questions are asked a second time: some on the
passage of the same source that shares most of their rare words and does not hold their answer (as the distractors of
Clark and Gardner 2018, section 3.2, are found), the others on their own passage with one word changed: a name, year or
number for another, a word for its opposite, or a negation more. These are the commonest ways in which people wrote the
unanswerable questions of SQuAD 2.0 (Rajpurkar et al. 2018, table 2).
"""

import json
import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.task_datasets import folder as data_folder
from benchmarks.training_data.embedding_pairs import normal
from bertviz_lab.metrics.squad import normalize_answer

#: SQuAD 1.1 of other texts (Miller et al. 2020), and a part of SQuAD's own training set.
SOURCES = (
    "squadshifts/new_wiki.json",
    "squadshifts/reddit.json",
    "squadshifts/amazon_reviews.json",
    "squad_train_subset/train.json",
)
OF_WIKIPEDIA = (SOURCES[0], SOURCES[-1])
#: SQuAD 2.0's training set, of which only the first articles are read. Two of them are left out for trying a recipe:
#: 836 questions, 348 of them without an answer.
SQUAD2_TRAIN = "squad2_train/train-v2.0.json"
_FIRST_ARTICLES = 10
_LEFT_OUT = ("The_Legend_of_Zelda:_Twilight_Princess", "Spectre_(2015_film)")
_EVERY = 3  # one question in three is asked of another passage, and one in three is changed
_AROUND = 70  # words of a short passage

_NAMES = re.compile(r"(?<=[\w,] )[A-Z][\w'-]+(?: (?:of |the |de )?[A-Z][\w'-]+)*")
_YEARS = re.compile(r"\b1[0-9]{3}\b|\b20[0-9]{2}\b")
_NUMBERS = re.compile(r"\b(?!1[0-9]{3}\b|20[0-9]{2}\b)\d[\d,.]*\b")
_OPPOSITES = """
    first last, largest smallest, biggest smallest, highest lowest, most least, more less, more fewer, best worst,
    oldest youngest, older younger, before after, north south, northern southern, east west, eastern western,
    early late, earlier later, began ended, begin end, start end, started finished, increase decrease, increased
    decreased, high low, higher lower, won lost, win lose, large small, larger smaller, long short, longest
    shortest, maximum minimum, major minor, male female, men women, son daughter, father mother, brother sister,
    rich poor, good bad, strong weak, old new, positive negative, same different, inside outside, above below,
    with without, legal illegal, support oppose, supported opposed, allowed forbidden, like dislike, love hate,
    easy hard, easier harder, cheap expensive, easiest hardest, public private, modern ancient, common rare, buy
    sell, bought sold, left right, upper lower, always never, accept reject, accepted rejected, winner loser, safe
    dangerous, hot cold, light heavy, happy sad, fast slow, gain lose
"""
_OPPOSITE = {word: other for pair in _OPPOSITES.split(",") for word, other in (pair.split(), pair.split()[::-1])}
_AUXILIARY = re.compile(r"\b(?:is|are|was|were|do|does|did|can|could|would|has|have|had|should)\b(?! not|n't)")
_NEGATED = 0.25  # share of the questions without such a word that are negated: all would teach that negated is enough
_MEASURED = "how "  # before a word that asks how much: its opposite asks the same


def write_questions(path: Path, sources: Sequence[str] = SOURCES) -> None:
    """Write those of some sources in the format of SQuAD 2.0."""
    write_articles(path, [article for source in sources for article in with_unanswerable(_paragraphs(source), source)])


def write_left_out_questions(path: Path) -> None:
    """Write the questions of two articles that no stage trains on, in the format of SQuAD 2.0."""
    write_articles(path, _squad2_train(left_out=True))


def write_articles(path: Path, articles: Sequence[dict[str, Any]]) -> None:
    """Write articles in the format of SQuAD 2.0."""
    path.write_text(json.dumps({"version": "2.0", "data": articles}, ensure_ascii=False), encoding="utf-8")


def write_short_questions(path: Path) -> None:
    """Write those with an answer, on some words around it, in the format of SQuAD 2.0."""
    rng = random.Random(0)
    articles = []
    for source in SOURCES:
        for place, paragraph in enumerate(_paragraphs(source)):
            short = [around_answer(paragraph["context"], q, rng) for q in paragraph["qas"] if q["answers"]]
            articles.append({"title": f"{source} {place}", "paragraphs": short})
    write_articles(path, articles)


def around_answer(passage: str, question: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """The question on its answer's neighbourhood: `_AROUND` words, more or fewer of them before the answer."""
    answer = question["answers"][0]
    first, end = answer["answer_start"], answer["answer_start"] + len(answer["text"])
    words = [match.span() for match in re.finditer(r"\S+", passage)]
    of_answer = [place for place, (start, stop) in enumerate(words) if start < end and stop > first]
    room = max(0, _AROUND - len(of_answer))
    begin = max(0, min(of_answer[0] - rng.randint(0, room), len(words) - _AROUND))
    last = min(len(words), max(of_answer[-1] + 1, begin + _AROUND)) - 1
    cut = words[begin][0]
    asked = {**question, "answers": [{"text": answer["text"], "answer_start": first - cut}]}
    return {"context": passage[cut : words[last][1]], "qas": [asked]}


def with_unanswerable(paragraphs: Sequence[dict[str, Any]], title: str) -> list[dict[str, Any]]:
    """One article per passage, so that a split by articles keeps the questions of a passage together."""
    index = PassageIndex([paragraph["context"] for paragraph in paragraphs])
    extra: dict[int, list[dict[str, Any]]] = defaultdict(list)
    answerable = [(place, q) for place, paragraph in enumerate(paragraphs) for q in paragraph["qas"] if q["answers"]]
    for place, question in answerable[::_EVERY]:
        answers = [answer["text"] for answer in question["answers"]]
        if (other := index.closest_without(question["question"], answers, place)) is not None:
            extra[other].append(_impossible(f"{question['id']}-elsewhere", question["question"]))
    rng = random.Random(title)
    for number, (place, question) in enumerate(answerable):
        if (
            number % _EVERY == 1
            and (changed := changed_question(question, paragraphs[place]["context"], rng)) is not None
        ):
            extra[place].append(_impossible(f"{question['id']}-changed", changed))
    articles = []
    for place, paragraph in enumerate(paragraphs):
        asked = [{**q, "is_impossible": not q["answers"]} for q in paragraph["qas"]] + extra[place]
        articles.append({"title": f"{title} {place}", "paragraphs": [{"context": paragraph["context"], "qas": asked}]})
    return articles


def _impossible(name: str, question: str) -> dict[str, Any]:
    return {"id": name, "question": question, "answers": [], "is_impossible": True}


def changed_question(question: dict[str, Any], passage: str, rng: random.Random) -> str | None:
    """The question with a name, year, number or word changed, so that its passage does not answer it, or None.

    A name, year or number becomes another of the same passage, so that all of its words still stand there.
    """
    text = question["question"]
    taken = " ".join([text, *(answer["text"] for answer in question["answers"])]).lower()
    changes = []
    for kind in (_NAMES, _YEARS, _NUMBERS):
        others = sorted({found[0] for found in kind.finditer(passage) if found[0].lower() not in taken})
        if others:
            changes += [(found.span(), rng.choice(others)) for found in kind.finditer(text)]
    words = [
        (found.span(), _OPPOSITE[found[0]])
        for found in re.finditer(r"\w+", text)
        if found[0] in _OPPOSITE and not text[: found.start()].lower().endswith(_MEASURED)
    ]
    changes += 2 * words  # the likelier to make it unanswerable
    if not changes and rng.random() < _NEGATED and (found := _AUXILIARY.search(text)):
        changes = [(found.span(), "can't" if found[0] == "can" else f"{found[0]}n't")]
    if not changes:
        return None
    (start, end), new = rng.choice(changes)
    return text[:start] + new + text[end:]


class PassageIndex:
    """Passages by their words, the rare ones weighing more."""

    def __init__(self, passages: Sequence[str]) -> None:
        self._normal = [f" {normalize_answer(passage)} " for passage in passages]
        counts = [Counter(text.split()) for text in self._normal]
        self._passages: dict[str, list[int]] = defaultdict(list)
        for place, words in enumerate(counts):
            for word in words:
                self._passages[word].append(place)
        self._length = [math.sqrt(sum(words.values())) for words in counts]

    def closest_without(self, question: str, answers: Sequence[str], own: int) -> int | None:
        """The passage nearest to the question, its own aside, in which none of the answers occurs."""
        wanted = [f" {normalize_answer(answer)} " for answer in answers]
        for place in self.closest(question, own):
            if not any(answer in self._normal[place] for answer in wanted):
                return place
        return None

    def closest(self, text: str, own: int, most: int | None = None) -> list[int]:
        """The passages that share rare words with a text, but its own, the nearest first."""
        scores: Counter[int] = Counter()
        for word in set(normalize_answer(text).split()):
            places = self._passages.get(word, [])
            for place in places:
                scores[place] += math.log(len(self._normal) / len(places)) / self._length[place]
        return [place for place, _ in scores.most_common(None if most is None else most + 1) if place != own][:most]


def _paragraphs(source: str) -> list[dict[str, Any]]:
    """The passages of a source that are not among those that are scored on later."""
    tested = {normal(text) for text in tested_passages()}
    articles = _squad2_train(left_out=False) if source == SQUAD2_TRAIN else _articles(source)
    paragraphs = [paragraph for article in articles for paragraph in article["paragraphs"]]
    return [paragraph for paragraph in paragraphs if normal(paragraph["context"]) not in tested]


def _articles(source: str) -> list[dict[str, Any]]:
    articles: list[dict[str, Any]] = json.loads((data_folder() / source).read_text(encoding="utf-8"))["data"]
    return articles


def _squad2_train(*, left_out: bool) -> list[dict[str, Any]]:
    """Return those of the first articles that are left out, or the others."""
    return [
        article for article in _articles(SQUAD2_TRAIN)[:_FIRST_ARTICLES] if (article["title"] in _LEFT_OUT) == left_out
    ]


def tested_passages() -> Iterator[str]:
    """Yield the passages that a model is scored on or a recipe is tried on."""
    return (paragraph["context"] for paragraph in _tested())


def tested_questions() -> Iterator[str]:
    """Yield the questions about these passages."""
    return (question["question"] for paragraph in _tested() for question in paragraph["qas"])


def _tested() -> Iterator[dict[str, Any]]:
    for article in _articles("squad2_half_dev/dev-v2.0.json") + _squad2_train(left_out=True):
        yield from article["paragraphs"]
