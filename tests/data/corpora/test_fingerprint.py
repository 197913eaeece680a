"""The same text has the same fingerprint, any other another one."""

import json
import os

from bertviz_lab.data.corpora import read as module
from bertviz_lab.data.corpora.read import fingerprint
from tests.data.support import written, zipped


def test_a_copy_under_another_name_is_the_same_text(tmp_path):
    (tmp_path / "upload").mkdir()
    heard: list[tuple[int, int]] = []
    path = written(tmp_path, "a.txt", "x" * 3_000_000)
    first = fingerprint([str(path)], lambda done, total: heard.append((done, total)))
    assert (len(heard), heard[-1]) == (3, (3_000_000, 3_000_000))
    again = written(tmp_path / "upload", "b.txt", path.read_bytes())
    os.utime(again, (1, 1))
    assert fingerprint([again]) == first
    assert len(first) == 32


def test_every_change_of_the_text_shows(tmp_path):
    path = written(tmp_path, "a.txt", "One text. " * 1_000)
    other = written(tmp_path, "b.txt", "Another text.")
    table = written(tmp_path, "a.csv", "One text. " * 1_000)
    seen = [fingerprint(entries) for entries in ([path], [path, other], [other, path], [path, path], [table])]
    path.write_text("One text. " * 999 + "One test. ")
    seen.append(fingerprint([path]))
    assert len(set(seen)) == len(seen)


def test_folders_patterns_and_zips_are_known_by_what_is_in_them(tmp_path):
    (tmp_path / "set").mkdir()
    written(tmp_path / "set", "a.txt", "One text.")
    b = written(tmp_path / "set", "b.txt", "Another text.")
    folder, pattern = fingerprint([tmp_path / "set"]), fingerprint([f"{tmp_path}/set/*"])
    assert folder == pattern
    b.write_text("Changed text.")
    assert fingerprint([tmp_path / "set"]) != folder
    assert fingerprint([zipped(tmp_path, {"a.txt": "x"}, "1.zip")]) != fingerprint(
        [zipped(tmp_path, {"a.txt": "y"}, "2.zip")]
    )


def test_data_sets_are_known_by_their_files_and_what_is_made_anew_or_fetched_by_none(tmp_path):
    (tmp_path / "set").mkdir()
    file = written(tmp_path / "set", "train.jsonl", json.dumps({"text": "One."}))
    names = [f"dataset:{tmp_path / 'set'}", f"dataset:{tmp_path / 'set'}@train", f"dataset:{tmp_path / 'set'}:a"]
    seen = [fingerprint([name]) for name in names]
    file.write_text(json.dumps({"text": "Two."}))
    seen.append(fingerprint(names[:1]))
    assert None not in seen
    assert len(set(seen)) == 4
    path = str(written(tmp_path, "a.txt", "One text."))
    assert fingerprint(["sample:tiny-town", path]) is None
    assert fingerprint(["dataset:wikitext:wikitext-2-raw-v1", path]) is None


def test_a_very_large_file_is_known_without_reading_all_of_it(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_READ_WHOLE", 300_000)
    path = written(tmp_path, "a.txt", "x" * 400_000)
    os.utime(path, (1, 1))
    heard: list[int] = []
    first = fingerprint([path], lambda done, total: heard.append(done))
    assert heard == []
    assert fingerprint([path]) == first
    os.utime(path, (2, 2))
    assert fingerprint([path]) != first
    path.write_text("x" * 399_999 + "y")
    os.utime(path, (1, 1))
    assert fingerprint([path]) != first
