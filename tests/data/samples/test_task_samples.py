"""The labelled examples that ship with the package: what they promise to a learner who trains on them."""

import csv
import json
import re
from collections import Counter
from itertools import combinations
from typing import Any

import pytest

from bertviz_lab.config.finetune import FinetuneConfig
from bertviz_lab.data.examples import LabelledText, LabelledWords, Question, RelatedTexts, TaskData
from bertviz_lab.data.formats.read import read_task
from bertviz_lab.data.samples.task_samples import TASK_SAMPLES, sample_path
from bertviz_lab.errors import InputError

TYPES = {"PER", "LOC", "ORG", "DATE"}


def table(name: str) -> list[dict[str, str]]:
    with sample_path(name).open(encoding="ascii", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def marked(name: str = "entities") -> list[list[tuple[str, str]]]:
    """The sentences of the entities, as (word, tag)."""
    blocks = sample_path(name).read_text(encoding="ascii").strip().split("\n\n")
    pairs = [[line.split(" ") for line in block.split("\n")] for block in blocks]
    return [[(word, tag) for word, tag in sentence] for sentence in pairs]


def passages() -> list[dict[str, Any]]:
    body = json.loads(sample_path("questions").read_text(encoding="ascii"))
    assert body["version"] == "v2.0"
    return [passage for article in body["data"] for passage in article["paragraphs"]]


def words_of(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z0-9']+", text.lower()))


def near_duplicates(texts: list[str]) -> list[tuple[str, str]]:
    """Texts that share more than four in five of their words."""
    sets = [(text, words_of(text)) for text in texts]
    return [(a, b) for (a, of_a), (b, of_b) in combinations(sets, 2) if len(of_a & of_b) > 0.8 * len(of_a | of_b)]


def read(name: str) -> TaskData:
    return read_task([sample_path(name)], TASK_SAMPLES[name].task)


def test_each_sample_has_a_file_a_title_a_description_and_settings_of_finetune_config() -> None:
    names = "sentiment topics guest-book paraphrases entities town-questions same-event questions"
    assert " ".join(TASK_SAMPLES) == names
    for name, sample in TASK_SAMPLES.items():
        assert sample.name == name
        assert sample_path(name).is_file()
        assert sample.description.endswith(".")
        config = FinetuneConfig(train=(f"sample:{name}",), task=sample.task, **sample.settings)
        assert config.epochs == sample.settings["epochs"]
    assert len({sample.title for sample in TASK_SAMPLES.values()}) == len(TASK_SAMPLES)


def test_an_unknown_sample_is_refused_with_the_names_that_exist() -> None:
    with pytest.raises(InputError, match='"reviews"; choose one of sentiment, topics'):
        sample_path("reviews")


@pytest.mark.parametrize("name", TASK_SAMPLES)
def test_the_text_is_plain_ascii_without_double_spaces(name: str) -> None:
    text = sample_path(name).read_text(encoding="ascii")
    assert text.endswith("\n")
    assert not re.search(r"[^\s] {2,}[^\s]|[ \t]\n|\r|`", text)


@pytest.mark.parametrize("name", ["entities", "entities:held-out"])
def test_tags_are_valid_bio(name: str) -> None:
    for sentence in marked(name):
        before = "O"
        for word, tag in sentence:
            assert word
            assert tag == "O" or (tag[:2] in ("B-", "I-") and tag[2:] in TYPES)
            assert tag[:2] != "I-" or before[2:] == tag[2:], sentence
            before = tag


def test_held_out_sentences_resemble_the_sample_and_are_not_in_it() -> None:
    sentences, held = marked(), marked("entities:held-out")
    assert (len(sentences), len(held)) == (400, 60)
    for part, least in ((sentences, 100), (held, 20)):
        tags = Counter(tag for sentence in part for _, tag in sentence)
        assert all(tags[f"B-{kind}"] >= least for kind in TYPES)
    assert near_duplicates([" ".join(word for word, _ in sentence) for sentence in (*sentences, *held)]) == []


def test_every_answer_is_at_its_offset_and_is_whole_words() -> None:
    for passage in passages():
        context = passage["context"]
        for question in passage["qas"]:
            for answer in question["answers"] + question.get("plausible_answers", []):
                start, end = answer["answer_start"], answer["answer_start"] + len(answer["text"])
                assert context[start:end] == answer["text"]
                for place in (start, end):
                    assert not re.fullmatch(r"\w\w", context[max(place - 1, 0) : place + 1])


def test_about_a_quarter_of_the_questions_cannot_be_answered() -> None:
    questions = [question for passage in passages() for question in passage["qas"]]
    assert len({question["id"] for question in questions}) == len(questions) >= 300
    for question in questions:
        assert question["question"].endswith("?")
        assert question["is_impossible"] == (not question["answers"])
    assert 0.2 < sum(question["is_impossible"] for question in questions) / len(questions) < 0.3


@pytest.mark.parametrize("name", TASK_SAMPLES)
def test_every_example_is_read_with_task_and_columns_inferred(name: str) -> None:
    data = read_task([sample_path(name)])
    assert data.task == TASK_SAMPLES[name].task
    assert data.dropped == ()
    kinds = {"tokens": LabelledWords, "qa": Question, "embeddings": RelatedTexts}
    for example in data.examples:
        assert isinstance(example, kinds.get(data.task, LabelledText))
        assert not isinstance(example, LabelledText) or (example.text_b is not None) == (name == "paraphrases")
    assert TASK_SAMPLES[name].description.startswith(f"{len(data.examples):,} ")
