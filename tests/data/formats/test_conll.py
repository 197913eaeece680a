"""Words with a label each: columns, CoNLL-U and records, and the schemes in which labels mark spans."""

import json

import pytest

from bertviz_lab.data.formats.read import read_splits, read_task
from bertviz_lab.data.formats.words.span_labels import bio_scheme, to_bio
from bertviz_lab.errors import InputError
from tests.data.support import written

CONLL_2003 = (
    "-DOCSTART- -X- -X- O\n\nEU NNP B-NP I-ORG\nrejects VBZ B-VP O\nGerman JJ B-NP I-MISC\n\n"
    "Peter NNP B-NP I-PER\nBlackburn NNP I-NP I-PER\n\nMilan NNP B-NP I-LOC\nRome NNP B-NP B-LOC\n"
)
CONLL_U = (
    "# sent_id = 1\n# text = He'll go.\n1-2\tHe'll\t_\t_\t_\t_\t_\t_\t_\t_\n1\tHe\the\tPRON\tPRP\t_\t3\tnsubj\t_\t_\n"
    "2\t'll\twill\tAUX\tMD\t_\t3\taux\t_\t_\n3\tgo\tgo\tVERB\tVB\t_\t0\troot\t_\t_\n3.1\tgone\tgo\t_\t_\t_\t_\t_\t_\t_\n"
    "\n1\tStop\tstop\tVERB\tVB\t_\t0\troot\t_\t_\n\n"
)


def labels_of(data) -> list[tuple[str, ...]]:
    return [example.labels for example in data.examples]


def test_the_word_is_the_first_column_and_the_label_the_last_in_bio(tmp_path):
    data = read_task(written(tmp_path, "a.txt", CONLL_2003))
    assert (data.task, data.files[0].format, data.files[0].scheme) == ("tokens", "conll", "IOB1")
    assert data.examples[0].words == ("EU", "rejects", "German")
    assert [example.row for example in data.examples] == [3, 7, 10]
    assert labels_of(data) == [("B-ORG", "O", "B-MISC"), ("B-PER", "I-PER"), ("B-LOC", "B-LOC")]
    assert data.labels == ("B-LOC", "B-MISC", "B-ORG", "B-PER", "I-PER", "O")


def test_the_label_column_can_be_given_and_the_format_has_any_ending(tmp_path):
    data = read_task(written(tmp_path, "a.txt", CONLL_2003), label="2")
    assert labels_of(data)[0] == ("NNP", "VBZ", "JJ")
    assert data.files[0].scheme == "plain"
    with pytest.raises(InputError, match='no column "9"; it has "1", "2", "3", "4"'):
        read_task(written(tmp_path, "a.txt", CONLL_2003), label="9")
    content = "Peter\tB-PER\nBlackburn\tI-PER\n\nhe\tO\nsaid\tO\n\n" * 9
    for name in ("a.txt", "a.tsv", "a.conll", "a.annotated", "a"):
        assert read_task(written(tmp_path, name, content)).files[0].format == "conll"


def test_a_line_of_one_tab_ends_a_sentence_and_words_may_begin_with_a_hash(tmp_path):
    content = "# a comment\n#tag\tO\n#\tO\nin\tO\nRome\tB-LOC\n\t\nhello\tO\n" * 20
    data = read_task(written(tmp_path, "a.conll", content))
    assert data.examples[0].words == ("#tag", "#", "in", "Rome")
    assert data.examples[1].words[0] == "hello"


def test_conllu_gives_words_with_their_part_of_speech(tmp_path):
    path = written(tmp_path, "a.conllu", CONLL_U)
    data = read_task(path)
    assert [example.words for example in data.examples] == [("He", "'ll", "go"), ("Stop",)]
    assert labels_of(data) == [("PRON", "AUX", "VERB"), ("VERB",)]
    assert data.examples[0].row == 4
    assert labels_of(read_task(path, label="xpos"))[0] == ("PRP", "MD", "VB")
    with pytest.raises(InputError, match='no column "ner"'):
        read_task(path, label="ner")


def test_sentences_with_malformed_lines_are_dropped_and_files_of_them_refused(tmp_path):
    data = read_task(written(tmp_path, "a.conll", "Rome\tB-LOC\nwas\tO\n\n" * 9 + "not\tO\nbuilt\n\n"))
    assert len(data.examples) == 9
    assert [(d.reason, d.where) for d in data.dropped] == [
        ("its sentence has a line of 1 columns, not 2", ('"a.conll" line 29',))
    ]
    content = "a\tb\tO\nc\td\tO\n\ne\tO\n\nf\tO\n\ng\tO\n\n" + "a\tb\tO\nc\td\tO\n\n" * 3
    with pytest.raises(InputError, match=r'not 3 columns \(first: "a\.conll" line 4 has 2\)'):
        read_task(written(tmp_path, "a.conll", content))
    with pytest.raises(InputError, match="one column only"):
        read_task(written(tmp_path, "b.conll", "a\nb\n\nc\n"))


