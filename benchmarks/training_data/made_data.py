"""Training data that is made out of published data beside a run: the words of a recipe that stand for it."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.task_datasets import wiki2015
from benchmarks.training_data.cloze_questions import write_cloze_questions
from benchmarks.training_data.embedding_pairs import write_held_out_pairs, write_near_pairs, write_scored_pairs
from benchmarks.training_data.film_reviews import write_film_reviews, write_review_sentences
from benchmarks.training_data.held_out_sentences import write_phrases, write_sentences
from benchmarks.training_data.named_entities import write_mixed_entities, write_silver_entities
from benchmarks.training_data.sentence_questions import write_sentence_questions, write_silver_questions
from benchmarks.training_data.squad_questions import write_squad_questions
from benchmarks.training_data.unanswerable_questions import (
    MORE_SOURCES,
    OF_WIKIPEDIA,
    write_questions,
    write_short_questions,
)


@dataclass(frozen=True)
class MadeData:
    """A file that a recipe trains on."""

    word: str  # of a recipe's command
    file: str
    write: Callable[[Path], None]


def unpack_wiki2015(path: Path) -> None:
    """The articles of wiki2015 as a text."""
    with wiki2015() as packed, path.open("wb") as text:
        shutil.copyfileobj(packed.buffer, text)


MADE = (
    MadeData("{scored_pairs}", "scored-pairs.jsonl", write_scored_pairs),
    MadeData("{held_out_pairs}", "held-out-pairs.jsonl", write_held_out_pairs),
    MadeData("{near_pairs}", "near-pairs.jsonl", write_near_pairs),
    MadeData("{silver_entities}", "silver-entities.conll", write_silver_entities),
    MadeData("{mixed_entities}", "mixed-entities.conll", write_mixed_entities),
    MadeData("{cloze_questions}", "cloze-questions.json", write_cloze_questions),
    MadeData("{short_questions}", "short-questions.json", write_short_questions),
    MadeData("{questions}", "questions.json", write_questions),
    MadeData("{more_questions}", "more-questions.json", partial(write_questions, sources=MORE_SOURCES)),
    MadeData("{wiki_questions}", "wiki-questions.json", partial(write_questions, sources=OF_WIKIPEDIA)),
    MadeData("{sentence_questions}", "sentence-questions.json", write_sentence_questions),
    MadeData("{silver_questions}", "silver-questions.json", write_silver_questions),
    MadeData("{squad_questions}", "squad-questions.json", write_squad_questions),
    MadeData("{wiki2015}", "wiki2015.txt", unpack_wiki2015),
    MadeData("{film_reviews}", "film-reviews.txt", write_film_reviews),
    MadeData("{review_sentences}", "review-sentences.tsv", write_review_sentences),
    MadeData("{sst2_phrases}", "sst2-phrases.tsv", write_phrases),
    MadeData("{sst2_sentences}", "sst2-held-out.tsv", write_sentences),
)
