"""The report on a text before training: true counts, the [UNK] rate, and a warning for each thing that is wrong."""
# sentences of many scripts

import json
import math
import random
import time
from collections import Counter

import pytest

from bertviz_lab.data.corpora.health import HealthReport, examine, examine_files, examine_with_tokenizer
from bertviz_lab.data.documents import Document
from bertviz_lab.errors import InputError
from bertviz_lab.tokenization import Tokenizer
from tests.data.support import PROSE, written

WORDS = [
    "time",
    "year",
    "people",
    "way",
    "day",
    "man",
    "thing",
    "woman",
    "life",
    "child",
    "world",
    "school",
    "state",
    "family",
    "student",
    "group",
    "country",
    "problem",
]


def prose(documents: int, sentences: int, seed: int = 0) -> list[Document]:
    """Documents of random sentences, hardly any of them alike."""
    rng = random.Random(seed)
    return [
        Document(str(d), tuple(" ".join(rng.choices(WORDS, k=12)).capitalize() + "." for _ in range(sentences)))
        for d in range(documents)
    ]


def warned(report: HealthReport, part: str) -> bool:
    return any(part in warning for warning in report.warnings)


@pytest.fixture(scope="module")
def examined() -> tuple[HealthReport, Tokenizer]:
    return examine_with_tokenizer(prose(300, 8), vocab_size=300)


@pytest.fixture(scope="module")
def healthy(examined) -> HealthReport:
    return examined[0]


@pytest.fixture(scope="module")
def tokenizer(examined) -> Tokenizer:
    return examined[1]


# Counts


def test_counts_are_those_of_the_whole_text(healthy, tokenizer):
    assert healthy.documents == 300
    assert healthy.sentences == 2_400
    assert healthy.pairs == 2_100
    assert healthy.words == 12 * 2_400
    assert healthy.longest_sentence == 12
    assert healthy.characters == sum(len(s) for d in prose(300, 8) for s in d.sentences)
    assert healthy.tokens == sum(map(len, tokenizer.ids([s for d in prose(300, 8) for s in d.sentences])))
    assert healthy.mean_sentence_tokens == pytest.approx(healthy.tokens / 2_400)
    assert not healthy.tokens_estimated
    assert healthy.nsp_possible


def test_a_healthy_text_has_no_warnings(healthy):
    assert healthy.warnings == ()


def test_the_unigram_entropy_is_that_of_the_tokens(healthy, tokenizer):
    counts = Counter(i for d in prose(300, 8) for ids in tokenizer.ids(d.sentences) for i in ids)
    total = counts.total()
    entropy = -sum(n / total * math.log(n / total) for n in counts.values())
    assert healthy.unigram_entropy == pytest.approx(entropy)
    token, share = healthy.frequent[0]
    top, count = counts.most_common(1)[0]
    assert share == pytest.approx(count / total)
    assert token == tokenizer.token(top)


def test_the_report_becomes_json(healthy):
    report = json.loads(json.dumps(healthy.to_dict()))
    assert report["documents"] == 300
    assert set(report) == set(HealthReport.__dataclass_fields__)


def test_parts_of_one_document_count_as_one():
    first, second, other = prose(3, 50)
    report = examine([first, Document("0", second.sentences, continues=True), other])
    assert report.documents == 2
    assert report.pairs == 99 + 49


def test_a_part_after_a_single_sentence_makes_a_document_of_several():
    parts = [Document("a", ("One here.",)), Document("a", ("And two.",), continues=True)]
    report = examine([*parts, *prose(1, 30)])
    assert report.documents == 2
    assert not warned(report, "single sentence")


def test_a_text_beyond_the_sample_has_its_tokens_estimated(monkeypatch):
    documents = prose(300, 8)
    whole, tokenizer = examine_with_tokenizer(documents)
    monkeypatch.setattr("bertviz_lab.data.corpora.health._SAMPLE_CHARACTERS", 40_000)
    part = examine(documents, tokenizer=tokenizer)
    assert part.tokens_estimated
    assert part.tokens == pytest.approx(whole.tokens, rel=0.02)
    assert (part.documents, part.sentences, part.words) == (whole.documents, whole.sentences, whole.words)


# The tokenizer


def test_the_tokenizer_is_learnt_without_the_held_out_documents():
    documents = prose(100, 3)
    marked = [Document(d.name, (*d.sentences, "Ω Ω Ω.")) if n % 10 == 9 else d for n, d in enumerate(documents)]
    report, tokenizer = examine_with_tokenizer(marked)
    assert tokenizer.id("ω") is None
    assert report.unk_rate == pytest.approx(30 / sum(map(len, tokenizer.ids(_held_out(marked)))))
    assert warned(report, "[UNK]")


def _held_out(documents: list[Document]) -> list[str]:
    return [s for n, d in enumerate(documents) if n % 10 == 9 for s in d.sentences]


def test_a_given_tokenizer_is_used_and_handed_back():
    tokenizer = Tokenizer.train(["time year people. Way."] * 10, vocab_size=100)
    report, used = examine_with_tokenizer(prose(20, 3), tokenizer=tokenizer)
    assert used is tokenizer
    assert report.vocab_size == tokenizer.vocab_size
    assert report.unk_rate > 0.5
    assert warned(report, "[UNK]")


