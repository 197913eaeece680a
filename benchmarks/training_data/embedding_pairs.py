"""Pairs of texts out of published data: what the shipped sentence embeddings are trained on.

Pairs that people scored: the training part of STS-B, and STS 2012 to 2016, from which STS-B is drawn. And near pairs of
all kinds of sentences, which the teacher that was trained on the former scores. No pair has a text that the embeddings
are scored on: STS-B's dev and test sets, which share sentences with its training part, with those years and with
captions, and the questions and sentences of ReQA's test set. The data folder has to have all of these.
"""

import csv
import functools
import json
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.cluster import MiniBatchKMeans

from benchmarks.task_datasets import folder as data_folder
from bertviz_lab.interpret import encode
from bertviz_lab.training.checkpoints.checkpoint import load_checkpoint

ScoredPair = tuple[str, str, float]  # two sentences, and how alike they are

#: Parts of STS 2012 to 2016: nearly all of a pair's words agree, or the texts are long.
_LEFT_OUT = ("postediting", "answers-students", "plagiarism", "belief", "SMTeuroparl")
_HELD_OUT = 600  # scored pairs that choose among models
_SHARE = 0.63  # of the texts, those of scored pairs aside
_CLUSTERS, _DIMENSIONS = 600, 64  # in which near texts are looked for
_NEAREST = 8  # texts, of which one is drawn as the partner


def write_scored_pairs(path: Path) -> None:
    """Write the scored pairs to train on, as JSON lines: `sentence1`, `sentence2`, `score` of 0 to 5."""
    _write(path, _scored_pairs()[0])


def write_held_out_pairs(path: Path) -> None:
    """Write those of STS-B's training part that are held out; no sentence of theirs is trained on."""
    _write(path, _scored_pairs()[1])


def write_near_pairs(path: Path) -> None:
    """Write pairs of near texts with the cosine that the recipe's first stage gives them, as JSON lines."""
    texts = _texts()
    vectors_ND = _vectors(path.parent / "stage-1" / "model", texts)
    _write(path, _near_pairs(texts, vectors_ND))


def normal(text: str) -> str:
    """A text without what does not tell it from another: case, punctuation, white space."""
    return "".join(c for c in text.lower() if c.isalnum())


@functools.cache
def _scored_pairs() -> tuple[list[ScoredPair], list[ScoredPair]]:
    """To train on, and held out."""
    own = list(_sts_benchmark("train"))
    known = {frozenset(map(normal, pair[:2])) for pair in own}
    years = [pair for pair in _sts_years() if frozenset(map(normal, pair[:2])) not in known]
    clean = [pair for pair in [*own, *years] if not _published_tests() & set(map(normal, pair[:2]))]
    names = {pair[:2] for pair in own}
    held_out = random.Random(1).sample([pair for pair in clean if pair[:2] in names], _HELD_OUT)
    held_texts = {normal(text) for pair in held_out for text in pair[:2]}
    return [pair for pair in clean if not held_texts & set(map(normal, pair[:2]))], held_out


def _sts_benchmark(part: str) -> Iterator[ScoredPair]:
    with (data_folder() / "stsb" / f"stsb-en-{part}.csv").open(encoding="utf-8", newline="") as file:
        for first, second, score in csv.reader(file):
            yield first, second, float(score)


def _sts_years() -> Iterator[ScoredPair]:
    """The scored pairs of STS 2012 to 2016 but those of long, near-equal texts."""
    for path in sorted((data_folder() / "sts12_16").glob("*.tsv")):
        if not any(kind in path.name for kind in _LEFT_OUT):
            for line in path.read_text(encoding="utf-8").splitlines():
                score, first, second = line.split("\t")[:3]
                if score:  # only some pairs of 2015 and 2016 were scored
                    yield first, second, float(score)


@functools.cache
def _published_tests() -> frozenset[str]:
    """Every text that the embeddings are scored on, in its normal form."""
    texts = [text for part in ("dev", "test") for pair in _sts_benchmark(part) for text in pair[:2]]
    body = json.loads((data_folder() / "reqa_squad" / "test.json").read_text(encoding="utf-8"))
    return frozenset(map(normal, [*texts, *body["questions"], *body["candidates"]]))


def _texts() -> list[str]:
    """Distinct sentences of all kinds, the shortest first; none of them is scored on or held out."""
    train, held_out = _scored_pairs()
    tested = _published_tests() | {normal(text) for pair in held_out for text in pair[:2]}
    scored = [text for pair in train for text in pair[:2]]
    rng = random.Random(0)
    texts = [*scored, *_captions(rng), *_questions(), *_wikipedia(rng), *_news()]
    texts += [*_comments(rng), *_paraphrases(), *_passages(rng)]
    distinct = {text for text in map(str.strip, texts) if text and normal(text) not in tested}
    ordered = sorted(distinct, key=lambda text: (len(text), text))
    always, choose = {text.strip() for text in scored}, np.random.default_rng(0)
    return [text for text in ordered if text in always or choose.random() < _SHARE]


