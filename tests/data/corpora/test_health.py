"""The report on a text before training: true counts, the [UNK] rate, and a warning for each thing that is wrong."""

import math
import random
from collections import Counter

import pytest

from bertviz_lab.data.corpora.health import examine, examine_files
from bertviz_lab.data.corpora.health_report import HealthReport
from bertviz_lab.data.documents import Document
from bertviz_lab.errors import InputError
from bertviz_lab.tokenization import Tokenizer
from tests.data.support import written

WORDS = "time year people way day man thing woman life child world school state family student group country".split()


def prose(documents: int, sentences: int, seed: int = 0) -> list[Document]:
    """Documents of random sentences, hardly any of them alike."""
    rng = random.Random(seed)
    return [
        Document(str(d), tuple(" ".join(rng.choices(WORDS, k=12)).capitalize() + "." for _ in range(sentences)))
        for d in range(documents)
    ]


def report_on(documents, **options) -> HealthReport:
    return examine(documents, **options)[0]


def warned(report: HealthReport, part: str) -> bool:
    return any(part in warning for warning in report.warnings)


@pytest.fixture(scope="module")
def examined() -> tuple[HealthReport, Tokenizer]:
    return examine(prose(300, 8), vocab_size=300)


@pytest.fixture(scope="module")
def healthy(examined) -> HealthReport:
    return examined[0]


@pytest.fixture(scope="module")
def tokenizer(examined) -> Tokenizer:
    return examined[1]


def test_counts_are_those_of_the_whole_text(healthy, tokenizer):
    sentences = [s for d in prose(300, 8) for s in d.sentences]
    assert (healthy.documents, healthy.sentences, healthy.pairs) == (300, 2_400, 2_100)
    assert (healthy.words, healthy.longest_sentence) == (12 * 2_400, 12)
    assert healthy.characters == sum(map(len, sentences))
    assert healthy.tokens == sum(map(len, tokenizer.ids(sentences)))
    assert healthy.nsp_possible
    assert not healthy.tokens_estimated
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


def test_frequent_tokens_of_byte_level_bpe_are_listed_in_their_script():
    hindi = [Document(str(d), ("राम घर गया।", "सीता घर आई।")) for d in range(50)]
    assert "घर" in [token for token, _ in report_on(hindi, vocab_size=400, algorithm="bpe").frequent]


def test_parts_of_one_document_count_as_one():
    first, second, other = prose(3, 50)
    report = report_on([first, Document("0", second.sentences, continues=True), other])
    assert (report.documents, report.pairs) == (2, 99 + 49)


def test_a_text_beyond_the_sample_has_its_tokens_estimated(monkeypatch):
    documents = prose(300, 8)
    whole, tokenizer = examine(documents)
    monkeypatch.setattr("bertviz_lab.data.corpora.health._SAMPLE_CHARACTERS", 40_000)
    part = report_on(documents, tokenizer=tokenizer)
    assert part.tokens_estimated
    assert part.tokens == pytest.approx(whole.tokens, rel=0.02)
    assert (part.documents, part.sentences, part.words) == (whole.documents, whole.sentences, whole.words)


def test_the_tokenizer_is_learnt_without_the_held_out_documents():
    documents = prose(100, 3)
    marked = [Document(d.name, (*d.sentences, "Ω Ω Ω.")) if n % 10 == 9 else d for n, d in enumerate(documents)]
    report, tokenizer = examine(marked)
    assert tokenizer.id("ω") is None
    assert report.unk_rate == pytest.approx(30 / sum(map(len, tokenizer.ids(_held_out(marked)))))
    assert warned(report, 'tokens lacks, such as "Ω"')


def _held_out(documents: list[Document]) -> list[str]:
    return [s for n, d in enumerate(documents) if n % 10 == 9 for s in d.sentences]


def test_a_given_tokenizer_is_used_and_bpe_meets_no_unknown_token():
    tokenizer = Tokenizer.train(["time year people. Way."] * 10, vocab_size=100)
    report, used = examine(prose(20, 3), tokenizer=tokenizer)
    assert used is tokenizer
    assert report.vocab_size == tokenizer.vocab_size
    assert report.unk_rate > 0.5
    assert warned(report, "characters that the given tokenizer lacks, such as")
    report, tokenizer = examine(prose(20, 3), algorithm="bpe", vocab_size=400)
    assert (report.unk_rate, tokenizer.algorithm) == (0, "bpe")


def test_runs_without_spaces_are_named_as_the_cause_of_unknown_tokens():
    documents = [Document("a", ("The cat sat on the mat here.", "ab" * 60, "The dog ran home."))] * 40
    assert warned(report_on(documents), "Most are runs of more than 100 characters without a space")


ONE = [Document("a", ("The quick brown fox jumps over the lazy dog.",))]


@pytest.mark.parametrize(
    ("documents", "seq_len", "nsp_possible", "warnings"),
    [
        (prose(1, 500), 128, False, ["one document", "trains MLM only"]),
        (prose(500, 1), 128, False, ["Every document is a single sentence"]),
        ([*prose(500, 1), *prose(5, 5)], 128, True, ["Nearly all of the documents are a single sentence"]),
        (ONE, 128, False, ["single sentence", "tiny"]),
        ([*prose(40, 5), *prose(40, 5)], 128, True, ["50% of the sentences repeat"]),
        (prose(100, 5), 10, True, ["do not fit into 10 tokens"]),
    ],
)
def test_what_does_not_suit_training_is_pointed_out(documents, seq_len, nsp_possible, warnings):
    report = report_on(documents, seq_len=seq_len)
    assert report.nsp_possible is nsp_possible
    assert all(warned(report, warning) for warning in warnings)


@pytest.mark.parametrize("between", ["\n", "\n\n", "\n\n\n"], ids=["lines", "blank lines", "two blank lines"])
def test_the_advice_on_a_single_document_gives_more_of_them(tmp_path, between):
    articles = [between.join(document.sentences) for document in prose(2, 30)]
    report = examine_files([written(tmp_path, "joined.txt", "\n\n\n\n".join(articles))])
    assert report.documents == 2
    assert warned(report_on(prose(1, 60)), "three blank lines between articles")


@pytest.mark.parametrize(
    ("content", "warning"),
    [
        ("word " * 20_000, "only 1 different token, repeated"),
        ("A short one. " + "and on " * 2_500 + "it goes.", "1 sentence has more than 160 words: the lab cuts it into"),
        ("Größe, Straße. ".encode() * 300 + b"\xff\n" + "Größer.\n".encode() * 300, "1 character could not be read"),
    ],
)
def test_what_is_wrong_with_a_file_is_pointed_out(content, warning, tmp_path):
    assert warned(examine_files([written(tmp_path, "a.txt", content)]), warning)


def test_the_share_of_repeated_sentences_is_estimated_in_bounded_memory(monkeypatch):
    monkeypatch.setattr("bertviz_lab.data.corpora.health._MAX_CHECKSUMS", 500)
    assert warned(report_on([*prose(400, 5), *prose(400, 5)]), "5")
    assert not warned(report_on(prose(800, 5)), "repeat an earlier")


@pytest.mark.parametrize("documents", [[], [Document("a", ())], [Document("a", ("Hi.",))], [Document("a", ("!",))]])
def test_a_text_with_nothing_to_learn_is_refused(documents):
    with pytest.raises(InputError, match="at least a few sentences"):
        report_on(documents)
