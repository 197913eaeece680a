"""Tokenizers of strangers: known stages only, no regular expressions of their own, tried before they are used."""

import json
from functools import partial
from pathlib import Path

import pytest

from bertviz_lab import InputError, Tokenizer
from bertviz_lab.confined import Confinement, run_confined
from bertviz_lab.tokenization.tokenizer import try_tokenizer
from tests.little import little_tokenizer

SPLIT = {"type": "Split", "pattern": {"Regex": "(a|aa)+$"}, "behavior": "Isolated", "invert": False}
CATASTROPHIC = {"type": "Replace", "pattern": {"Regex": "(a+)+$"}, "content": ""}


def saved(folder: Path, **changes: object) -> Path:
    """The little tokenizer with parts of its tokenizer.json replaced."""
    little_tokenizer().save(folder)
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    return folder


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"normalizer": CATASTROPHIC}, "regular expression"),
        ({"normalizer": {"type": "Sequence", "normalizers": [{"type": "Lowercase"}, CATASTROPHIC]}}, "regular expr"),
        ({"pre_tokenizer": SPLIT}, "regular expression"),
        ({"decoder": {"type": "Replace", "pattern": {"Regex": "(x*)*y"}, "content": ""}}, "regular expression"),
        ({"normalizer": {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}}, "longer text"),
        ({"normalizer": {"type": "Prepend", "prepend": "a" * 100}}, "longer text"),
        ({"normalizer": {"type": "Lua"}}, "stage 'Lua'"),
    ],
    ids=["normalizer", "in a sequence", "split", "decoder", "growing", "prepending", "unknown"],
)
def test_a_stage_that_could_freeze_the_page_is_refused_at_once(changes, reason, tmp_path):
    with pytest.raises(InputError, match=reason):
        Tokenizer.load(saved(tmp_path, **changes))


def test_words_of_any_length_are_refused_because_wordpiece_is_quadratic(tmp_path):
    model = json.loads(little_tokenizer().backend.to_str())["model"]
    with pytest.raises(InputError, match="more than 1,000 characters"):
        Tokenizer.load(saved(tmp_path, model=model | {"max_input_chars_per_word": 10**6}))


def test_a_file_larger_than_any_tokenizer_is_not_read(tmp_path):
    saved(tmp_path)
    with (tmp_path / "tokenizer.json").open("ab") as file:
        file.truncate(60_000_000)
    with pytest.raises(InputError, match="60 MB: no tokenizer of BERT has that many"):
        Tokenizer.load(tmp_path)


@pytest.mark.parametrize(
    "stage",
    [
        {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
        {"type": "Replace", "pattern": {"String": "``"}, "content": '"'},
        {"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Lowercase"}]},
    ],
    ids=["spaces", "quotes", "sequence"],
)
def test_stages_of_published_pipelines_are_welcome(stage, tmp_path):
    assert Tokenizer.load(saved(tmp_path, normalizer=stage)).encode("the  cat").tokens


def test_texts_of_the_worst_shapes_are_tried_in_a_confined_process(tmp_path):
    limits = Confinement(memory_bytes=1_000_000_000, seconds=20)
    assert run_confined(partial(try_tokenizer, saved(tmp_path)), limits) == little_tokenizer().vocab_size
