"""From a text to token ids: what is learnt, what is told meanwhile, and what a second run need not do again."""

import json
import threading
import time

import pytest

from bertviz_lab.data.corpora.read import read_documents
from bertviz_lab.data.documents import Document
from bertviz_lab.data.pretraining.tokenized_corpus import TokenizedCorpus
from bertviz_lab.errors import InputError
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.training.pretraining import prepare as module
from bertviz_lab.training.pretraining.prepare import PreparationStoppedError, left_out_files, prepare
from bertviz_lab.training.runs.events import Preparing
from tests.training.support import short_run, write_text


def prepared(config, folder) -> list[Preparing]:
    folder.mkdir(parents=True, exist_ok=True)
    return list(prepare(config, folder))


def contents(folder) -> dict[str, bytes]:
    parts = [path for part in ("corpus", "tokenizer") for path in (folder / part).iterdir()]
    return {path.name: path.read_bytes() for path in parts}


def stages(events: list[Preparing]) -> list[str]:
    return list(dict.fromkeys(event.stage for event in events))


@pytest.fixture
def config(tmp_path):
    return short_run(write_text(tmp_path / "text.txt"))


def test_the_corpus_holds_the_text_in_the_ids_of_its_tokenizer(config, tmp_path):
    prepared(config, tmp_path / "run")
    corpus = TokenizedCorpus.open(tmp_path / "run" / "corpus")
    tokenizer = Tokenizer.load(tmp_path / "run" / "tokenizer")
    sentences = [s for document in read_documents(config.corpus, documents="blank-line") for s in document.sentences]
    assert corpus.documents == 40
    assert corpus.ids.tolist() == [i for ids in tokenizer.ids(sentences) for i in ids]
    assert json.loads((tmp_path / "run" / "corpus" / "corpus.json").read_text())["tokenizer"] == tokenizer.fingerprint
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["corpus", "tokenizer"]


def test_files_that_are_left_out_are_known_to_the_run_also_from_the_cache(tmp_path):
    folder = tmp_path / "texts"
    folder.mkdir()
    write_text(folder / "a.txt")
    (folder / "b.txt").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(50))
    config = short_run(folder)
    for name in ("first", "cached"):
        events = prepared(config, tmp_path / name)
        (sentence,) = left_out_files(tmp_path / name)
        assert sentence.startswith('A file was left out: "b.txt" is a PNG')
    assert "cached" in events[-1].message
    (folder / "b.txt").unlink()
    prepared(config, tmp_path / "first")
    assert left_out_files(tmp_path / "first") == ()


def test_a_long_stage_tells_how_far_it_is():
    def work(progress):
        progress.report(3, 10)
        time.sleep(1.2)
        return "result"

    results = []

    def stage():
        results.append((yield from module._in_background("read", "Reading", lambda: False, work)))

    assert [(event.done, event.total) for event in stage()] == [(0, 0), (3, 10)]
    assert results == ["result"]


def endless(item, seconds: float = 20.0):
    """The same item again and again, for longer than a test of stopping may take."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield item


def seconds_to_stop(config, folder, stage: str) -> float:
    """Prepare until this stage, let it run for half a second, and stop."""
    folder.mkdir()
    began: list[float] = []

    def until_stopped() -> None:
        for event in prepare(config, folder, lambda: bool(began) and time.monotonic() > began[0] + 0.5):
            if event.stage == stage and event.message != "Checking the corpus":
                began.append(time.monotonic())

    with pytest.raises(PreparationStoppedError):
        until_stopped()
    return time.monotonic() - began[0] - 0.5


SENTENCES = Document("endless", ("The cat sat on the mat.", "A dog looked at the red house.") * 50)


@pytest.mark.parametrize(
    ("stage", "source", "items"),
    [
        ("read", "read_documents", lambda *a, **k: endless(SENTENCES)),
        ("vocabulary", "sample_sentences", lambda *a: endless("The cat sat on the mat.")),
        ("tokenize", "read_sentence_cache", lambda *a: endless(SENTENCES)),
    ],
)
def test_a_stop_is_acted_on_within_two_seconds_at_every_stage(stage, source, items, config, tmp_path, monkeypatch):
    monkeypatch.setattr(module, source, items)
    assert seconds_to_stop(config, tmp_path / "run", stage) < 2
    assert not (tmp_path / "run" / "corpus.txt").exists()
    assert not (tmp_path / "run" / "corpus" / "corpus.json").exists()
    for thread in threading.enumerate():
        if thread.name.startswith("prepare"):
            thread.join(15)  # the tokenizer's library splits what it was given before it looks at the error
            assert not thread.is_alive()


def test_a_given_tokenizer_is_used_and_a_text_larger_than_an_upload_read(config, tmp_path, monkeypatch):
    limits = []
    reading = module.read_documents
    monkeypatch.setattr(module, "read_documents", lambda *a, **k: limits.append(k["max_bytes"]) or reading(*a, **k))
    prepared(config, tmp_path / "one")
    assert limits == [float("inf")]
    given = short_run(tmp_path / "text.txt", tokenizer=str(tmp_path / "one" / "tokenizer"), vocab_size=5_000)
    prepared(given, tmp_path / "two")
    assert contents(tmp_path / "two") == contents(tmp_path / "one")


@pytest.mark.parametrize(("text", "message"), [("", "is empty"), (" \n \n", "holds no words")])
def test_a_text_of_nothing_is_refused_and_leaves_no_spool(text, message, tmp_path):
    (tmp_path / "text.txt").write_text(text)
    with pytest.raises(InputError, match=message):
        prepared(short_run(tmp_path / "text.txt"), tmp_path / "run")
    assert list((tmp_path / "run").iterdir()) == []


def test_a_second_run_takes_what_the_first_one_prepared(config, tmp_path, monkeypatch):
    prepared(config, tmp_path / "one")
    monkeypatch.setattr(module, "read_documents", None)  # nothing is read again
    events = prepared(config, tmp_path / "two")
    assert stages(events) == ["read"]
    assert "from an earlier run" in events[-1].message
    assert contents(tmp_path / "two") == contents(tmp_path / "one")


@pytest.mark.parametrize(
    "changes",
    [{"vocab_size": 100}, {"lowercase": False}, {"algorithm": "bpe", "vocab_size": 300}, {"documents": "file"}],
)
def test_other_settings_prepare_anew(config, changes, tmp_path):
    prepared(config, tmp_path / "one")
    other = short_run(tmp_path / "text.txt", **changes)
    assert stages(prepared(other, tmp_path / "two")) == ["read", "vocabulary", "tokenize"]


def test_preparing_another_text_in_a_folder_does_not_change_what_is_kept(config, tmp_path):
    """The files are links: writing into them would change them everywhere."""
    prepared(config, tmp_path / "one")
    before = contents(tmp_path / "one")
    other = short_run(write_text(tmp_path / "other.txt", documents=10))
    prepared(other, tmp_path / "one")
    assert contents(tmp_path / "one") != before
    prepared(config, tmp_path / "two")
    assert contents(tmp_path / "two") == before


def test_without_a_place_for_the_cache_a_run_goes_on(config, tmp_path, cache_folder):
    cache_folder.rmdir()
    cache_folder.write_text("a file where the folder should be")
    for name in ("one", "two"):
        assert stages(prepared(config, tmp_path / name)) == ["read", "vocabulary", "tokenize"]