def _captions(rng: random.Random) -> Iterator[str]:
    """Two of the five captions of each picture (Multi30k)."""
    files = [data_folder() / "multi30k_captions" / f"train.{number}.en" for number in (1, 2, 3, 4, 5)]
    for captions in zip(*(file.read_text(encoding="utf-8").splitlines() for file in files), strict=True):
        yield from rng.sample(captions, 2)


def _questions() -> Iterator[str]:
    """Questions of SQuAD with the sentences that answer them, and those of TREC."""
    body = json.loads((data_folder() / "reqa_squad" / "train.json").read_text(encoding="utf-8"))
    yield from [*body["questions"], *body["answers"]]
    for line in (data_folder() / "trec" / "TREC.train.all").read_text(encoding="latin-1").splitlines():
        yield line.split(" ", 1)[1]


def _wikipedia(rng: random.Random) -> list[str]:
    """One sentence of a paragraph."""
    paragraphs = (data_folder() / "wiki_en" / "train.txt").read_text(encoding="utf-8").splitlines()
    return rng.sample([rng.choice(parts) for p in paragraphs if len(parts := _sentences(p.strip())) > 2], 40_000)


def _news() -> Iterator[str]:
    """The first two sentences of a report (AG News)."""
    with (data_folder() / "ag_news" / "alps_dev.tsv").open(encoding="utf-8") as file:
        for text, _ in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            yield from _sentences(re.sub(r" ?#\d+;", "'", text))[:2]


def _comments(rng: random.Random) -> list[str]:
    """Comments of Reddit (GoEmotions)."""
    lines = (data_folder() / "goemotions" / "train.tsv").read_text(encoding="utf-8").splitlines()
    texts = [line.split("\t")[0].replace("[NAME]", "John") for line in lines]
    return rng.sample([text for text in texts if len(text.split()) > 4], 15_000)


def _paraphrases() -> Iterator[str]:
    """Both sentences of MRPC's pairs."""
    path = data_folder() / "mrpc" / "msr_paraphrase_train.txt"
    for line in path.read_text(encoding="utf-8-sig").splitlines()[1:]:
        yield from line.split("\t")[3:5]


def _passages(rng: random.Random) -> list[str]:
    """Sentences and questions of SQuADShifts: product reviews, Reddit, Wikipedia."""
    sentences: list[str] = []
    questions: list[str] = []
    for kind in ("amazon_reviews", "reddit", "new_wiki"):
        body = json.loads((data_folder() / "squadshifts" / f"{kind}.json").read_text(encoding="utf-8"))
        for passage in (passage for article in body["data"] for passage in article["paragraphs"]):
            parts = _sentences(passage["context"])
            sentences += rng.sample(parts, min(3, len(parts)))
            questions += [asked["question"] for asked in passage["qas"]]
    return [*rng.sample(sentences, 15_000), *rng.sample(questions, 8_000)]


def _sentences(text: str) -> list[str]:
    """Sentences of 4 to 30 words."""
    return [s.strip() for s in re.split(r'(?<=[.!?]) +(?=[A-Z"])', text) if 4 <= len(s.split()) <= 30]


def _vectors(teacher: Path, texts: Sequence[str]) -> NDArray[np.float32]:
    """What the teacher makes of each text, of length 1: (texts, hidden)."""
    checkpoint, vectors = load_checkpoint(teacher), []
    with torch.autocast("cpu", torch.bfloat16):
        for start in range(0, len(texts), 128):
            vectors.append(encode(checkpoint, texts[start : start + 128], normalize=True))
    return np.concatenate(vectors).astype(np.float32)


def _near_pairs(texts: Sequence[str], vectors_ND: NDArray[np.float32]) -> list[ScoredPair]:
    """Each text with one of its nearest that is in no pair yet, both in one cluster of the main directions."""
    _, directions = np.linalg.eigh(vectors_ND.T @ vectors_ND)
    main_NK = vectors_ND @ directions[:, ::-1][:, :_DIMENSIONS]
    means = MiniBatchKMeans(_CLUSTERS, random_state=0, batch_size=4096, n_init=1, max_iter=20).fit(main_NK)
    rng = np.random.default_rng(0)
    pairs: list[ScoredPair] = []
    for cluster in range(_CLUSTERS):
        members = np.flatnonzero(means.labels_ == cluster)
        cosines = vectors_ND[members] @ vectors_ND[members].T
        free = set(range(len(members)))
        for first in rng.permutation(len(members)).tolist():
            if first not in free:
                continue
            free.discard(first)
            near = [other for other in np.argsort(-cosines[first])[: 5 * _NEAREST].tolist() if other in free]
            if near:
                second = near[min(len(near) - 1, int(rng.integers(0, _NEAREST)))]
                free.discard(second)
                score = round(float(np.clip(cosines[first, second], 0, 1)), 4)
                pairs.append((texts[members[first]], texts[members[second]], score))
    return [pairs[place] for place in rng.permutation(len(pairs))]


def _write(path: Path, pairs: Iterable[ScoredPair]) -> None:
    rows = ({"sentence1": a, "sentence2": b, "score": score} for a, b, score in pairs)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
