"""Training data that is made out of published data beside a run: the words of a recipe that stand for it."""

import shutil
import tomllib
from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.task_datasets import folder as data_folder
from benchmarks.task_datasets import wiki2015
from benchmarks.training_data.cloze_questions import write_cloze_questions
from benchmarks.training_data.embedding_pairs import write_held_out_pairs, write_near_pairs, write_scored_pairs
from benchmarks.training_data.film_reviews import write_film_reviews, write_review_sentences
from benchmarks.training_data.held_out_sentences import write_phrases, write_sentences
from benchmarks.training_data.named_entities import write_mixed_entities, write_silver_entities
from benchmarks.training_data.sentence_questions import write_sentence_questions, write_silver_questions
from benchmarks.training_data.squad_questions import write_squad_questions
from benchmarks.training_data.unanswerable_questions import (
    OF_WIKIPEDIA,
    SOURCES,
    SQUAD2_TRAIN,
    write_left_out_questions,
    write_questions,
    write_short_questions,
)


@dataclass(frozen=True)
class MadeData:
    """A file that a recipe trains on."""

    word: str  # of a recipe's command
    file: str
    write: Callable[[Path], None]
    needs: tuple[str, ...]  # published files and folders that it reads


def unpack_wiki2015(path: Path) -> None:
    """The articles of wiki2015 as a text."""
    with wiki2015() as packed, path.open("wb") as text:
        shutil.copyfileobj(packed.buffer, text)


_TRIED = (SQUAD2_TRAIN, "squad2_half_dev/dev-v2.0.json")  # whose passages no stage may have
_STS = ("stsb", "sts12_16")
_SST2 = ("sst2_glue/train.tsv",)
_REVIEWS = ("aclImdb", "sst2_glue/dev.tsv", "sst2_glue/test.tsv", *_SST2)
_WIKI2015 = ("wiki2015/train.txt.xz",)
_REQA = ("reqa_squad/train.json", "reqa_squad/test.json")
_SENTENCES = (
    "multi30k_captions", "trec/TREC.train.all", "wiki_en/train.txt", "ag_news/alps_dev.tsv", "goemotions/train.tsv",
    "mrpc/msr_paraphrase_train.txt", "squadshifts", *_REQA,
)  # fmt: skip
_PEOPLES = ("squad2_cr/rationales/word_att_extended.tsv", "unansq/QG", *_WIKI2015)

MADE = (
    MadeData("{scored_pairs}", "scored-pairs.jsonl", write_scored_pairs, _STS + _REQA),
    MadeData("{held_out_pairs}", "held-out-pairs.jsonl", write_held_out_pairs, _STS),
    MadeData("{near_pairs}", "near-pairs.jsonl", write_near_pairs, _STS + _SENTENCES),
    MadeData(
        "{silver_entities}",
        "silver-entities.conll",
        write_silver_entities,
        ("wiki_en/train.txt", "ag_news/alps_dev.tsv"),
    ),
    MadeData("{mixed_entities}", "mixed-entities.conll", write_mixed_entities, ("wnut17/wnut17train.conll",)),
    MadeData("{cloze_questions}", "cloze-questions.json", write_cloze_questions, _WIKI2015 + _TRIED),
    MadeData("{short_questions}", "short-questions.json", write_short_questions, SOURCES + _TRIED),
    MadeData("{questions}", "questions.json", write_questions, SOURCES + _TRIED),
    MadeData("{more_questions}", "more-questions.json", partial(write_questions, sources=(SQUAD2_TRAIN,)), _TRIED),
    MadeData(
        "{wiki_questions}", "wiki-questions.json", partial(write_questions, sources=OF_WIKIPEDIA), OF_WIKIPEDIA + _TRIED
    ),
    MadeData("{left_out_questions}", "left-out-questions.json", write_left_out_questions, _TRIED[:1]),
    MadeData("{sentence_questions}", "sentence-questions.json", write_sentence_questions, ("qamr", *_TRIED)),
    MadeData("{silver_questions}", "silver-questions.json", write_silver_questions, _REQA[:1] + _TRIED),
    MadeData("{squad_questions}", "squad-questions.json", write_squad_questions, _PEOPLES + _TRIED),
    MadeData("{wiki2015}", "wiki2015.txt", unpack_wiki2015, _WIKI2015),
    MadeData("{film_reviews}", "film-reviews.txt", write_film_reviews, _REVIEWS),
    MadeData("{review_sentences}", "review-sentences.tsv", write_review_sentences, _REVIEWS),
    MadeData("{sst2_phrases}", "sst2-phrases.tsv", write_phrases, _SST2),
    MadeData("{sst2_sentences}", "sst2-held-out.tsv", write_sentences, _SST2),
)


def missing_data(words: Collection[str]) -> list[str]:
    """Return a line about each published data set that the words of a recipe need and this machine lacks."""
    needed = [word.removeprefix("{data}/") for word in words if word.startswith("{data}/")]
    needed += [path for made in MADE if made.word in words for path in made.needs]
    missing: dict[str, list[str]] = defaultdict(list)
    for path in dict.fromkeys(needed):
        if not (data_folder() / path).exists():
            missing[path.partition("/")[0]].append(path)
    published = tomllib.loads(Path(__file__).with_name("published.toml").read_text(encoding="utf-8"))
    return [
        f"{', '.join(paths)}: {published[folder]['title']}, {published[folder]['address']}"
        for folder, paths in missing.items()
    ]
