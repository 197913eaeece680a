"""What a pretraining prepares before its first step, once or while it trains on what it reads."""

import errno
import json
import os
import shutil
import threading
import time
from pathlib import Path

import pytest

from bertviz_lab.config import PretrainConfig
from bertviz_lab.data.corpora.read import read_documents
from bertviz_lab.data.documents import Document
from bertviz_lab.data.pretraining import streaming
from bertviz_lab.data.pretraining.tokenized_corpus import TokenizedCorpus
from bertviz_lab.errors import InputError
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.training.pretraining import corpus_cache
from bertviz_lab.training.pretraining import prepare as module
from bertviz_lab.training.pretraining.prepare import PreparationStoppedError, left_out_files, prepare
from bertviz_lab.training.runs.events import EvalDone, Preparing, RunFinished, StepDone
from tests.training.support import after, finish, identical, short_run, started, weights, write_text


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
        ("tokenize", "read_sentence_cache", lambda *a: endless("The cat sat on the mat.")),
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


def run_folder(folder: Path, mark: str, size: int = 100) -> Path:
    """What `prepare` leaves in a run's folder, as far as the cache looks at it."""
    for name in ("corpus/ids.bin", "corpus/corpus.json", "tokenizer/tokenizer.json"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(mark * size)
    return folder


def texts(folder: Path) -> list[str]:
    return [
        (folder / name).read_text() for name in ("corpus/ids.bin", "corpus/corpus.json", "tokenizer/tokenizer.json")
    ]


def test_what_is_kept_is_the_person_s_alone_and_is_taken_whole(tmp_path, cache_folder):
    corpus_cache.keep(cache_folder / "texts" / "key", run_folder(tmp_path / "one", "a"))
    assert (cache_folder / "texts").stat().st_mode & 0o077 == 0
    assert corpus_cache.take(cache_folder / "texts" / "key", tmp_path / "two")
    assert texts(tmp_path / "two") == texts(tmp_path / "one")
    assert not corpus_cache.take(cache_folder / "texts" / "another", tmp_path / "three")
    assert not (tmp_path / "three").exists()


def test_the_ids_are_links_where_that_is_possible_and_copies_elsewhere(tmp_path, cache_folder, monkeypatch):
    corpus_cache.keep(cache_folder / "texts" / "key", run_folder(tmp_path / "one", "a"))
    corpus_cache.take(cache_folder / "texts" / "key", tmp_path / "two")
    assert (tmp_path / "two/corpus/ids.bin").samefile(tmp_path / "one/corpus/ids.bin")
    assert not (tmp_path / "two/tokenizer/tokenizer.json").samefile(tmp_path / "one/tokenizer/tokenizer.json")

    def other_device(*names):
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", other_device)
    assert corpus_cache.take(cache_folder / "texts" / "key", tmp_path / "three")
    assert texts(tmp_path / "three") == texts(tmp_path / "one")
    assert not (tmp_path / "three/corpus/ids.bin").samefile(tmp_path / "one/corpus/ids.bin")


def test_a_text_that_is_not_whole_is_not_taken(tmp_path, cache_folder):
    corpus_cache.keep(cache_folder / "texts" / "key", run_folder(tmp_path / "one", "a"))
    kept = cache_folder / "texts" / "key"
    os.truncate(shutil.copy(kept / "corpus/ids.bin", tmp_path / "half"), 10)
    os.replace(tmp_path / "half", kept / "corpus/ids.bin")
    assert not corpus_cache.take(cache_folder / "texts" / "key", tmp_path / "two")
    (kept / "corpus/ids.bin").unlink()
    assert not corpus_cache.take(cache_folder / "texts" / "key", tmp_path / "two")
    (kept / "entry.json").write_text("{")
    assert not corpus_cache.take(cache_folder / "texts" / "key", tmp_path / "two")
    corpus_cache.keep(cache_folder / "texts" / "key", tmp_path / "one")
    assert corpus_cache.take(cache_folder / "texts" / "key", tmp_path / "two")


def test_leftovers_of_a_full_disk_and_of_killed_processes_go(tmp_path, cache_folder, monkeypatch):
    def full(source, target):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(corpus_cache, "_put", full)
        corpus_cache.keep(cache_folder / "texts" / "key", run_folder(tmp_path / "one", "a"))
    assert list((cache_folder / "texts").iterdir()) == []
    old, new = cache_folder / "texts" / ".key-old1", cache_folder / "texts" / ".key-new1"
    for folder, age in ((old, 100_000), (new, 10)):
        folder.mkdir(parents=True)
        os.utime(folder, (time.time() - age,) * 2)
    corpus_cache.keep(cache_folder / "texts" / "key", run_folder(tmp_path / "one", "a"))
    assert sorted(path.name for path in (cache_folder / "texts").iterdir()) == [".key-new1", "key"]


def test_the_texts_not_used_for_longest_go_when_there_are_too_many(tmp_path, cache_folder, monkeypatch):
    size = sum(len(text) for text in texts(run_folder(tmp_path / "x", "x")))
    monkeypatch.setattr(corpus_cache, "MOST_BYTES", 3 * size + 400)
    for number, key in enumerate("abc"):
        corpus_cache.keep(cache_folder / "texts" / key, run_folder(tmp_path / key, key))
        os.utime(cache_folder / "texts" / key / "entry.json", (number, number))
    assert corpus_cache.take(cache_folder / "texts" / "a", tmp_path / "again")  # now b is the one not used for longest
    corpus_cache.keep(cache_folder / "texts" / "d", run_folder(tmp_path / "d", "d"))
    assert sorted(path.name for path in (cache_folder / "texts").iterdir()) == ["a", "c", "d"]


def test_the_cache_lies_where_the_system_keeps_such_things(tmp_path, monkeypatch):
    monkeypatch.delenv("BERTVIZ_LAB_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert corpus_cache.cache_folder() == tmp_path / ".cache/bertviz_lab/texts"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
    assert corpus_cache.cache_folder() == tmp_path / "elsewhere/bertviz_lab/texts"


def test_it_can_be_done_without(tmp_path, monkeypatch):
    config = short_run(write_text(tmp_path / "text.txt"))
    assert corpus_cache.place_of(config)
    monkeypatch.setenv("BERTVIZ_LAB_CACHE", "none")
    assert corpus_cache.place_of(config) is None


@pytest.mark.parametrize("text", ["sample:tiny-town", "dataset:wikitext"])
def test_samples_and_the_hub_are_read_anew(text):
    assert corpus_cache.place_of(short_run(text)) is None


@pytest.fixture
def rows(tmp_path: Path) -> str:
    """Forty documents as rows, in two files."""
    folder = tmp_path / "rows"
    folder.mkdir()
    documents = write_text(tmp_path / "text.txt").read_text().strip().split("\n\n")
    for name, part in (("a", documents[:25]), ("b", documents[25:])):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in part))
    return f"dataset:{folder}"


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some seven documents each, so that a dozen steps read several, and begin again."""
    monkeypatch.setattr(streaming.ChunkReader.__init__, "__defaults__", (0, None, 1_200))


def streamed(rows: str, **changes) -> PretrainConfig:
    options = {"streaming": True, "held_out_documents": 5, "documents": "auto"}
    return short_run(Path(), **(options | {"corpus": (rows,)} | changes))


def test_a_run_trains_without_a_copy_of_its_text(rows, tmp_path):
    events = finish(streamed(rows), tmp_path / "run")
    assert isinstance(events[-1], RunFinished)
    assert events[-1].step == 12
    assert any("first 5 documents are held out" in note for note in started(events).notes)
    assert any("begin as word vectors" in note for note in started(events).notes)
    assert started(events).objective == "mlm+nsp"
    scores = [event.metrics for event in events if isinstance(event, EvalDone)][-1]
    assert scores.keys() >= {"mlm_loss", "nsp_accuracy"}
    copied = sum(path.stat().st_size for path in (tmp_path / "run" / "corpus").iterdir() if path.suffix == ".bin")
    assert copied < 2_000, "the held-out documents only"
    assert "streamed; held out: 5 documents" in (tmp_path / "run" / "model" / "README.md").read_text()


@pytest.mark.parametrize("stop", [1, 9])
def test_a_resumed_run_is_bit_for_bit_that_of_an_uninterrupted_one(rows, tmp_path, stop):
    settings = streamed(rows)  # it changes its sequence length on its way
    whole = finish(settings, tmp_path / "whole")
    finish(settings, tmp_path / "parts", after(stop))
    rest = finish(settings, tmp_path / "parts", resume=True)
    assert started(rest).step in (stop, stop + 1)
    assert identical(weights(tmp_path / "whole" / "model"), weights(tmp_path / "parts" / "model"))
    losses = {event.step: event.loss for event in whole if isinstance(event, StepDone)}
    assert all(losses[event.step] == event.loss for event in rest if isinstance(event, StepDone) and event.step < 4)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"corpus": ("book.txt",)}, r"Parquet or JSONL file"),
        ({"corpus": ("dataset:a", "dataset:b")}, r"reads one data set"),
        ({"documents": "file"}, r"each row is a document"),
        ({"masking": "static"}, r"choose dynamic"),
    ],
)
def test_settings_that_streaming_has_not_are_refused(changes, sentence):
    with pytest.raises(InputError, match=sentence):
        streamed("dataset:a", **changes)