def test_bpe_never_meets_an_unknown_token():
    report, tokenizer = examine_with_tokenizer(prose(20, 3), algorithm="bpe", vocab_size=400)
    assert report.unk_rate == 0
    assert tokenizer.algorithm == "bpe"


# Warnings


def test_one_document_is_trained_with_mlm_only():
    report = examine(prose(1, 500))
    assert not report.nsp_possible
    assert warned(report, "one document")
    assert warned(report, "trains MLM only")


def test_documents_of_one_sentence_are_trained_on_masked_words_alone():
    report = examine(prose(500, 1))
    assert not report.nsp_possible
    assert warned(report, "Every document is a single sentence")


def test_few_documents_with_a_next_sentence_are_pointed_out():
    report = examine([*prose(500, 1), *prose(5, 5)])
    assert report.nsp_possible
    assert warned(report, "Nearly all of the documents are a single sentence")


def test_a_blank_line_after_every_sentence_is_pointed_out(tmp_path):
    path = written(tmp_path, "trap.txt", "\n\n".join(s for d in prose(1, 200) for s in d.sentences))
    report = examine_files([path])
    assert report.documents == 1
    assert warned(report, "blank line follows nearly every sentence")
    asked = examine_files([path], documents="blank-line")
    assert asked.documents == 200
    assert not asked.nsp_possible
    assert warned(asked, "as you asked")


def test_one_sentence_is_pointed_out():
    report = examine([Document("a", ("The quick brown fox jumps over the lazy dog.",))])
    assert warned(report, "single sentence")
    assert warned(report, "tiny")
    assert not report.nsp_possible


def test_one_word_repeated_is_pointed_out(tmp_path):
    report = examine_files([written(tmp_path, "one.txt", "word " * 20_000)])
    assert warned(report, "only 1 different token, repeated")
    assert report.unigram_entropy == pytest.approx(0, abs=1e-9)


def test_repeated_sentences_are_pointed_out():
    report = examine([*prose(40, 5), *prose(40, 5)])
    assert warned(report, "50% of the sentences repeat")


def test_the_share_of_repeated_sentences_is_estimated_in_bounded_memory(monkeypatch):
    monkeypatch.setattr("bertviz_lab.data.corpora.health._MAX_CHECKSUMS", 500)
    assert warned(examine([*prose(400, 5), *prose(400, 5)]), "5")
    assert not warned(examine(prose(800, 5)), "repeat an earlier")


def test_sentences_beyond_the_sequence_length_are_pointed_out():
    assert warned(examine(prose(100, 5), seq_len=10), "do not fit into 10 tokens")


def test_unreadable_characters_are_pointed_out(tmp_path):
    raw = "Größe und Straße. ".encode() * 300 + b"\xff\n" + "Noch einmal größer.\n".encode() * 300
    report = examine_files([written(tmp_path, "mixed.txt", raw)])
    assert warned(report, '1 character could not be read in "mixed.txt"')


def test_a_cut_sentence_is_pointed_out(tmp_path):
    path = written(tmp_path, "long.txt", "A short one. " + "and on " * 2_500 + "it goes.")
    assert warned(examine_files([path]), "1 sentence has more than 160 words: the lab cuts it into parts.")


def test_rows_and_files_that_were_left_out_are_pointed_out(tmp_path):
    written(tmp_path, "a.csv", "id,text\n1,these are some words of a row\n2,\n3,a row of many more words,x\n")
    written(tmp_path, "b.txt", b"\x89PNG\r\n\x1a\n")
    report = examine_files([tmp_path])
    assert warned(report, "1 rows of")
    assert warned(report, "more or fewer cells")
    assert warned(report, "PNG")


# What cannot be trained on


@pytest.mark.parametrize("documents", [[], [Document("a", ())], [Document("a", ("Hi.",))], [Document("a", ("!",))]])
def test_a_text_with_nothing_to_learn_is_refused(documents):
    with pytest.raises(InputError, match="at least a few sentences"):
        examine(documents)


def test_a_text_of_unknown_characters_alone_is_refused():
    tokenizer = Tokenizer.train(["abc abc abd"] * 10, vocab_size=50)
    with pytest.raises(InputError, match="another tokenizer"):
        examine([Document("a", ("我是学生。你好！再见？",) * 20)], tokenizer=tokenizer)


@pytest.mark.parametrize("text", ["我是学生。你好！再见？" * 20, "مرحبا بالعالم. كيف حالك؟ " * 20, "😀 🎉 🚀. " * 20])
def test_any_script_can_be_examined(tmp_path, text):
    report = examine_files([written(tmp_path, "a.txt", text)])
    assert report.unk_rate == 0
    assert report.tokens >= 60


# Speed


@pytest.mark.slow
def test_a_page_upload_is_examined_within_three_seconds(shared_data):
    start = time.process_time()  # not the clock on the wall: tests share their machine
    report = examine_files([shared_data / "wiki_en" / "valid.txt"])
    assert time.process_time() - start < 3
    assert report.documents == 451
    assert report.warnings == ()
    assert report.unk_rate < 0.01
    assert 6 < report.unigram_entropy < 8


def test_reading_is_described_file_by_file(tmp_path):
    paths = [written(tmp_path, f"{n}.txt", PROSE * 3) for n in range(25)]
    report = examine_files(paths)
    assert report.reading[0].startswith('"0.txt" was read as utf-8.')
    assert report.reading[-1] == "5 more files were read."
