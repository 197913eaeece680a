"""Questions of SQuAD 2.0's training set, on their passages as wiki2015 has them.

SQuAD2-CR (Lee et al. 2020) has SQuAD 2.0's unanswerable questions, and UnAnsQ (Zhu et al. 2019) a third of them beside
an answerable question that they resemble and the places of its answer; few of the passages are there. What a person
asked about a passage has ids that begin with the same eight digits, and together these questions share more rare words
with their passage than with any other of Wikipedia. Where a model that was trained on other questions finds an answer
at the places given, it is the answer.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.task_datasets import folder as data_folder
from benchmarks.task_datasets import wiki2015
from benchmarks.training_data.embedding_pairs import normal
from benchmarks.training_data.sentence_questions import joined
from benchmarks.training_data.unanswerable_questions import tested_passages, tested_questions, write_articles
from bertviz_lab.data.examples import Answer, Question
from bertviz_lab.metrics.squad import answer_f1, normalize_answer
from bertviz_lab.training.checkpoints.checkpoint import load_checkpoint
from bertviz_lab.training.finetuning.predict import predict_with

_PERSON = 8  # hexadecimal digits of an id: the second at which a person sent the questions about a passage
_SHORTEST = 20  # words of a passage
_COMMON = 0.2  # of all passages: a word in more of them says nothing
_MOST_TIMES = 3  # that a word counts, of as many questions
_USUAL, _LENGTH_COUNTS = 150, 0.35  # words of a passage, and how much more of them count against it
_SHARED, _SHARED_IF_ALONE, _ALONE = 0.6, 0.45, 1.3  # of the questions' words, by weight; best passage to the next
_RUN = 8  # words in a row that two texts share by no accident
_SAME = 0.1  # of the runs of a passage: more of them make it one that is scored on
_AGREED = 0.5  # F1 of an answer and what the model finds
_OFF = 40  # characters between the place given and the model's answer, where words were counted otherwise

_ENDING = re.compile(r"(?<=\w{3})(?<!\ws)(?:ing|ed|es|s|ly)$")
_EMPTY = set(
    """what which who whom whose when where why how of in to is was were are did do does for by on with at
from that as it its be been has had have not or and""".split()
)
_TOKEN = re.compile(r"n't\b|'(?:s|re|ve|d|ll|m)\b|\w+?(?=n't\b)|\w+|[^\w\s]")


class _Asked(NamedTuple):
    """An answerable question, and the first and last word of its answer in the passage, counted from zero."""

    id: str
    question: str
    first: int
    last: int


class _Match(NamedTuple):
    """A passage and the questions that a person asked about it."""

    passage: str
    answerable: list[_Asked]
    unanswerable: dict[str, str]  # by their ids


def write_squad_questions(path: Path) -> None:
    """Write the questions whose passages are found, with the answers that the model of stage 2 confirms.

    That model is in `stage-2` next to `path`.
    """
    matches = list(find_passages())
    placed = [(number, asked) for number, match in enumerate(matches) for asked in match.answerable]
    questions = [
        Question(asked.id, asked.question, matches[number].passage, (), row)
        for row, (number, asked) in enumerate(placed, 1)
    ]
    predicted, _ = predict_with(load_checkpoint(path.with_name("stage-2") / "model"), questions)
    answers: dict[int, list[dict[str, object]]] = defaultdict(list)
    for (number, asked), prediction in zip(placed, predicted, strict=True):
        candidates = [Answer(text, start) for text, start, *_ in prediction.best]
        if answer := confirmed(matches[number].passage, asked, candidates):
            marked = [{"text": answer.text, "answer_start": answer.start}]
            answers[number].append({"id": asked.id, "question": asked.question, "answers": marked})
    articles = []
    for number, match in enumerate(matches):
        none = [{"id": name, "question": question, "answers": []} for name, question in match.unanswerable.items()]
        asked = [{**question, "is_impossible": not question["answers"]} for question in answers[number] + none]
        paragraph = {"context": match.passage, "qas": asked}
        articles.append({"title": f"squad2 {number}", "paragraphs": [paragraph]})
    write_articles(path, articles)


def confirmed(passage: str, asked: _Asked, candidates: Sequence[Answer]) -> Answer | None:
    """Return the answer at the given words, the model's where it begins near them, or None if the two disagree."""
    words = [match.span() for match in _TOKEN.finditer(passage)]
    if asked.last >= len(words) or not candidates:
        return None
    start, end = words[asked.first][0], words[asked.last][1]
    given = Answer(passage[start:end], start)
    if any(
        start < candidate.start + len(candidate.text)
        and candidate.start < end
        and answer_f1(candidate.text, [given.text]) >= _AGREED
        for candidate in candidates
    ):
        return given
    return candidates[0] if abs(candidates[0].start - start) < _OFF else None


