"""Examples go to a file and come back the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertviz_lab.data.examples import (
    Answer,
    LabelledText,
    LabelledWords,
    Question,
    holds_examples,
    read_examples,
    write_examples,
)
from tests.training.finetuning.support import TASKS, examples

text = st.one_of(st.text(), st.sampled_from(["a\u2028b", "a\x85b", "a\r\nb", "\ud800", "\ufeff", "日本"]))
label = st.one_of(text, st.floats(allow_nan=False, allow_infinity=False))
texts = st.builds(LabelledText, text, st.none() | text, label, st.integers(1, 10**9))
words = st.lists(st.tuples(text, text), min_size=1).map(
    lambda pairs: LabelledWords(tuple(w for w, _ in pairs), tuple(t for _, t in pairs), 3)
)
answers = st.lists(st.builds(Answer, text, st.integers(0, 99)), max_size=3).map(tuple)
questions = st.builds(Question, text, text, text, answers, st.integers(1, 99), text)


@given(written=st.one_of(st.lists(kind) for kind in (texts, words, questions)))
def test_any_example_round_trips_through_its_file(written, tmp_path_factory) -> None:
    path = tmp_path_factory.mktemp("kept") / "train.jsonl"
    write_examples(path, written)
    assert list(read_examples(path)) == written
    assert path.read_bytes().count(b"\n") == len(written)
    assert [type(example.label) for example in read_examples(path) if isinstance(example, LabelledText)] == [
        type(example.label) for example in written if isinstance(example, LabelledText)
    ]


def test_a_passage_that_questions_share_is_written_once_and_shared_when_read(tmp_path) -> None:
    written = [Question(str(n), "which", "a long passage " * 1_000 + str(n // 50), (), n) for n in range(100)]
    write_examples(tmp_path / "train.jsonl", written)
    assert (tmp_path / "train.jsonl").stat().st_size < 45_000
    read = read_examples(tmp_path / "train.jsonl")
    assert list(read) == written
    assert len({id(question.passage) for question in read}) == 2


@pytest.mark.parametrize("task", TASKS)
def test_a_file_of_written_examples_is_recognised(task, tmp_path) -> None:
    write_examples(tmp_path / "held_out.jsonl", examples(task))
    assert holds_examples(tmp_path / "held_out.jsonl")


@pytest.mark.parametrize(
    "content", [b"", b"text\tlabel\n", b'{"text": "a", "kind": "b"}\n', b"[1]\n", b"\xff\xfe\n", b"{"]
)
def test_other_files_are_not_taken_for_written_examples(content, tmp_path) -> None:
    (tmp_path / "other.jsonl").write_bytes(content)
    assert not holds_examples(tmp_path / "other.jsonl")
    assert not holds_examples(tmp_path / "missing.jsonl")
