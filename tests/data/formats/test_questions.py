"""Questions with their answers, and pairs, triplets and scores of texts, in whatever file they come."""

import json
import time

import pytest

from bertviz_lab.data.examples import Answer, read_examples, write_examples
from bertviz_lab.data.formats.read import read_splits, read_task
from bertviz_lab.data.formats.reading import Reading
from bertviz_lab.errors import InputError
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
    assert data.remarks[0].startswith("1 answer was not at its stated offset")
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


ROWS = [(f"where is the thing {n}", f"it is in the place number {n}", f"it is nowhere near {n}") for n in range(12)]


def read(tmp_path, name: str, content: str, **options):
    return read_task(written(tmp_path, name, content), "embeddings", **options)


def texts_of(data) -> list[tuple[str, ...]]:
    return [example.texts for example in data.examples]


@pytest.mark.parametrize("header", ["anchor\tpositive\n", "question\tanswer\n", "sentence1\tsentence2\n", ""])
def test_two_columns_of_texts_are_pairs(tmp_path, header) -> None:
    data = read(tmp_path, "a.tsv", header + "".join(f"{a}\t{b}\n" for a, b, _ in ROWS))
    assert data.task == "embeddings"
    assert texts_of(data) == [row[:2] for row in ROWS]
    assert {example.score for example in data.examples} == {None}


@pytest.mark.parametrize("header", ["anchor,positive,negative\n", ""])
def test_a_third_text_is_a_negative(tmp_path, header) -> None:
    data = read(tmp_path, "a.csv", header + "".join(",".join(row) + "\n" for row in ROWS))
    assert texts_of(data) == ROWS
    assert [list(shown.values()) for shown in Reading.of(data).first[:1]] == [[*ROWS[0][:2], [ROWS[0][2]]]]


def test_negatives_are_cut_to_the_fewest_of_any_row_which_is_named(tmp_path) -> None:
    records = [{"query": a, "positive": b, "negatives": [c, f"{c} either", c][: 2 + n % 2]}
               for n, (a, b, c) in enumerate(ROWS)]  # fmt: skip
    data = read(tmp_path, "a.jsonl", "\n".join(map(json.dumps, records)))
    assert texts_of(data) == [(a, b, c, f"{c} either") for a, b, c in ROWS]
    assert data.notes == (
        "6 negatives were left out: all examples need as many as the one with the fewest, "
        'and "a.jsonl" record 1 has 2.',
    )
    full = written(tmp_path, "a.csv", "anchor,positive,negative\n" + "".join(",".join(row) + "\n" for row in ROWS))
    pairs = written(tmp_path, "b.csv", "anchor,positive\n" + "".join(f"{a},{b}\n" for a, b, _ in ROWS))
    data = read_task([full, pairs], "embeddings")
    assert {example.negatives for example in data.examples} == {()}
    assert data.notes[0].startswith("12 negatives were left out: ")
    assert data.notes[0].endswith('"b.csv" row 2 has 0.')
    assert read_task(full, "embeddings").notes == ()


def test_one_article_in_inner_objects_is_read(tmp_path) -> None:
    body = {"status": "ok", "result": json.loads(squad(question("built", "1890", 24)))}
    assert len(read_task(written(tmp_path, "a.json", json.dumps(body)), "qa").examples) == 1


def test_a_json_file_with_a_list_for_each_column_is_read(tmp_path) -> None:
    body = {"questions": [a for a, _, _ in ROWS], "answers": [b for _, b, _ in ROWS], "question_ids": [*range(40, 52)]}
    assert texts_of(read(tmp_path, "a.json", json.dumps(body))) == [row[:2] for row in ROWS]