def test_a_long_file_without_blank_lines_is_refused(tmp_path):
    lines = [f"word{n}\t{('B-PER', 'O', 'O')[n % 3]}" for n in range(101)]
    with pytest.raises(InputError, match=r'No blank line says where the sentences of "a\.conll" end'):
        read_task(written(tmp_path, "a.conll", "\n".join(lines)), "tokens")
    assert len(read_task(written(tmp_path, "b.conll", "\n".join(lines[:100])), "tokens").examples) == 1


def test_records_hold_words_and_tags(tmp_path):
    records = [{"id": 1, "tokens": ["in", "Rome"], "pos_tags": [1, 2], "ner_tags": ["O", "B-LOC"]}]
    records += [{"id": 2, "tokens": ["he"], "pos_tags": [3], "ner_tags": ["O"]}, {"tokens": ["a"], "ner_tags": []}]
    path = written(tmp_path, "a.json", json.dumps(records))
    data = read_task(path)
    assert labels_of(data) == [("O", "B-LOC"), ("O",)]
    assert [(d.reason, d.where) for d in data.dropped] == [
        ("it has not as many labels as words", ('"a.json" record 3',))
    ]
    assert labels_of(read_task(written(tmp_path, "b.json", json.dumps(records[:2])), label="pos_tags")) == [
        ("1", "2"), ("3",),
    ]  # fmt: skip


def test_the_scheme_is_decided_over_both_files(tmp_path):
    train = written(tmp_path, "train.conll", "La\tB-LOC\nPaz\tL-LOC\nis\tO\n\nRome\tU-LOC\nis\tO\n")
    held = written(tmp_path, "held.conll", "San\tB-LOC\nJose\tI-LOC\nCosta\tL-LOC\n\nis\tO\n")
    first, second = read_splits([train, held])
    assert labels_of(second)[0] == ("B-LOC", "I-LOC", "I-LOC")
    assert first.labels == second.labels == ("B-LOC", "I-LOC", "O")


@pytest.mark.parametrize(
    ("labels", "scheme", "bio"),
    [
        ("I-A I-A O I-B B-B", "IOB1", "B-A I-A O B-B B-B"),
        ("B-A I-A O B-B B-B", "BIO", "B-A I-A O B-B B-B"),
        ("B-A E-A O S-B S-B", "BIOES", "B-A I-A O B-B B-B"),
        ("B-A M-A E-A O S-B", "BIOES", "B-A I-A I-A O B-B"),
        ("B-A L-A O U-B U-B", "BILOU", "B-A I-A O B-B B-B"),
        ("B I O", "BIO", "B I O"),
        ("NN VBZ -LRB- :", "plain", "NN VBZ -LRB- :"),
        ("N V D", "plain", "N V D"),
        ("B-creative-work I-creative-work O", "BIO", "B-creative-work I-creative-work O"),
    ],
)
def test_every_scheme_is_detected_and_converted_to_bio(labels, scheme, bio):
    assert bio_scheme([labels.split()]) == scheme
    assert to_bio(labels.split(), scheme) == (tuple(bio.split()), 0)


@pytest.mark.parametrize(
    ("labels", "scheme", "bio", "repaired"),
    [
        ("O I-A I-A", "BIO", "O B-A I-A", 1),
        ("B-A I-B O", "BIO", "B-A B-B O", 1),
        ("B-A E-A I-A", "BIOES", "B-A I-A B-A", 1),
        ("S-A E-A", "BIOES", "B-A B-A", 1),
        ("O L-A I-B", "BILOU", "O B-A B-B", 2),
    ],
)
def test_labels_that_continue_no_span_begin_one_and_are_counted(labels, scheme, bio, repaired):
    assert to_bio(labels.split(), scheme) == (tuple(bio.split()), repaired)


def test_repairs_are_noted_with_the_first_location(tmp_path):
    data = read_task(written(tmp_path, "a.conll", "La\tB-LOC\nPaz\tI-LOC\n\nin\tO\nRome\tI-LOC\n"))
    assert labels_of(data)[1] == ("O", "B-LOC")
    assert data.remarks == (
        '1 label continued a span that had not begun, and begins it now (first: "a.conll" line 4).',
    )
