"""The cache of prepared texts: bounded, safe to share, and never in a run's way."""

import errno
import os
import shutil
import time
from pathlib import Path

import pytest

from bertviz_lab.training.pretraining import corpus_cache
from tests.training.support import short_run, write_text


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
    corpus_cache.keep("key", run_folder(tmp_path / "one", "a"))
    assert (cache_folder / "texts").stat().st_mode & 0o077 == 0
    assert corpus_cache.take("key", tmp_path / "two")
    assert texts(tmp_path / "two") == texts(tmp_path / "one")
    assert not corpus_cache.take("another", tmp_path / "three")
    assert not (tmp_path / "three").exists()


def test_the_ids_are_links_where_that_is_possible_and_copies_elsewhere(tmp_path, monkeypatch):
    corpus_cache.keep("key", run_folder(tmp_path / "one", "a"))
    corpus_cache.take("key", tmp_path / "two")
    assert (tmp_path / "two/corpus/ids.bin").samefile(tmp_path / "one/corpus/ids.bin")
    assert not (tmp_path / "two/tokenizer/tokenizer.json").samefile(tmp_path / "one/tokenizer/tokenizer.json")

    def other_device(*names):
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", other_device)
    assert corpus_cache.take("key", tmp_path / "three")
    assert texts(tmp_path / "three") == texts(tmp_path / "one")
    assert not (tmp_path / "three/corpus/ids.bin").samefile(tmp_path / "one/corpus/ids.bin")


def test_a_text_that_is_not_whole_is_not_taken(tmp_path, cache_folder):
    corpus_cache.keep("key", run_folder(tmp_path / "one", "a"))
    kept = cache_folder / "texts" / "key"
    os.truncate(shutil.copy(kept / "corpus/ids.bin", tmp_path / "half"), 10)
    os.replace(tmp_path / "half", kept / "corpus/ids.bin")
    assert not corpus_cache.take("key", tmp_path / "two")
    (kept / "corpus/ids.bin").unlink()
    assert not corpus_cache.take("key", tmp_path / "two")
    (kept / "entry.json").write_text("{")
    assert not corpus_cache.take("key", tmp_path / "two")
    corpus_cache.keep("key", tmp_path / "one")
    assert corpus_cache.take("key", tmp_path / "two")


def test_leftovers_of_a_full_disk_and_of_killed_processes_go(tmp_path, cache_folder, monkeypatch):
    def full(source, target):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(corpus_cache, "_put", full)
        corpus_cache.keep("key", run_folder(tmp_path / "one", "a"))
    assert list((cache_folder / "texts").iterdir()) == []
    old, new = cache_folder / "texts" / ".key-old1", cache_folder / "texts" / ".key-new1"
    for folder, age in ((old, 100_000), (new, 10)):
        folder.mkdir(parents=True)
        os.utime(folder, (time.time() - age,) * 2)
    corpus_cache.keep("key", run_folder(tmp_path / "one", "a"))
    assert sorted(path.name for path in (cache_folder / "texts").iterdir()) == [".key-new1", "key"]


def test_the_texts_not_used_for_longest_go_when_there_are_too_many(tmp_path, cache_folder, monkeypatch):
    size = sum(len(text) for text in texts(run_folder(tmp_path / "x", "x")))
    monkeypatch.setattr(corpus_cache, "MOST_BYTES", 3 * size + 400)
    for number, key in enumerate("abc"):
        corpus_cache.keep(key, run_folder(tmp_path / key, key))
        os.utime(cache_folder / "texts" / key / "entry.json", (number, number))
    assert corpus_cache.take("a", tmp_path / "again")  # now b is the one not used for longest
    corpus_cache.keep("d", run_folder(tmp_path / "d", "d"))
    assert sorted(path.name for path in (cache_folder / "texts").iterdir()) == ["a", "c", "d"]


def test_the_cache_lies_where_the_system_keeps_such_things(tmp_path, monkeypatch):
    monkeypatch.delenv("BERTVIZ_LAB_CACHE")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(corpus_cache.sys, "platform", "linux")
    assert corpus_cache.cache_folder() == tmp_path / ".cache/bertviz_lab/texts"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
    assert corpus_cache.cache_folder() == tmp_path / "elsewhere/bertviz_lab/texts"
    monkeypatch.setattr(corpus_cache.sys, "platform", "darwin")
    assert corpus_cache.cache_folder() == tmp_path / "Library/Caches/bertviz_lab/texts"


def test_it_can_be_done_without(tmp_path, monkeypatch):
    config = short_run(write_text(tmp_path / "text.txt"))
    assert corpus_cache.text_key(config)
    monkeypatch.setenv("BERTVIZ_LAB_CACHE", "none")
    assert corpus_cache.text_key(config) is None
    corpus_cache.keep("key", run_folder(tmp_path / "one", "a"))
    assert not corpus_cache.take("key", tmp_path / "two")


@pytest.mark.parametrize("text", ["sample:tiny-town", "dataset:wikitext"])
def test_samples_and_the_hub_are_read_anew(text):
    assert corpus_cache.text_key(short_run(text)) is None
