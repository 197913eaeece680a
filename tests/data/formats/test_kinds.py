"""Files as the usual tools write them are read right, and what was repaired is counted."""

import json
import time
import zipfile
from dataclasses import replace

import pytest

from bertviz_lab.data.examples import Answer, LabelledWords
from bertviz_lab.data.formats.read import read_task
from bertviz_lab.data.formats.reading import Reading
from bertviz_lab.data.tasks.unlabeled_inputs import read_inputs
from bertviz_lab.errors import InputError
from tests.data.formats.support import rows_of
from tests.data.support import written, zipped

TEXTS = [(f"the {name} pump, number {n}, works", ("bad", "good")[n % 2]) for n, name in enumerate("abcdefghij" * 3)]
BACKSLASHED = chr(92) + chr(34)
PLAIN = [(text, None, label) for text, label in TEXTS]


def csv_of(rows, header="text,label", cell=lambda text: f'"{text}"') -> str:
    return "\n".join([header, *(f"{cell(text)},{label}" for text, label in rows)]) + "\n"


def repaired(data) -> list[tuple[str, int]]:
    return [(repair.reason, repair.count) for repair in data.repaired]


@pytest.mark.parametrize(("ending", "delimiter"), [(".csv", ","), (".tsv", "\t")])
@pytest.mark.parametrize("every", [1, 7, 30])
def test_a_backslash_before_a_quotation_mark_makes_it_part_of_the_cell(ending, delimiter, every, tmp_path):
    rows = [(f'he said "yes, {n}" twice' if n % every == 0 else f"plain, {n}", "ab"[n % 2]) for n in range(60)]
    lines = ['"{}"{}{}'.format(text.replace('"', BACKSLASHED), delimiter, label) for text, label in rows]
    data = read_task(written(tmp_path, f"a{ending}", "\n".join([f"text{delimiter}label", *lines])))
    assert rows_of(data) == [(text, None, label) for text, label in rows]
    assert not data.dropped


def test_a_backslash_at_the_end_of_a_cell_is_a_character(tmp_path):
    rows = [(f"in C:\\dir{n}\\", label) for n, (_, label) in enumerate(TEXTS)]
    assert rows_of(read_task(written(tmp_path, "a.csv", csv_of(rows)))) == [(t, None, label) for t, label in rows]


def test_escaped_tabs_are_part_of_a_cell(tmp_path):
    lines = [f"{n}\tthe part\\\t number {n}\t{'ab'[n % 2]}\n" if n % 9 == 0 else f"{n}\tpart {n}\t{'ab'[n % 2]}\n"
             for n in range(40)]  # fmt: skip
    data = read_task(written(tmp_path, "a.tsv", "".join(lines)))
    assert data.examples[9].text_a == "the part\t number 9"
    assert not data.remarks


@pytest.mark.parametrize("header", ["text,label", "id,text,label", "sentence,score"])
@pytest.mark.parametrize("times", [1, 3])
def test_repeated_headers_are_left_out_and_counted(header, times, tmp_path):
    lines = [
        f"{n},the text number {n},{n % 2}" if "id" in header else f"the text number {n},{n % 2}" for n in range(40)
    ]
    for place in range(times):
        lines.insert(10 * (place + 1), header.title() if place else header)
    data = read_task(written(tmp_path, "a.csv", "\n".join([header, *lines])))
    assert (len(data.examples), data.labels) == (40, ("0", "1"))
    reason = "row repeats the header and was left out" if times == 1 else "rows repeat the header and were left out"
    assert repaired(data) == [(reason, times)]


def test_byte_order_marks_of_joined_files_are_no_part_of_a_label(tmp_path):
    lines = [f'{label},"{text}"' for text, label in TEXTS]
    data = read_task(written(tmp_path, "a.csv", "\ufeff" + "\n".join([*lines[:15], "\ufeff" + lines[15], *lines[16:]])))
    assert data.labels == ("bad", "good")
    assert data.notes == ('1 byte-order mark was taken out of "a.csv".',)


@pytest.mark.parametrize("ending", [".csv", ".json"])
@pytest.mark.parametrize(
    "names", [("\u200btext", "label\u200b"), ("\ufeffText\u00a0", " label"), ("te\u00adxt ", "LABEL\u2060")]
)
def test_what_nobody_sees_in_a_name_of_a_column_is_no_part_of_it(names, ending, tmp_path):
    rows = [dict(zip((*names, "other"), (*row, "xy"[n % 2]), strict=True)) for n, row in enumerate(TEXTS)]
    table = csv_of(((r[names[0]], f"{r[names[1]]},{r['other']}") for r in rows), ",".join(rows[0]))
    path = written(tmp_path, f"a{ending}", json.dumps(rows) if ending == ".json" else table)
    for data in (read_task(path), read_task(path, label="label\u200d"), read_task(path, text_a=names[0])):
        assert rows_of(data) == PLAIN
        assert (data.files[0].text_a.lower(), data.files[0].label.lower()) == ("text", "label")


