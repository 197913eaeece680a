"""SQuAD is read with its answers at their offsets."""

import json
import time

import pytest

from bertviz_lab.data.examples import Answer
from bertviz_lab.data.formats.read import read_task
from tests.data.formats.support import PASSAGE, question, squad
from tests.data.support import written


def test_questions_are_read_with_their_answers(tmp_path):
    nothing = {"id": "none", "question": "Who?", "answers": [], "is_impossible": True, "plausible_answers": [{}]}
    data = read_task(written(tmp_path, "a.json", squad(question("one", "1890", 24), nothing)))
    assert data.task == "qa"
    assert data.labels == ()
    first, second = data.examples
    assert (first.id, first.title, first.passage, first.answers) == ("one", "Bridge", PASSAGE, (Answer("1890", 24),))
    assert second.answers == ()
    assert data.files[0].format == "squad"


def test_a_misplaced_answer_is_noted(tmp_path):
    data = read_task(written(tmp_path, "a.json", squad(question("one", "1890", 40), question("two", " 1950 ", 66))))
    assert [e.answers for e in data.examples] == [(Answer("1890", 48),), (Answer("1950", PASSAGE.index("1950")),)]
    assert data.notes[0].startswith("1 answer was not at its stated offset")
    for example in data.examples:
        for answer in example.answers:
            assert example.passage[answer.start :].startswith(answer.text)


@pytest.mark.parametrize(("stated", "start"), [(0, 4), (11, 4), (13, 18), (10**9, 18), (-1, 4)])
def test_a_misplaced_answer_is_taken_from_its_nearest_occurrence(tmp_path, stated, start):
    question = {"id": "1", "question": "which", "answers": [{"text": "river", "answer_start": stated}]}
    record = {"context": "the river and the river", "qas": [question]}
    (example,) = read_task(written(tmp_path, "a.json", json.dumps([record]))).examples
    assert example.answers == (Answer("river", start),)


def test_an_answer_may_be_two_offsets_only(tmp_path):
    record = {"context": PASSAGE, "question": "When?", "answer_start": 24, "answer_end": 28}
    assert read_task(written(tmp_path, "a.jsonl", json.dumps(record))).examples[0].answers == (Answer("1890", 24),)


def test_a_question_whose_answer_is_not_in_its_passage_is_dropped(tmp_path):
    data = read_task(written(tmp_path, "a.json", squad(question("one", "1890", 24), question("two", "1900", 24))))
    assert [e.id for e in data.examples] == ["one"]
    assert [(d.reason, d.where) for d in data.dropped] == [
        ("none of its answers is in the passage", ('"a.json" question 2',))
    ]


def test_ids_are_made_unique(tmp_path):
    content = squad(question("one", "1890", 24), question("one", "1950", 67))
    paths = [written(tmp_path, name, content) for name in ("a.json", "b.json")]
    assert len({e.id for e in read_task(paths).examples}) == 4


def test_one_question_a_record_is_read_as_on_the_hub(tmp_path):
    record = {"context": PASSAGE, "question": "When?", "answers": {"text": ["1890"], "answer_start": [24]}}
    records = [record | {"id": "a"}, record | {"id": "b", "answers": {"text": [], "answer_start": []}}]
    data = read_task(written(tmp_path, "a.jsonl", "\n".join(map(json.dumps, records))))
    assert [e.answers for e in data.examples] == [(Answer("1890", 24),), ()]


@pytest.mark.parametrize("kind", ["stated offsets", "misplaced answers", "one id"])
def test_squad_is_read_in_time_that_grows_linearly_with_its_size(tmp_path, kind):
    def seconds(count: int) -> float:
        if kind == "one id":
            content = squad(*[question("same", "1890", 24)] * count)
        else:
            asked = [question(str(n), "a", 0 if kind == "stated offsets" else 10**9) for n in range(count)]
            content = squad(*asked, passage="a" * 100 * count)
        path = written(tmp_path, "squad.json", content)
        begin = time.process_time()
        assert len({example.id for example in read_task(path).examples}) == count
        return time.process_time() - begin

    small = min(seconds(500) for _ in range(3))
    assert min(seconds(4_000) for _ in range(2)) < 20 * small