def test_scores_of_any_range_become_cosines_by_the_training_file(tmp_path) -> None:
    train = written(tmp_path, "a.tsv", "".join(f"{a}\t{b}\t{n % 6}\n" for n, (a, b, _) in enumerate(ROWS)))
    held = written(tmp_path, "b.tsv", "".join(f"{b}\t{a}\t{2 + n % 2}.0\n" for n, (a, b, _) in enumerate(ROWS)))
    first, second = read_splits([train, held], "embeddings")
    assert [example.score for example in first.examples[:6]] == [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert {example.score for example in second.examples} == {0.4, 0.6}
    assert "The scores from 0 to 5 were scaled to cosines from 0 to 1." in first.notes
    cosines = "".join(f"{a}\t{b}\t{n / 12:.2f}\n" for n, (a, b, _) in enumerate(ROWS))
    data = read(tmp_path, "c.tsv", cosines)
    assert data.examples[6].score == 0.5
    assert not data.notes


@pytest.mark.parametrize("labels", [("entailment", "contradiction"), ("80%", "5%"), ("3/5", "0/5")])
def test_pairs_with_labels_that_are_no_scores_are_doubted(labels, tmp_path) -> None:
    rows = "".join(f"{a}\t{b}\t{labels[n % 2]}\n" for n, (a, b, _) in enumerate(ROWS))
    path = written(tmp_path, "a.tsv", "premise\thypothesis\tlabel\n" + rows)
    with pytest.raises(InputError, match=r'"label".* is not read, .*give --text-b hypothesis to confirm it'):
        Reading.of(read_task(path, "embeddings")).require_sure()
    Reading.of(read_task(path, "embeddings", text_b="hypothesis")).require_sure()


def test_rows_that_lack_something_are_dropped_with_their_reason(tmp_path) -> None:
    lines = [",".join(row) for row in ROWS] + [",b text here,c text here", "a text here,,c text here", "a text,b text,"]
    data = read(tmp_path, "a.csv", "anchor,positive,negative\n" + "\n".join(lines) + "\n")
    assert len(data.examples) == 12
    assert [dropped.reason.split(" (")[0] for dropped in data.dropped] == [
        "the text is empty", "the second text is empty", "the negative is empty"
    ]  # fmt: skip


def test_anchors_and_positives_are_recognised_by_their_names_and_kept_as_they_were(tmp_path) -> None:
    text = "anchor\tpositive\n" + "".join(f"{a}\t{b}\n" for a, b, _ in ROWS)
    data = read_task(written(tmp_path, "a.tsv", text))
    assert data.task == "embeddings"
    write_examples(tmp_path / "kept.jsonl", data.examples)
    assert read_examples(tmp_path / "kept.jsonl") == data.examples


def test_scores_in_text_and_a_single_column_of_texts_are_refused(tmp_path) -> None:
    rows = "".join(f"{a}\t{b}\t{('high', 'low')[n % 2]}\n" for n, (a, b, _) in enumerate(ROWS))
    with pytest.raises(InputError, match=r'"high" in .* is no number, as the scores of pairs are'):
        read(tmp_path, "a.tsv", "sentence1\tsentence2\tscore\n" + rows, label="score")
    rows = "".join(f"{a}\t{n % 2}\n" for n, (a, _, _) in enumerate(ROWS))
    with pytest.raises(InputError, match="has no two columns of texts that belong together"):
        read(tmp_path, "a.tsv", "text\tlabel\n" + rows)


@pytest.mark.parametrize(
    "record",
    [
        {"plot": PASSAGE, "qa": [{"question": "When?", "answers": ["1890"], "no_answer": False},
                                 {"question": "Why?", "answers": ["1890"], "no_answer": True}]},
        {"paragraph": PASSAGE, "questions": [{"q": "When?", "a": "1890"}, {"q": "Why?", "a": ""}]},
        {"story": PASSAGE, "qa_pairs": [{"question": "When?", "answer": {"text": "1890"}},
                                        {"question": "Why?", "answer": []}]},
    ],
)  # fmt: skip
def test_questions_beside_their_passage_have_many_names(record, tmp_path):
    data = read_task(written(tmp_path, "a.json", json.dumps([record] * 2)))
    assert data.task == "qa"
    assert [(q.question, [answer.text for answer in q.answers]) for q in data.examples] == [
        ("When?", ["1890"]),
        ("Why?", []),
    ] * 2


@pytest.mark.parametrize("keyed", [False, True])
def test_a_passage_of_titles_with_their_sentences_is_read_as_a_text(keyed, tmp_path):
    titles, sentences = ["Bridge", "Mill"], [["It was built in 1890.", "It is long."], ["The mill fell."]]
    passage = {"title": titles, "sentences": sentences} if keyed else [*zip(titles, sentences, strict=True)]
    facts = {"context": passage, "supporting_facts": [["Bridge", 0]], "type": "bridge"}
    rows = [{"question": f"When, {n}?", "answer": ("1890", "yes")[n // 4], **facts} for n in range(5)]
    data = read_task(written(tmp_path, "a.json", json.dumps(rows)))
    text = "Bridge\nIt was built in 1890.\nIt is long.\nMill\nThe mill fell."
    assert {(e.passage, *e.answers) for e in data.examples} == {(text, Answer("1890", text.index("1890")))}
    assert [(d.reason, d.count) for d in data.dropped] == [("none of its answers is in the passage", 1)]
    assert ("passages are lists of texts and were read as these, a line each", 5) in [
        (repair.reason, repair.count) for repair in data.repaired
    ]