@pytest.mark.parametrize("ending", [".tsv", ".json"])
@pytest.mark.parametrize("every", [1, 10])
def test_bytes_as_python_prints_them_are_read_as_their_text(every, ending, tmp_path):
    texts = [f"it's the {name} café, b'day \\n\n 😀 {n}" for n, (name, _) in enumerate(TEXTS)]
    cells = [str(text.encode()) if n % every == 0 else f"b'day number {n}" for n, text in enumerate(texts)]
    rows = [(cell, label) for cell, (_, label) in zip(cells, TEXTS, strict=True)]
    table = "text\tlabel\n" + "".join(f"{cell}\t{label}\n" for cell, label in rows)
    records = json.dumps([{"text": cell, "label": label} for cell, label in rows])
    path = written(tmp_path, f"a{ending}", records if ending == ".json" else table)
    data = read_task(path)
    expected = [text if n % every == 0 else cell for n, (text, cell) in enumerate(zip(texts, cells, strict=True))]
    assert [example.text_a for example in data.examples] == expected
    assert repaired(data) == [("cells held bytes (b'...'), and were read as their text", 30 // every)]
    assert [example.text_a for example in read_inputs(path, "classification").examples] == expected


@pytest.mark.parametrize("delimiter", ["^", "@"])
def test_a_rare_sign_before_a_label_divides_cells(delimiter, tmp_path):
    path = written(tmp_path, "a.txt", "".join(f"{text}{delimiter}{label}\n" for text, label in TEXTS))
    assert rows_of(read_task(path)) == PLAIN
    mentions = "".join(f"{n},{label},@ann {text}\n" for n, (text, label) in enumerate(TEXTS))
    assert read_task(written(tmp_path, "a.csv", mentions), label="2").labels == ("bad", "good")


def test_a_repeated_sign_around_an_empty_cell_is_no_delimiter_of_several_characters(tmp_path):
    texts = [(text.replace(",", ""), label) for text, label in TEXTS]
    path = written(tmp_path, "a.csv", "".join(f"{n};{text};;{label}\n" for n, (text, label) in enumerate(texts)))
    assert [(e.text_a, e.label) for e in read_task(path).examples] == texts


def test_quotation_marks_inside_cells_need_not_be_doubled(tmp_path):
    texts = [(f'{text[:4]}"so-called" {text[4:]}', label) for text, label in TEXTS]
    path = written(tmp_path, "a.csv", "text,size,label\n" + "".join(f'"{t}",5" x 3",{label}\n' for t, label in texts))
    data = read_task(path, text_a="text")
    assert [(e.text_a, e.label) for e in data.examples] == texts


def test_tabs_in_every_line_outweigh_commas(tmp_path):
    path = written(tmp_path, "a.txt", "".join(f"{n}\tthe text, {n} here\t{'ab'[n % 2]}\n" for n in range(20)))
    assert rows_of(read_task(path))[3] == ("the text, 3 here", None, "b")


def test_numbers_with_a_comma_may_be_several_labels(tmp_path):
    rows = "".join(f"the text {n}\t{n % 3 if n % 4 else '1,2'}\n" for n in range(40))
    path = written(tmp_path, "a.tsv", rows)
    assert '"1,2" may be several labels in a cell' in Reading.of(read_task(path)).notes[-1]
    assert read_task(path, "multilabel").examples[0].label == ("1", "2")


@pytest.mark.parametrize("cell", ["price|quality", "price; quality", "3 14", "a;other|b", "quality/3", "other#quality"])
def test_labels_of_other_cells_in_one_cell_are_doubted(cell, tmp_path):
    rows = "".join(f"the text {n}\t{(cell, 'quality', '3', 'other')[n % 4]}\n" for n in range(40))
    assert "may be several labels" in Reading.of(read_task(written(tmp_path, "a.tsv", rows))).doubts[0].sentence


@pytest.mark.parametrize("cell", ["3#", "price/quality", "very 3"])
def test_signs_inside_the_name_of_a_label_are_part_of_it(cell, tmp_path):
    rows = "".join(f"the text {n}\t{(cell, 'quality', '3', 'other')[n % 4]}\n" for n in range(40))
    assert Reading.of(read_task(written(tmp_path, "a.tsv", rows))).sure


def test_annotators_who_tie_are_named_apart_from_those_who_differ(tmp_path):
    chosen = [("bad", "good"), ("good", "good"), ("good", "bad", "bad")]
    answers = [[{"result": [{"value": {"choices": [label]}}]} for label in chosen[n % 3]] for n in range(9)]
    records = [{"data": {"text": f"the text {n}"}, "annotations": answer} for n, answer in enumerate(answers)]
    data = read_task(written(tmp_path, "a.json", json.dumps(records)))
    assert [example.label for example in data.examples[:3]] == ["bad", "good", "bad"]
    assert repaired(data) == [
        ("records have annotations that tie: the first was read", 3),
        ("records have annotations that differ: the most frequent was read", 3),
    ]


def test_lists_of_topics_are_several_labels_even_if_few_stand_alone(tmp_path):
    cells = ["price;quality", "service", "price;service;quality", "delivery;price"]
    rows = "".join(f"{n},the text {n},{cells[n % 4]}{';other' * (n % 3 // 2)}\n" for n in range(20))
    data = read_task(written(tmp_path, "a.csv", f"id,texto,temas\n{rows}"), "multilabel")
    assert data.labels == ("delivery", "other", "price", "quality", "service")


@pytest.mark.parametrize("below", [["Total,,30"], ["Total,,30", ",Average:,3.02"]])
def test_a_title_above_the_header_and_rows_of_totals_are_left_out(below, tmp_path):
    rows = (f'{n},"{text}",{label}' for n, (text, label) in enumerate(TEXTS))
    data = read_task(written(tmp_path, "a.csv", "\n".join(["Survey 2024,,", "id,text,label", *rows, *below])))
    assert rows_of(data) == PLAIN
    totals = "row of totals was left out" if len(below) == 1 else "rows below the table were left out"
    assert repaired(data) == [("title above the header was left out", 1), (totals, len(below))]


def test_names_of_groups_of_columns_above_the_header_are_left_out(tmp_path):
    rows = "".join(f'"{text}",en,{label},x\n' for text, label in TEXTS)
    data = read_task(written(tmp_path, "a.csv", f"Feedback,,Rating,\nText,Lang,Label,By\n{rows}"))
    assert rows_of(data) == [(text, None, label) for text, label in TEXTS]
    assert [repair.reason for repair in data.repaired] == ["row above the header was left out"]


def test_a_first_row_without_the_dates_of_the_others_is_the_header(tmp_path):
    rows = "".join(f"{n} A;0{n % 9 + 1}.03.2023;good {n}, yes;{'ab'[n % 2]}\n" for n in range(20))
    data = read_task(written(tmp_path, "a.csv", f"Ticket;Eingang;Nachricht;Kategorie\n{rows}"))
    assert (data.labels, data.files[0].text_a) == (("a", "b"), "Nachricht")


def test_long_questions_above_dates_are_the_header_of_a_survey(tmp_path):
    rows = "".join(f"2024/03/{n + 1:02} 9:00:00 AM GMT+1,{'ED'[n % 4 // 3]}E,{label},\"{text}\"\n"
                   for n, (text, label) in enumerate(TEXTS[:28]))  # fmt: skip
    question = "How did you like the course as a whole (in one word)?"
    header = f"Timestamp,Your device,{question},What should we change for the next course and why?\n"
    reading = Reading.of(read_task(written(tmp_path, "a.csv", header + rows)))
    assert (reading.examples, reading.columns["label"]) == (28, question)
    assert f'give --label "{question}" to confirm it' in [*reading.lines()][-1]
    data = read_task(
        written(tmp_path, "b.csv", f'unknown,yes,good,"The first text of all, which is a long one"\n{rows}')
    )
    assert len(data.examples) == 29, "a first row with a label of others is an example"


def test_dates_constants_and_ids_are_not_the_text(tmp_path):
    lines = [f'"{4 * (n % 2)}","{n + 10**9}","Mon Apr 06 22:{n:02}:45 PDT 2009","NO_QUERY","user{n}","go {n} now"'
             for n in range(40)]  # fmt: skip
    data = read_task(written(tmp_path, "a.csv", "\n".join(lines)))
    assert rows_of(data)[1] == ("go 1 now", None, "4")
    assert data.labels == ("0", "4")


@pytest.mark.parametrize(
    "header",
    ["text,text_pair", "Sentence 1,Sentence 2", "sent_a,sent_b", "first text,second text", "comment,reply",
     "context,response", "premise,hypothesis", "sentence,sentence2", "question1,question2", "question,passage"],
)  # fmt: skip
def test_names_that_belong_together_are_a_pair(header, tmp_path):
    rows = "".join(f"one side of {n},other side of {n},{'ab'[n % 2]}\n" for n in range(20))
    data = read_task(written(tmp_path, "a.csv", f"{header},label\n{rows}"))
    assert rows_of(data)[3] == ("one side of 3", "other side of 3", "b")
    assert Reading.of(data).sure


def test_a_second_column_of_text_is_doubtful_unless_its_name_says_so(tmp_path):
    rows = "".join(f"one side of {n} here,the other side of {n},{'ab'[n % 2]}\n" for n in range(20))
    path = written(tmp_path, "a.csv", f"text,remark,label\n{rows}")
    reading = Reading.of(read_task(path))
    assert not reading.sure
    assert "name it with --text-b" in reading.notes[0]
    assert Reading.of(read_task(path, text_a="text", text_b="remark", label="label")).sure


def test_columns_of_0_and_1_are_the_labels_of_one_task(tmp_path):
    several = "".join(f'{n}x,"the text, {n}",{n % 2},{n % 3 // 2},{n % 5 // 4}\n' for n in range(30))
    data = read_task(written(tmp_path, "a.csv", f"id,comment_text,toxic,threat,insult\n{several}"))
    assert (data.task, data.labels) == ("multilabel", ("insult", "threat", "toxic"))
    assert data.examples[29].label == ("insult", "threat", "toxic")
    one = "".join(f"the text {n},{int(n % 3 == 0)},{int(n % 3 == 1)},{int(n % 3 == 2)}\n" for n in range(30))
    data = read_task(written(tmp_path, "b.csv", f"text,sport,business,arts\n{one}"))
    assert (data.task, data.examples[1].label) == ("classification", "business")
    assert data.labels == ("arts", "business", "sport")
    marked = "".join(f"der Text {n};{'x' * (n % 2)};{'X' * (n // 2 % 2)}\n" for n in range(30))
    data = read_task(written(tmp_path, "c.csv", f"Kommentar;Preis;Lieferung\n{marked}"))
    assert (data.task, data.examples[3].label) == ("multilabel", ("Lieferung", "Preis"))


AROUND = {
    "comments": "# exported in May\n# by a tool\n" + csv_of(TEXTS),
    "title": "Survey of May\n\n" + csv_of(TEXTS),
    "markdown": "| text | label |\n|---|:--|\n" + "".join(f"| {t} | {label} |\n" for t, label in TEXTS),
    "sentence below": csv_of(TEXTS) + "\nExported by a tool in May,\n",
    "kinds of answers": "When,How was it?,Why?\n,Response,Open-Ended Response\n"
    + "".join(f'1/{n + 1}/24,{label},"{text}"\n' for n, (text, label) in enumerate(TEXTS)),
    "questions and their ids": 'StartDate,Q1,Q2\nStart Date,"How, in a word?",Why?\n'
    + '"{""ImportId"":""startDate""}","{""ImportId"":""QID1""}","{""ImportId"":""QID2_TEXT""}"'
    + "".join(f'\n1/{n + 1}/24,{label},"{text}"' for n, (text, label) in enumerate(TEXTS)),
    "empty columns": "\r\n".join(["v1,v2,,,", *(f'{label},"{text}",,,' for text, label in TEXTS)]),
    **{divide: "".join(f"{label}{divide}{text}\n" for text, label in TEXTS) for divide in ("|||", "::", "~|~", "##")},
    "separator": "sep=;\ntext;label\n" + "".join(f"{text};{label}\n" for text, label in TEXTS),
    "single quotation marks": csv_of(TEXTS, cell=lambda text: f"'{text}'"),
}


@pytest.mark.parametrize("around", AROUND)
def test_what_stands_around_the_cells_of_a_table_is_no_part_of_them(around, tmp_path):
    data = read_task(written(tmp_path, "a.csv" if around[0].isalpha() else "a.txt", AROUND[around]))
    assert rows_of(data) == PLAIN


def test_a_tab_between_unusual_delimiters_is_text(tmp_path):
    data = read_task(written(tmp_path, "a.txt", "".join(f"{label}|||so:\t{text}\n" for text, label in TEXTS)))
    assert [(e.text_a, e.label) for e in data.examples] == [(f"so:\t{text}", label) for text, label in TEXTS]


def test_quoted_cells_may_have_lines_of_their_own_with_delimiters(tmp_path):
    rows = [(f"{text}\nA second line; longer\n\nThe end", label) for text, label in TEXTS]
    content = "text;label\n" + "".join(f'"{text}";{label}\n' for text, label in rows)
    assert rows_of(read_task(written(tmp_path, "a.csv", content))) == [(text, None, label) for text, label in rows]


def test_a_table_whose_lines_are_quoted_as_a_whole_is_refused(tmp_path):
    with pytest.raises(InputError, match="enclosed in quotation marks as a whole"):
        read_task(written(tmp_path, "a.csv", "text,label\n" + "".join(f'"{n} good,{n % 2}"\n' for n in range(20))))


def test_decimals_with_a_comma_are_numbers_and_next_to_whole_ones_doubted(tmp_path):
    rows = "".join(f"the text {n};{n % 5},{n % 10}\n" for n in range(40))
    data = read_task(written(tmp_path, "a.csv", f"avis;note\n{rows}"))
    assert (data.task, data.examples[13].label) == ("regression", 3.3)
    path = written(tmp_path, "b.csv", f"avis;note\n{rows}".replace(",0\n", "\n"))  # as spreadsheets write 3,0
    assert "or to regression to read decimals" in Reading.of(read_task(path)).doubts[0].sentence
    data = read_task(path, "regression")
    assert [data.examples[n].label for n in (10, 13)] == [0.0, 3.3]
    pairs = f"text1;text2;score\n{rows}".replace(",0\n", "\n").replace("the text", "the text; another one")
    scores = [example.score for example in read_task(written(tmp_path, "c.csv", pairs), "embeddings").examples]
    assert (scores[10], scores[9]) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("header", "row", "doubt"),
    [
        ("text,label,label", "the text {n},{b},{m}", "column 3 could be it too"),
        ("review,rating,sentiment", "the text {n},{m},{b}", '"rating" could be it too'),
        ("premise,choice1,choice2,label", "the text {n},one way {n},another way {n},{b}", '"premise".* holds text too'),
        ("goal,sol1,sol2,label", "how to do {n} now,do the one {n},or the other {n},{b}", '"goal".* holds text too'),
        ("article,question,answer", "the text {n} is long,what is {n},{b}", '"question".* holds text too'),
        (
            "s1,s2,relatedness_score,entailment_judgment",
            "a {n},b {n},{m}.5,{b}",
            '"entailment_judgment" could be it too',
        ),
        ("text,created_at", "the text {n},{b}{b}", '"created_at".* looks like metadata'),
        ("type,text,ts", "message,the text {n},17000{n}.0001", '"ts".* looks like metadata'),
        ("text,sender", "the text {n},{b}{b}", '"sender".* looks like metadata'),
        ("text,when", "the text {n},2023-01-0{m}", '"when".* looks like metadata'),
        ("text,Zeitstempel", "the text {n},2026/11/0{m} 9:1{m} AM MEZ", '"Zeitstempel".* looks like metadata'),
        ("text,set,label", "the text {n},{part},{m}", 'says what its rows are for ."train" 20'),
        ("What do you say?,The verdict", "the text {n},{b}", "only example of .The verdict.*--header no to confirm"),
    ],
)
def test_another_label_or_text_with_a_usual_name_is_doubted(header, row, doubt, tmp_path):
    rows = "".join(
        row.format(n=n, m=n % 5, b="ab"[n // 5 % 2], part=("train", "Test")[n % 2]) + "\n" for n in range(40)
    )
    with pytest.raises(InputError, match=doubt):
        Reading.of(read_task(written(tmp_path, "a.csv", f"{header}\n{rows}"))).require_sure()


def test_ids_of_many_digits_are_looked_at_in_linear_time(tmp_path):
    rows = "".join(f"{n:039}x,the text {n},{'ab'[n % 2]}\n" for n in range(40))
    start = time.process_time()
    assert len(read_task(written(tmp_path, "a.csv", f"id,text,label\n{rows}")).examples) == 40
    assert time.process_time() - start < 5  # well below 1


ORIENTS = {
    "records": [{"text": t, "label": label} for t, label in TEXTS],
    "values": [[t, label] for t, label in TEXTS],
    "split": {"columns": ["text", "label"], "index": [*range(30)], "data": [[t, label] for t, label in TEXTS]},
    "index": {str(n): {"text": t, "label": label} for n, (t, label) in enumerate(TEXTS)},
    "columns": {name: {str(n): row[c] for n, row in enumerate(TEXTS)} for c, name in enumerate(("text", "label"))},
    "lists": {"text": [t for t, _ in TEXTS], "label": [label for _, label in TEXTS]},
    "table": {"schema": {"fields": []}, "data": [{"index": 0, "text": t, "label": label} for t, label in TEXTS]},
    "deep": {"version": 1, "data": {"name": "x", "records": [{"text": t, "label": label} for t, label in TEXTS]}},
    "deep splits": {"data": {"train": [{"text": t, "label": label} for t, label in TEXTS], "test": [{"text": "no"}]}},
    "deep by id": {"data": {f"id{n}": {"text": t, "label": lb, "by": ["ann"]} for n, (t, lb) in enumerate(TEXTS)}},
    "splits by id": {name: {str(n): {"text": t, "label": lb} for n, (t, lb) in enumerate(texts)}
                     for name, texts in (("test", TEXTS[:3]), ("train", TEXTS))},
    "hits": {"took": 3, "hits": {"total": 30, "hits": [{"_id": str(n), "_source": {"text": t, "label": label}}
                                                       for n, (t, label) in enumerate(TEXTS)]}},
    "splits": {"train": [list(row) for row in TEXTS], "val": [["no", "bad"]], "oos_test": [["no", "oos"]]},
    "chat": [{"messages": [{"role": "user", "content": t}, {"role": "assistant", "content": lb}]} for t, lb in TEXTS],
    "label studio": [{"id": n, "data": {"text": t}, "annotations": [{"result": [{"value": {"choices": [label]}}]}]}
                     for n, (t, label) in enumerate(TEXTS)],
    "cats": [{"text": t, "cats": {"good": float(label == "good"), "bad": float(label == "bad")}} for t, label in TEXTS],
    "rasa": {"rasa_nlu_data": {"common_examples": [{"text": t, "intent": lb, "entities": []} for t, lb in TEXTS]}},
    "by label": {lb: [t for t, label in TEXTS if label == lb] for lb in ("bad", "good")},
    "objects by label": {lb: [{"id": n, "text": t, "by": "ann"} for n, (t, label) in enumerate(TEXTS) if label == lb]
                         for lb in ("bad", "good")},
    "by text": dict(TEXTS),
    "patterns": {"intents": [{"tag": lb, "patterns": [t for t, label in TEXTS if label == lb], "responses": ["Hi!"]}
                             for lb in ("bad", "good")]},
    "argilla": [{"fields": {"text": t}, "responses": {"q": [{"value": lb, "user_id": "u"}]}} for t, lb in TEXTS],
    "argilla 1": [{"text": t, "prediction": [["bad", 0.9]], "annotation": lb, "id": "a"} for t, lb in TEXTS],
    "issues": [{"text": t, "labels": [{"id": f"L{n % 2}", "name": label, "color": "d73a4a"}], "state": "xy"[n % 2]}
               for n, (t, label) in enumerate(TEXTS)],
    "doccano of old": [{"id": n, "text": t, "annotations": [{"label": lb, "id": n, "user": 1}], "stage": "xy"[n % 2]}
                       for n, (t, lb) in enumerate(TEXTS)],
    "prodigy": [{"text": t, "options": [{"id": "bad"}, {"id": "good"}], "accept": [lb], "answer": "accept"}
                for t, lb in TEXTS],
    "vertex": [{"textContent": t, "classificationAnnotation": {"displayName": lb}} for t, lb in TEXTS],
    "parts": [{"contents": [{"role": "user", "parts": [{"text": t}]}, {"role": "model", "parts": [{"text": lb}]}]}
              for t, lb in TEXTS],
    "snips nlu": {"language": "en", "intents": {lb: {"utterances": [{"data": [{"text": t}]}
                  for t, label in TEXTS if label == lb]} for lb in ("bad", "good")}},
    "snips": {lb: [{"data": [{"text": t[:4]}, {"text": t[4:], "entity": "x"}]} for t, label in TEXTS if label == lb]
              for lb in ("bad", "good")},
}  # fmt: skip


@pytest.mark.parametrize("orient", ORIENTS)
def test_every_layout_of_json_gives_the_same_examples(orient, tmp_path):
    data = read_task(written(tmp_path, "a.json", json.dumps(ORIENTS[orient])))
    assert data.task == "classification"
    assert sorted(rows_of(data)) == sorted(PLAIN)


SENTENCE, SPANS = "Ana Ruiz left Oslo. Bad!", [[0, 8, "PER"], [14, 18, "LOC"]]
WORDS = LabelledWords(
    ("Ana", "Ruiz", "left", "Oslo", ".", "Bad", "!"), ("B-PER", "I-PER", "O", "B-LOC", "O", "O", "O"), 1
)
NAMED = [{"start": a, "end": b, "label": c} for a, b, c in SPANS]


SPANNED = {
    "doccano": {"id": 1, "text": SENTENCE, "label": SPANS},
    "doccano objects": {"text": SENTENCE, "entities": [{"start_offset": a, "end_offset": b, "label": c}
                                                       for a, b, c in SPANS]},
    "spacy": {"text": SENTENCE, "entities": SPANS},
    "spacy pairs": [SENTENCE, {"entities": SPANS}],
    "prodigy": {"text": SENTENCE, "spans": NAMED, "answer": "accept"},
    "argilla": {"text": SENTENCE, "annotation": [[c, a, b] for a, b, c in SPANS]},
    "label studio": {"data": {"text": SENTENCE}, "annotations": [{"result": [{"value": s} for s in NAMED]}]},
    "rasa": {"text": SENTENCE, "entities": [{"start": str(a), "end": str(b), "entity": c} for a, b, c in SPANS]},
    "inclusive": {"text": SENTENCE, "entities": [{"start": a, "end": b - 1, "label": c, "text": SENTENCE[a:b]}
                                                 for a, b, c in SPANS]},
}  # fmt: skip


@pytest.mark.parametrize("tool", SPANNED)
def test_character_spans_become_labels_of_words(tool, tmp_path):
    data = read_task(written(tmp_path, "a.jsonl", "\n".join([json.dumps(SPANNED[tool])] * 3)))
    assert (data.task, data.files[0].scheme) == ("tokens", "BIO")
    assert data.examples[0] == WORDS


@pytest.mark.parametrize("nothing", [None, float("nan"), "", [], True])
def test_a_text_without_spans_has_words_without_labels(nothing, tmp_path):
    records = [SPANNED["doccano"], {"text": "nobody here", "label": nothing}, {"text": "nor here"}]
    data = read_task(written(tmp_path, "a.jsonl", "\n".join(map(json.dumps, records))))
    assert [example.labels for example in data.examples] == [WORDS.labels, ("O", "O"), ("O", "O")]


STANDOFF = "\n".join(
    [
        *(f"T{n}\t{label} {start} {end}\t{SENTENCE[start:end]}" for n, (start, end, label) in enumerate(SPANS, 1)),
        "R1\tIn Arg1:T1 Arg2:T2",
        "#1\tNote T1\t?",
    ]
)


@pytest.mark.parametrize("packed", [False, True])
def test_entities_beside_their_texts_become_labels_of_words(packed, tmp_path):
    files = {f"doc{n}{end}": text for n in range(3) for end, text in ((".txt", SENTENCE), (".ann", STANDOFF))}
    files["doc3.txt"] = SENTENCE  # nobody has annotated it
    if packed:
        path = zipped(tmp_path, files)
    else:
        (path := tmp_path / "brat").mkdir()
        for name, text in files.items():
            written(path, name, text)
    data = read_task(path)
    assert (data.task, data.files[0].format, data.files[0].scheme) == ("tokens", "brat", "BIO")
    assert [replace(example, row=1) for example in data.examples] == [WORDS] * 3
    assert any("doc3.txt" in note for note in data.notes)


def test_annotations_are_read_with_their_text(tmp_path):
    text = written(tmp_path, "a.txt", "Ana and Bo Ruiz left.")
    annotations = written(tmp_path, "a.ann", "T1\tPER 0 3;11 15\tAna Ruiz\nT2\tPER 8 10\tBo\n")
    data = read_task([text, annotations])
    assert data.examples[0].labels == ("B-PER", "I-PER", "I-PER", "I-PER", "O", "O")
    assert any("entity of several parts was read as one span" in note for note in data.remarks)
    with pytest.raises(InputError, match=r'annotates ".*a\.txt": give both'):
        read_task(annotations)


def test_annotations_belong_to_the_text_beside_them_or_uploaded_with_them(tmp_path):
    paths = []
    for folder, text, spans in (("1", "Ana left.", "T1\tPER 0 3\tAna"), ("2", "To Oslo.", "T1\tLOC 3 7\tOslo")):
        (tmp_path / folder).mkdir()
        paths += [written(tmp_path / folder, "a.txt", text), written(tmp_path / folder, "a.ann", spans)]
    assert [e.labels[:2] for e in read_task(paths).examples] == [("B-PER", "O"), ("O", "B-LOC")]
    moved = paths[3].rename(tmp_path / "a.ann")
    assert read_task([paths[2], moved]).examples[0].labels[:2] == ("O", "B-LOC")


def test_trees_of_phrases_are_sentences_with_the_labels_of_their_roots(tmp_path):
    trees = ["(3 (2 A) (3 (4 fine) (2 film)))", "(1 (2 -LRB-) (1 (1 dull) (2 -RRB-)))"]
    data = read_task(written(tmp_path, "train.txt", "\n".join(trees * 5)))
    assert (data.task, data.files[0].format) == ("classification", "trees")
    assert [(e.text_a, e.label) for e in data.examples[:2]] == [("A fine film", "3"), ("( dull )", "1")]
    assert any("with the label of its root" in note for note in data.notes)


def test_words_that_a_span_cuts_are_labeled_whole_and_counted(tmp_path):
    record = {"text": SENTENCE, "label": [[0, 6, "PER"], [5, 8, "PER"], [14, 18, "LOC"]]}
    data = read_task(written(tmp_path, "a.jsonl", json.dumps(record)))
    assert data.examples[0] == WORDS
    assert repaired(data) == [
        ("word was cut by a span and labeled whole", 1), ("span overlapped another and was left out", 1)
    ]  # fmt: skip


def test_spans_of_an_unknown_shape_are_no_texts(tmp_path):
    rows = [
        {"text": f"Ana met {('Ben', 'Eve')[n % 2]}", "spans": [{"begins": 0, "size": 3, "is": "PER"}]} for n in range(9)
    ]
    reading = Reading.of(read_task(written(tmp_path, "a.jsonl", "\n".join(map(json.dumps, rows)))))
    assert any("entities need a start" in doubt.sentence for doubt in reading.doubts)
    rows = [{"text": json.dumps({"n": n}), "label": "ab"[n % 2]} for n in range(20)]  # a text may be JSON
    assert not any(
        "records" in note
        for note in Reading.of(read_task(written(tmp_path, "a.jsonl", "\n".join(map(json.dumps, rows))))).notes
    )


@pytest.mark.parametrize(
    ("spans", "noted"),
    [
        ([[13, 17], [28, 32]], "bytes"),
        ([[11, 15], [26, 30]], "UTF-16 units"),
        ([[10, 13], [25, 28]], "inclusive"),
        ([[8, 12], [23, 27]], "cut words"),
    ],
)
def test_offsets_that_cut_words_are_in_another_unit_or_doubted(spans, noted, tmp_path):
    record = json.dumps({"text": "caf\U0001f600 near Oslo is not in Rome now", "label": [[*s, "LOC"] for s in spans]})
    data = read_task(written(tmp_path, "a.jsonl", f"{record}\n" * 9))
    assert noted in data.notes[0]
    assert bool(data.doubts) == (noted == "cut words")
    named = [word for word, label in zip(data.examples[0].words, data.examples[0].labels, strict=True) if label != "O"]
    assert data.doubts or named == ["Oslo", "Rome"]


def test_a_long_text_of_many_spans_is_read_in_linear_time(tmp_path):
    text, spans = "then Ana left " * 3_000, [[14 * n + 5, 14 * n + 8, "PER"] for n in range(3_000)]
    path = written(tmp_path, "a.jsonl", json.dumps({"text": text, "label": spans}))
    start = time.process_time()
    assert read_task(path).examples[0].labels.count("B-PER") == 3_000
    assert time.process_time() - start < 5  # well below 1


def test_sentences_in_csv_are_words_with_labels(tmp_path):
    rows = [
        f"{f'Sentence: {n}' if w == 'Ana' else ''},{w},{t}"
        for n in range(9)
        for w, t in (("Ana", "B-PER"), ("ran", "O"))
    ]
    data = read_task(written(tmp_path, "a.csv", "\n".join(["Sentence #,Word,Tag", *rows])))
    assert [example.words for example in data.examples] == [("Ana", "ran")] * 9
    data = read_task(written(tmp_path, "b.csv", "sentence,word_labels\n" + 'Ana ran,"B-PER,O"\n' * 9))
    assert data.examples[0].labels == ("B-PER", "O")


@pytest.mark.parametrize(
    ("text", "spans", "words", "labels"),
    [
        (
            "王伟住在上海",
            [[0, 2, "PER"], [4, 6, "LOC"]],
            tuple("王伟住在上海"),
            ("B-PER", "I-PER", "O", "O", "B-LOC", "I-LOC"),
        ),
        ("मुझे दिल्ली पसंद", [[5, 11, "LOC"]], ("मुझे", "दिल्ली", "पसंद"), ("O", "B-LOC", "O")),
    ],
)
def test_words_of_other_scripts_are_whole_or_single_characters(text, spans, words, labels, tmp_path):
    data = read_task(written(tmp_path, "a.jsonl", f"{json.dumps({'text': text, 'label': spans})}\n" * 3))
    assert (data.examples[0].words, data.examples[0].labels) == (words, labels)


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("text,entities", f'{SENTENCE},"{SPANS}"'),
        ("id,text,spans", f"1,{SENTENCE}," + '"' + json.dumps(NAMED).replace('"', '""') + '"'),
        ("text,start,end,label", "\n".join(f"{SENTENCE},{a},{b},{c}" for a, b, c in SPANS)),
        ("tokens,ner_tags", f"\"{list(WORDS.words)}\",\"['B-PER' 'I-PER' 'O'\n 'B-LOC' 'O' 'O' 'O']\""),
        ("Satz,Etiketten", f"{' '.join(WORDS.words)},{' '.join(WORDS.labels)}"),
    ],
)
def test_spans_and_lists_of_words_in_csv_are_labeled_words(header, row, tmp_path):
    data = read_task(written(tmp_path, "a.csv", f"{header}\n" + f"{row}\n" * 9))
    assert (data.task, len(data.examples)) == ("tokens", 9)
    assert (data.examples[0].words, data.examples[0].labels) == (WORDS.words, WORDS.labels)


@pytest.mark.parametrize(
    ("name", "content", "doubt"),
    [
        ("a.conll", "Ana\tB-PER\tB-PER\nleft\tO\tO\nOslo\tB-LOC\tB-GPE\n\n", "column 2 marks such spans too"),
        ("a.jsonl", '{"tokens": ["Ana", "left", "Oslo"], "ner_tags": [1, 0, 5]}\n', "labels of words are numbers"),
    ],
)
def test_labels_of_words_that_may_be_others_are_doubted(name, content, doubt, tmp_path):
    assert doubt in Reading.of(read_task(written(tmp_path, name, content * 9))).doubts[0].sentence


@pytest.mark.parametrize(("more", "word"), [("", "Ana"), (" now", "X")])
def test_tags_beside_a_sentence_are_not_its_words(more, word, tmp_path):
    row = f'1,{" ".join(WORDS.words)}{more},"{["X"] * 7}","{list(WORDS.labels)}"\n'
    data = read_task(written(tmp_path, "a.csv", f"Sentence #,Sentence,POS,Tag\n{row * 9}"))
    assert (data.examples[0].words[0], data.examples[0].labels) == (word, WORDS.labels)
    assert bool(data.doubts) == (word == "X")


def test_words_without_ends_of_sentences_are_refused(tmp_path):
    with pytest.raises(InputError, match="nothing says where sentences end"):
        read_task(written(tmp_path, "a.csv", "word,tag\n" + "Ana,B-PER\nran,O\n" * 20))


def test_sentences_of_words_with_slashes_or_bars_are_labeled_words(tmp_path):
    data = read_task(written(tmp_path, "a.txt", "The/DT dog/NN ran/VB\n" * 9))
    assert (data.examples[0].words, data.examples[0].labels) == (("The", "dog", "ran"), ("DT", "NN", "VB"))
    data = read_task(written(tmp_path, "b.txt", "Ana|NN|I-PER ran|VB|O\n" * 9))
    assert (data.examples[0].words, data.examples[0].labels) == (("Ana", "ran"), ("B-PER", "O"))
    with pytest.raises(InputError, match="shows no labels"):  # each word would be a sentence
        read_task(written(tmp_path, "b.txt", "The/DT\ndog/NN\nran/VB\n\n" * 9))


RASA_YML = """nlu:
- intent: book
  examples: |
    - fly to [Berlin](city) on [monday]{"entity": "day"}
    - go home
- intent: ask
  examples: |
    - who are you
    - what is it
- synonym: Berlin
  examples: |
    - capital
"""
RASA_MD = "## intent:book\n- fly to [Berlin](city) on monday\n- go home\n## intent:ask\n- who are you\n- what is it\n"


@pytest.mark.parametrize(("name", "content"), [("nlu.yml", RASA_YML), ("nlu.md", RASA_MD)])
def test_rasa_has_intents_and_entities_and_asks_which(name, content, tmp_path):
    data = read_task(path := written(tmp_path, name, content))
    assert rows_of(data) == [("fly to Berlin on monday", None, "book"), ("go home", None, "book"),
                             ("who are you", None, "ask"), ("what is it", None, "ask")]  # fmt: skip
    with pytest.raises(InputError, match="choose --task classification or --task tokens"):
        Reading.of(data).require_sure()
    assert read_task(path, "tokens").examples[0].labels[:3] == ("O", "O", "B-city")


@pytest.mark.parametrize(
    "columns",
    ["{t}\t{w}", "{w},{t}", "en:{w}\t{t}", "{n}\t{w}\t{t}", "{n} {w} {t}",
     "doc/1\t0\t{n}\t{w}\tNN\t*\t-\t{t}", "{n}\t{w}\t{t}\tO", "{w}\tNN\tB-NP\t{t}",
     "{w} {t}"],
)  # fmt: skip
def test_columns_of_numbers_and_documents_are_not_the_words(columns, tmp_path):
    words = [("Ana", "B-PER"), ("Ruiz", "I-PER"), ("left", "O"), ("Oslo", "B-LOC"), ("early", "O")]
    block = "\n".join(columns.format(n=n, w=w, t=t) for n, (w, t) in enumerate(words, 1))
    data = read_task(written(tmp_path, "a.conll", f"#begin document\n{block}\n\n" * 9))
    assert data.examples[0].words == tuple(w for w, _ in words)
    assert data.examples[0].labels == tuple(t for _, t in words)


@pytest.mark.parametrize(
    ("spell", "count"),
    [
        (lambda label, n: "0" if label == "O" else label, 18),
        (lambda label, n: "o" if label == "O" else label, 18),
        (lambda label, n: label.replace("-", "_"), 27),
        (lambda label, n: "-".join(reversed(label.split("-"))), 27),
        (lambda label, n: label[0].lower() + label[1:], 45),
        (lambda label, n: "OTHER" if label == "O" else label, 18),
        (lambda label, n: "0O" if n == 2 else label, 1),
        (lambda label, n: "b-per" if n == 0 else label, 1),
    ],
)
def test_odd_spellings_of_a_scheme_are_repaired_and_counted(spell, count, tmp_path):
    labels = ["B-PER", "I-PER", "O", "B-LOC", "O"] * 9
    lines = [f"w{n}\t{spell(label, n)}\n" + ("\n" if n % 5 == 4 else "") for n, label in enumerate(labels)]
    data = read_task(written(tmp_path, "a.conll", "".join(lines)))
    assert data.files[0].scheme == "BIO"
    assert [label for example in data.examples for label in example.labels] == labels
    assert sum(repair.count for repair in data.repaired) == count


def test_labels_that_look_like_spans_and_mark_none_are_doubted(tmp_path):
    lines = "Ana\tB/PER\nRuiz\tI/PER\nran\tO\n\n" * 9
    assert "look like those of spans" in Reading.of(read_task(written(tmp_path, "a.conll", lines))).doubts[0].sentence


def test_a_header_of_columns_is_no_word_and_brackets_mark_spans(tmp_path):
    data = read_task(written(tmp_path, "a.conll", "TOKEN\tNE-COARSE\n" + "Ana\tB-PER\nran\tO\n\n" * 9))
    assert (len(data.examples), data.examples[0].words, data.files[0].label) == (9, ("Ana", "ran"), "NE-COARSE")
    words = [("Ana", "(PER*"), ("Ruiz", "*)"), ("ran", "*"), ("Oslo", "(LOC)")]
    block = "".join(f"bc/x\t0\t{n}\t{w}\tNN\t(TOP*\t-\t-\t-\t-\t{t}\t-\n" for n, (w, t) in enumerate(words))
    data = read_task(written(tmp_path, "b.conll", f"{block}\n" * 9))
    assert data.examples[0].labels == ("B-PER", "I-PER", "O", "B-LOC")


def test_words_keep_blanks_that_divide_no_columns(tmp_path):
    data = read_task(written(tmp_path, "a.conll", "10\u00a0000 B-NUM\na\u2028b O\n\n" * 9))
    assert data.examples[0].words == ("10\u00a0000", "a\u2028b")


PASSAGE = "The mill closed in 1931. In 1931 the café reopened, and in 1960 the mill fell."
SECOND = PASSAGE.index("1931", 25)


def questions(answers, name="answers", **more) -> str:
    qas = [{"id": str(n), "question": f"When, {n}?", name: answers, **more} for n in range(5)]
    return json.dumps({"data": [{"title": "t", "paragraphs": [{"context": PASSAGE, "qas": qas}]}]})


@pytest.mark.parametrize(
    "answers",
    [
        *([{"text": "1931", "answer_start": start}] for start in (SECOND, float(SECOND), str(SECOND))),
        [{"text": ["1931"], "answer_start": [SECOND]}], [[{"text": "1931", "answer_start": SECOND}]],
        [{"text": "1931", "answerStart": SECOND}], [{"answer_text": "1931", "char_answer_begin": SECOND}],
        {"text": ["1931"], "answer_start": [SECOND]}, {"text": "1931", "answer_start": SECOND},
        [["1931", SECOND]], [{"text": "1931", "char_spans": [[SECOND, SECOND + 3]]}],
    ],
)  # fmt: skip
def test_an_answer_is_at_its_offset_in_every_shape(answers, tmp_path):
    data = read_task(written(tmp_path, "a.json", questions(answers)))
    assert {example.answers for example in data.examples} == {(Answer("1931", SECOND),)}
    assert not data.remarks


@pytest.mark.parametrize(("text", "count"), [("1960", None), ("1960", "utf-8"), ("1960", "utf-16-le")])
def test_offsets_in_bytes_or_utf16_units_become_characters(text, count, tmp_path):
    passage = PASSAGE.replace("café", "caf\U0001f600")
    start = passage.index(text)
    stated = start if count is None else len(passage[:start].encode(count)) // (2 if count == "utf-16-le" else 1)
    body = questions([{"text": text, "answer_start": stated}]).replace(json.dumps(PASSAGE), json.dumps(passage))
    data = read_task(written(tmp_path, "a.json", body))
    assert data.examples[0].answers == (Answer(text, start),)
    assert bool(data.remarks) == (count is not None)


def test_answers_without_offsets_are_answers(tmp_path):
    records = [{"question": f"When {n}?", "context": PASSAGE, "answers": ["1960"]} for n in range(5)]
    data = read_task(written(tmp_path, "a.jsonl", "\n".join(map(json.dumps, records))))
    assert data.examples[0].answers == (Answer("1960", PASSAGE.index("1960")),)
    assert data.repaired[0].reason.startswith("answers have no offset")


def test_answers_of_an_unknown_shape_are_not_unanswerable(tmp_path):
    with pytest.raises(InputError, match="it has no answers in a known shape"):
        read_task(written(tmp_path, "a.json", questions([{"response": "1960"}])))


def test_questions_in_csv_are_questions(tmp_path):
    rows = "".join(f"q{n},When {n}?,\"{PASSAGE}\",\"{{'text': ['1960'], 'answer_start': [59]}}\"\n" for n in range(5))
    data = read_task(written(tmp_path, "a.csv", f"id,question,context,answers\n{rows}"))
    assert (data.task, data.examples[0].answers[0].text) == ("qa", "1960")


def test_of_a_competition_the_training_file_is_read_and_the_test_file_predicted(tmp_path):
    test = "id,text\n" + "".join(f"{n},unseen text {n}\n" for n in range(9))
    with zipfile.ZipFile(tmp_path / "c.zip", "w") as archive:
        archive.writestr("train.csv", csv_of(TEXTS))
        archive.writestr("test.csv", test)
        archive.writestr("sample_submission.csv", "id,label\n1,good\n2,bad\n")
    data = read_task(tmp_path / "c.zip")
    assert rows_of(data) == PLAIN
    assert 'not "c.zip/sample_submission.csv", "c.zip/test.csv"' in data.notes[0]
    assert read_inputs(tmp_path / "c.zip", "classification").examples[0].text_a == "unseen text 0"


def test_a_folder_for_each_class_has_a_text_in_each_file(tmp_path):
    for n, (text, label) in enumerate(TEXTS):
        for split in ("train", "test"):
            (tmp_path / split / label).mkdir(parents=True, exist_ok=True)
            written(tmp_path / split / label, f"{n}_7.txt", f"{text}, {split}.\n\nMore, and more.\n")
    data = read_task(tmp_path)
    assert sorted(rows_of(data)) == sorted((f"{text}, train.\n\nMore, and more.", None, lb) for text, lb in TEXTS)
    assert Reading.of(data).sure


def test_a_folder_of_texts_without_labels_is_no_class(tmp_path):
    for n, (text, label) in enumerate(TEXTS):
        for folder in (label, "unsup"):
            (tmp_path / "train" / folder).mkdir(parents=True, exist_ok=True)
            written(tmp_path / "train" / folder, f"{n}_0.txt", f"{text}.\n\nMore.\n")
    data = read_task(tmp_path)
    assert sorted(rows_of(data)) == sorted((f"{text}.\n\nMore.", None, label) for text, label in TEXTS)
    assert any('not "train/unsup/0_0.txt"' in note for note in data.notes)


@pytest.mark.parametrize(("other", "unlike"), [
    (csv_of([(text, f"{label}!") for text, label in TEXTS]), "other labels"),
    (csv_of(TEXTS, "satz,thema"), "other columns"),
])  # fmt: skip
def test_files_with_other_labels_or_columns_than_the_first_are_doubted(other, unlike, tmp_path):
    paths = [written(tmp_path, "a.csv", csv_of(TEXTS)), written(tmp_path, "b.csv", other)]
    assert f'"b.csv" has {unlike} than "a.csv"' in Reading.of(read_task(paths)).doubts[0].sentence


def test_a_reading_has_what_was_understood(tmp_path):
    lines = csv_of(TEXTS).splitlines()
    data = read_task(written(tmp_path, "a.csv", "\n".join([*lines[:9], lines[0], *lines[9:], '"a text",'])))
    body = Reading.of(data).to_dict()
    assert (body["format"], body["task"], body["examples"], body["sure"]) == ("table", "classification", 30, True)
    assert body["columns"] == {"text_a": "text", "label": "label"}
    assert body["labels"] == [{"label": "bad", "count": 15}, {"label": "good", "count": 15}]
    assert body["first"][0] == {"text_a": TEXTS[0][0], "label": "bad"}
    assert body["repaired"] == [
        {"reason": "row repeats the header and was left out", "count": 1, "where": ('"a.csv" row 10',)}
    ]
    assert body["dropped"][0]["where"] == ('"a.csv" row 33',)
    assert next(Reading.of(data).lines()).startswith("Read as a table, for classification: 30 examples")


@pytest.mark.parametrize(
    ("labels", "note"),
    [
        (("good", "Good "), "look alike"),
        (("caf\u00e9", "cafe\u0301"), "look alike"),
        (("spam", "ham", "N/A"), "looks like a missing one"),
        (("0", "1", "-1"), "looks like a missing one"),
        (("good", "bad", "#REF!"), "looks like a missing one"),
        (("good", "bad", "Infinity"), "looks like a missing one"),
        (("2.5",), "All examples have the same number"),
        (("good", *[""] * 9, "bad", *[""] * 4), "More rows were left out (26) than are examples"),  # as of merged cells
        (("01", "1", "2"), "look alike"),
    ],
)
def test_labels_that_look_wrong_make_a_reading_unsure(labels, note, tmp_path):
    rows = [(f"the text {n}", labels[n % len(labels)]) for n in range(30)]
    reading = Reading.of(read_task(records(tmp_path, rows)))
    assert not reading.sure
    assert any(note in sentence for sentence in reading.notes)


@pytest.mark.parametrize(
    "text", ["für die Straße {}", "l’été déjà {}", "Привет мой друг {}", "don’t, said the pump {}"]
)
def test_texts_whose_utf8_was_saved_as_another_encoding_are_doubted(text, tmp_path):
    rows = [(text.format(n), "ab"[n % 2]) for n in range(20)]
    assert Reading.of(read_task(records(tmp_path, rows))).sure
    garbled = [(text.encode().decode("cp1252", "ignore"), label) for text, label in rows]
    (doubt,) = Reading.of(read_task(records(tmp_path, garbled))).doubts
    assert "The texts are garbled" in doubt.sentence


def test_the_labels_of_annotators_are_no_pair_of_texts(tmp_path):
    rows = "".join(f"the text {n},{'ab'[n % 2]},{'ab'[n % 3 % 2]},{'ab'[n % 5 % 2]}\n" for n in range(40))
    reading = Reading.of(read_task(written(tmp_path, "a.csv", f"text,ann1,ann2,majority\n{rows}")))
    assert (reading.columns["text_a"], "text_b" in reading.columns, reading.sure) == ("text", False, False)


def test_a_constant_type_of_records_is_not_their_label(tmp_path):
    rows = [{"type": "message", "text": f"the text {n}", "topic area": "ab"[n % 2]} for n in range(20)]
    assert read_task(written(tmp_path, "a.json", json.dumps(rows))).labels == ("a", "b")


def records(folder, rows):
    lines = (json.dumps({"text": text, "label": label}) for text, label in rows)
    return written(folder, "a.jsonl", "\n".join(lines))


@pytest.mark.parametrize("cell", ["['{}']", '["{}"]', "('{}',)"])
def test_a_list_written_in_a_cell_is_read_as_its_labels(cell, tmp_path):
    rows = [[f"the text {n}", cell.format(("bad", "good")[n % 2])] for n in range(12)]
    data = read_task(records(tmp_path, rows))
    assert (data.task, data.labels) == ("classification", ("bad", "good"))
    rows.append(["two labels", "['bad' 'good']"])
    data = read_task(records(tmp_path, rows))
    assert (data.task, data.labels) == ("multilabel", ("bad", "good"))
    assert data.examples[-1].label == ("bad", "good")
    assert "13 label cells hold lists and were read as their labels." in data.notes


def test_a_list_of_bare_words_in_a_cell_is_doubted(tmp_path):
    rows = [[f"the text {n}", ("[bad]", "[good]")[n % 2]] for n in range(12)]
    with pytest.raises(InputError, match=r"set --task to multilabel if so.*--task classification to confirm"):
        Reading.of(read_task(records(tmp_path, rows))).require_sure()
    Reading.of(read_task(records(tmp_path, rows), "classification")).require_sure()


@pytest.mark.parametrize("kind", ["words", "spans", "spelled"])
def test_tens_of_thousands_of_labels_are_refused_in_seconds(kind, tmp_path):
    count = 30_000
    if kind == "spelled":
        path = written(tmp_path, "a.conll", "".join(f"w{n}\tB_{n}\n" + "\n" * (n % 10 == 9) for n in range(count)))
    else:
        spans = {"text": "a text", "entities": [[0, 1, "{}"]]}
        words = {"tokens": ["a", "text"], "ner_tags": ["B-{}", "O"]}
        record = json.dumps(words if kind == "words" else spans).replace("{}", "%d")
        path = written(tmp_path, "a.jsonl", "".join(f"{record % n}\n" for n in range(count)))
    start = time.process_time()
    with pytest.raises(InputError, match=r"30,00[01] different values"):
        read_task(path)
    assert time.process_time() - start < 20  # about 2
