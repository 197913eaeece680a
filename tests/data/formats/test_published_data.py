"""Published data sets, read with no option given: the guesses are right and no row is lost."""

import csv

import pytest

from bertviz_lab.data.formats.read import read_splits, read_task
from bertviz_lab.data.tasks.split import split_examples

UPOS = "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X"
SPANS = "corporation creative-work group location person product"
BIO = " ".join([*(f"B-{kind}" for kind in SPANS.split()), *(f"I-{kind}" for kind in SPANS.split()), "O"])
DIGITS = "0 1 2 3 4 5"
MRPC = ("#1 String", "#2 String", "Quality")


@pytest.mark.parametrize(
    ("train", "held", "task", "counts", "labels", "columns"),
    [
        ("sst2_glue/train.tsv", "sst2_glue/dev.tsv", "classification", (67349, 872), "0 1", ("sentence", "", "label")),
        ("trec/TREC.train.all", "trec/TREC.test.all", "classification", (5452, 500), DIGITS, ("text", "", "label")),
        ("ag_news/alps_dev.tsv", "", "classification", (10001,), "Business Sci/Tech Sports World", ("1", "", "2")),
        ("sms_spam/sms.tsv", "", "classification", (5574,), "ham spam", ("2", "", "1")),
        ("mrpc/msr_paraphrase_train.txt", "mrpc/msr_paraphrase_test.txt", "classification", (4076, 1725), "0 1", MRPC),
        ("stsb/stsb-en-train.csv", "stsb/stsb-en-dev.csv", "regression", (5749, 1500), "", ("1", "2", "3")),
        ("wnut17/wnut17train.conll", "wnut17/emerging.dev.conll", "tokens", (3394, 1009), BIO, ("1", "", "2")),
        ("wnut17/wnut17train.conll", "wnut17/emerging.test.annotated", "tokens", (3394, 1287), BIO, ("1", "", "2")),
        (
            "ud_ewt/en_ewt-ud-train.rebuilt.conllu", "ud_ewt/en_ewt-ud-dev.conllu",
            "tokens", (12544, 2001), UPOS, ("form", "", "upos"),
        ),
        ("ud_ewt/en_ewt-ud-test.conllu", "", "tokens", (2077,), UPOS, ("form", "", "upos")),
        ("squad2_half_dev/dev-v2.0.json", "", "qa", (6078,), "", ("question", "context", "answers")),
    ],
)  # fmt: skip
def test_published_data_sets_are_read_without_options(shared_data, train, held, task, counts, labels, columns):
    sets = read_splits([shared_data / train, shared_data / held]) if held else (read_task(shared_data / train),)
    assert [len(data.examples) for data in sets] == list(counts)
    for data in sets:
        assert (data.task, data.labels, data.dropped) == (task, tuple(labels.split()), ())
        assert [note for note in data.notes if "if they are ratings" not in note] == []
        info = data.files[0]
        assert (info.text_a, info.text_b, info.label) == columns


@pytest.mark.parametrize(
    ("name", "order", "first"), [("mrpc/msr_paraphrase_train.txt", (3, 4, 0), 1), ("sms_spam/sms.tsv", (1, None, 0), 0)]
)
def test_tables_without_quoting_are_read_to_the_letter(shared_data, name, order, first):
    lines = (shared_data / name).read_bytes().decode("utf-8-sig").split("\n")
    cells = [line.rstrip("\r").split("\t") for line in lines if line][first:]
    expected = [tuple(row[c] if c is not None else None for c in order) for row in cells]
    data = read_task(shared_data / name)
    assert [(e.text_a, e.text_b, e.label) for e in data.examples] == expected


def test_quoted_tables_are_read_to_the_letter(shared_data):
    with (shared_data / "stsb/stsb-en-train.csv").open(encoding="utf-8", newline="") as file:
        expected = [(a, b, float(score)) for a, b, score in csv.reader(file)]
    data = read_task(shared_data / "stsb/stsb-en-train.csv")
    assert [(e.text_a, e.text_b, e.label) for e in data.examples] == expected


def test_squad_answers_are_at_their_offsets(shared_data):
    data = read_task(shared_data / "squad2_half_dev/dev-v2.0.json")
    assert sum(bool(e.answers) for e in data.examples) == 2910
    assert len({e.title for e in data.examples}) == 16
    assert all(e.passage.startswith(a.text, a.start) for e in data.examples for a in e.answers)
    train, held = split_examples(data)
    assert not {e.title for e in train} & {e.title for e in held}
    assert 0.05 < len(held) / len(data.examples) < 0.2