def find_passages() -> Iterator[_Match]:
    """Yield the passages that questions are about, without articles and people that the tested data has."""
    unanswerable, likes = _unanswerable(), _likes()
    tested = set(map(normal, tested_questions()))
    left_out_people = {name[:_PERSON] for name, question in unanswerable.items() if normal(question) in tested}
    people: dict[str, list[str]] = defaultdict(list)
    for name in unanswerable:
        if name[:_PERSON] not in left_out_people:
            people[name[:_PERSON]].append(name)
    asked = {
        person: [unanswerable[name] for name in names] + [likes[name].question for name in names if name in likes]
        for person, names in people.items()
    }
    articles, passages = _passages()
    places = closest_passages(passages, asked)
    scored = set().union(*(_runs(passage) for passage in tested_passages()))
    runs = ((article, _runs(passage)) for article, passage in zip(articles, passages, strict=True))
    left_out = {article for article, those in runs if len(those & scored) > _SAME * len(those)}
    together: dict[int, list[str]] = defaultdict(list)
    for person, place in places.items():
        if articles[place] not in left_out:
            together[place] += people[person]
    for passage, names in ((passages[place], names) for place, names in together.items()):
        answerable = {likes[name].id: likes[name] for name in names if name in likes}
        yield _Match(passage, list(answerable.values()), {name: unanswerable[name] for name in names})


def _unanswerable() -> dict[str, str]:
    """Return the unanswerable questions of the training set by id."""
    folder = data_folder() / "squad2_cr" / "rationales"
    lines = {
        part: (folder / f"word_att_{part}.tsv").read_text(encoding="utf-8").splitlines()[1:]
        for part in ("extended", "gold_train", "gold_test")
    }
    dev = {line[:_PERSON] for line in lines["gold_test"]}
    rows = (line.split("\t") for line in lines["extended"] + lines["gold_train"])
    return {row[0]: _as_written(row[1]) for row in rows if row[0][:_PERSON] not in dev}


def _likes() -> dict[str, _Asked]:
    """Return, by the id of an unanswerable question, the answerable one that it resembles."""
    folder, likes = data_folder() / "unansq" / "QG", {}
    for part in ("train", "dev"):  # of the training set both
        kinds = ("answerable", "unanswerable")
        files = [(folder / f"{part}-{kind}-questions.txt").read_text(encoding="utf-8") for kind in kinds]
        for answerable, unanswerable in zip(*(file.splitlines() for file in files), strict=True):
            name, question, first, last = answerable.split("\t")
            likes[unanswerable.split("\t")[0]] = _Asked(name, _as_written(question), int(first), int(last))
    return likes


def _as_written(words: str) -> str:
    return joined(words.replace('""', '"').split()).text


def closest_passages(passages: Sequence[str], asked: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Return the index of each person's passage, for those whose questions share enough words with one."""
    counts = {person: Counter(w for q in questions for w in _words(q)) for person, questions in asked.items()}
    holders: dict[str, list[int]] = {word: [] for words in counts.values() for word in words}
    lengths = np.empty(len(passages), np.float32)
    for place, passage in enumerate(passages):
        words = _words(passage)
        lengths[place] = len(words)
        for word in words & holders.keys():
            holders[word].append(place)
    weights = {word: math.log(len(passages) / (1 + len(places))) for word, places in holders.items()}
    arrays = {word: np.array(places, np.int32) for word, places in holders.items()}
    closest = {}
    for person, words in counts.items():
        weighed = {word: weights[word] * math.sqrt(min(count, _MOST_TIMES)) for word, count in words.items()}
        shared = np.zeros(len(passages), np.float32)
        for word, weight in weighed.items():
            if len(arrays[word]) < _COMMON * len(passages):
                shared[arrays[word]] += weight
        scores = shared / (1 + lengths / _USUAL) ** _LENGTH_COUNTS
        second, best = (int(place) for place in np.argpartition(scores, -2)[-2:])
        share = shared[best] / sum(weighed.values())
        if share >= _SHARED or (share >= _SHARED_IF_ALONE and scores[best] >= _ALONE * scores[second]):
            closest[person] = best
    return closest


def _words(text: str) -> set[str]:
    """Return the words of a text without their endings."""
    return {_ENDING.sub("", word) for word in normalize_answer(text).split()} - _EMPTY


def _passages() -> tuple[list[int], list[str]]:
    """Return the article number of each passage of UnAnsQ and wiki2015, and the passages."""
    with_unansq = (data_folder() / "unansq" / "QG" / "dev-context.txt").read_text(encoding="utf-8").splitlines()
    passages = list(dict.fromkeys(_as_written(line.split("\t")[0]) for line in with_unansq))
    article = len(passages)
    articles = list(range(article))
    with wiki2015() as lines:
        for line in map(str.strip, lines):
            article += not line
            if line.count(" ") >= _SHORTEST:
                articles.append(article)
                passages.append(line)
    return articles, passages


def _runs(text: str) -> set[tuple[str, ...]]:
    """Return each run of `_RUN` words."""
    words = normalize_answer(text).split()
    return set(zip(*(words[offset:] for offset in range(_RUN)), strict=False))
