"""Questions of which the sentence that answers them is known, as passages with answers.

QAMR (Michael et al. 2018) has questions that people asked about single sentences of Wikipedia and Wikinews, with the
words that answer them. ReQA's training part (Ahmad et al. 2019) has questions of SQuAD, each with the sentence that
answers it and without the answer in it: which words those are is for a model that was trained on other questions to
say. The passages are the paragraphs of wiki2015 that these sentences stand in, or else the nearest sentences of others.
"""

import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.task_datasets import folder as data_folder
from benchmarks.task_datasets import wiki2015
from benchmarks.training_data.embedding_pairs import normal
from benchmarks.training_data.unanswerable_questions import (
    PassageIndex,
    tested_passages,
    tested_questions,
    write_articles,
)
from bertviz_lab.data.documents import split_sentences
from bertviz_lab.data.examples import Question
from bertviz_lab.training.checkpoints.checkpoint import load_checkpoint
from bertviz_lab.training.finetuning.predict import predict_with

_FEWEST_WORDS = 4  # of a question about one sentence: shorter ones do not say which of a passage is meant
_MOST_QUESTIONS = 12  # about one sentence
_NEIGHBORS = 2  # sentences of the same article on either side
_NEAR = 3  # sentences of others that make a passage
_LONGEST_PASSAGE = 1200  # characters
_SIGNATURE = 45  # letters by which a sentence is found again

_BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "``": '"', "''": '"'}
_CLOSES = re.compile(r"^(?:[.,;:!?%)\]]|'s|'re|'ve|'ll|'d|'m|n't|')$")
_OPENS = ("(", "[", "$", "#")


class _Sentence(NamedTuple):
    text: str
    spans: list[tuple[int, int]]  # of its tokens, in characters


def joined(tokens: Sequence[str]) -> _Sentence:
    """Return Penn Treebank tokens as ordinary text, with the span of each."""
    text, spans, is_quoted = "", [], False
    glued = True
    for token in (_BRACKETS.get(token, token) for token in tokens):
        closes = bool(_CLOSES.match(token)) or (token == '"' and is_quoted)
        text += "" if glued or closes else " "
        spans.append((len(text), len(text) + len(token)))
        text += token
        is_quoted ^= token == '"'
        glued = token in _OPENS or (token == '"' and is_quoted)
    return _Sentence(text, spans)


def write_sentence_questions(path: Path) -> None:
    """Write QAMR's questions, each on its sentence and the neighbors."""
    lines = (data_folder() / "qamr" / "wiki-sentences.tsv").read_text(encoding="utf-8").splitlines()
    sentences = {name: joined(words.split()) for name, words in (line.split("\t") for line in lines)}
    articles: dict[str, list[str]] = defaultdict(list)
    for name in sorted(sentences, key=lambda name: [int(part) for part in name.split(":")[2:]]):
        articles[name.rpartition(":")[0].rpartition(":")[0]].append(name)
    tested = normal(" ".join(tested_passages()))
    rng = random.Random(0)
    paragraphs = []
    for name, asked in _questions_of_sentences().items():
        article = articles[name.rpartition(":")[0].rpartition(":")[0]]
        place = article.index(name)
        around = article[max(0, place - _NEIGHBORS) : place + _NEIGHBORS + 1]
        if any(normal(sentences[near].text) in tested for near in around):
            continue
        first = sum(len(sentences[near].text) + 1 for near in around[: around.index(name)])
        passage = " ".join(sentences[near].text for near in around)
        questions = []
        for question in rng.sample(sorted(asked), min(len(asked), _MOST_QUESTIONS)):
            begin, end = asked[question]
            spans = sentences[name].spans
            start, stop = first + spans[begin][0], first + spans[end][1]
            answer = {"text": passage[start:stop], "answer_start": start}
            questions.append({"id": f"{name} {len(questions)}", "question": question, "answers": [answer]})
        paragraphs.append({"context": passage, "qas": questions})
    write_articles(path, [{"title": f"qamr {place}", "paragraphs": [part]} for place, part in enumerate(paragraphs)])


def _questions_of_sentences() -> dict[str, dict[str, tuple[int, int]]]:
    """Return the questions of each sentence with the first and last token of the answer that most people marked."""
    found: dict[str, dict[str, tuple[int, int]]] = defaultdict(dict)
    for part in ("dev", "test"):
        for line in (data_folder() / "qamr" / f"{part}.tsv").read_text(encoding="utf-8").splitlines():
            name, _, _, _, _, question, *marked = line.split("\t")
            answers = [tuple(map(int, answer.rpartition(":")[2].split())) for answer in marked]
            votes = Counter((places[0], places[-1]) for places in answers if _adjacent(places))
            if len(question.split()) >= _FEWEST_WORDS and votes:
                span, count = votes.most_common(1)[0]
                if count > 1:
                    found[name].setdefault(question, span)
    return found


def _adjacent(places: Sequence[int]) -> bool:
    return bool(places) and places[-1] - places[0] == len(places) - 1


def write_silver_questions(path: Path) -> None:
    """Write ReQA's questions with the answers that the model of stage 1, in `stage-1` next to `path`, predicts."""
    pairs = json.loads((data_folder() / "reqa_squad" / "train.json").read_text(encoding="utf-8"))
    asked = list(zip(pairs["questions"], pairs["answers"], strict=True))
    held_out = {normal(question) for question in tested_questions()}
    asked = [(question, sentence) for question, sentence in asked if normal(question) not in held_out]
    questions = [Question(str(row), question, sentence, (), row) for row, (question, sentence) in enumerate(asked, 1)]
    predicted, _ = predict_with(load_checkpoint(path.with_name("stage-1") / "model"), questions)
    articles = []
    for question, passage, prediction in zip(questions, passages_of([s for _, s in asked]), predicted, strict=True):
        if prediction.best:
            answer, start, *_ = prediction.best[0]
            name = f"reqa {question.id}"
            answers = [{"text": answer, "answer_start": passage.index(question.passage) + start}]
            asks = [{"id": name, "question": question.question, "answers": answers}]
            articles.append({"title": name, "paragraphs": [{"context": passage, "qas": asks}]})
    write_articles(path, articles)


def passages_of(sentences: Sequence[str]) -> Iterator[str]:
    """Yield for each sentence its paragraph in wiki2015, or else the sentence among its nearest neighbors."""
    wanted = {normal(sentence)[:_SIGNATURE] for sentence in sentences}
    paragraphs: dict[str, tuple[list[str], int]] = {}
    with wiki2015() as lines:
        for line in lines:
            parts = split_sentences(line)
            for place, part in enumerate(parts):
                if (signature := normal(part)[:_SIGNATURE]) in wanted:
                    paragraphs.setdefault(signature, (parts, place))
    index, rng = PassageIndex(sentences), random.Random(0)
    for own, sentence in enumerate(sentences):
        if found := paragraphs.get(normal(sentence)[:_SIGNATURE]):
            parts, place = found
            before, after = parts[:place], parts[place + 1 :]
        else:
            near = [sentences[other] for other in index.closest(sentence, own, _NEAR)]
            rng.shuffle(near)
            cut = rng.randint(0, len(near))
            before, after = near[:cut], near[cut:]
        while (before or after) and sum(map(len, [*before, *after])) + len(sentence) > _LONGEST_PASSAGE:
            if len(before) > len(after):
                before = before[1:]
            else:
                after = after[:-1]
        yield " ".join([*before, sentence, *after])
