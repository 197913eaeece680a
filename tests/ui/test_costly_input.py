"""Costly files, models and questions against a running shared page: one sentence each, and nobody else waits."""

import json
import threading
import time
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bertviz_lab import save_checkpoint
from bertviz_lab.config.limits import Limits
from tests.little import little_checkpoint, little_folder
from tests.ui.form_client import FormClient
from tests.ui.pages import little_settings, serve

_NEIGHBOUR_SECONDS = 10.0
_MOST_GROWTH = 1_500_000_000


class Neighbour:
    """Asks fill-mask all the while, and watches the memory of the page's process."""

    def __init__(self, address: str) -> None:
        self.slowest, self.wrong, self.answers = 0.0, [], 0
        self.before = self.most = psutil.Process().memory_info().rss
        self._client, self._done = FormClient(address), threading.Event()
        self._threads = [threading.Thread(target=work) for work in (self._ask, self._watch)]

    def __enter__(self) -> "Neighbour":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        for thread in self._threads:
            thread.join()
        self._client.close()

    def _ask(self) -> None:
        while not self._done.is_set():
            start = time.monotonic()
            answer = self._client.call("fill_mask", "the red [MASK] sat", "little", 3)
            self.slowest = max(self.slowest, time.monotonic() - start)
            self.answers += 1
            if len(answer.get("masks", ())) != 1:
                self.wrong.append(answer)
            self._done.wait(0.3)

    def _watch(self) -> None:
        while not self._done.wait(0.02):
            self.most = max(self.most, psutil.Process().memory_info().rss)


def parquet_of_long_lists(folder: Path) -> Path:
    """Two kilobytes that hold 3,000 lists of 2,000 words."""
    words = pa.array([["w" * 50] * 2000]).take(pa.nulls(3000, pa.int32()).fill_null(0))
    pq.write_table(pa.table({"text": words, "label": pa.array(["a", "b"] * 1500)}), folder / "lists.parquet")
    return folder / "lists.parquet"


def parquet_of_many_rows(folder: Path) -> Path:
    """A hundred kilobytes that hold twenty million rows."""
    zeros = pa.nulls(20_000_000, pa.int32()).fill_null(0)
    column = pa.DictionaryArray.from_arrays(zeros, pa.array(["a word"]))
    pq.write_table(pa.table({"text": column, "label": column}), folder / "rows.parquet", row_group_size=20_000_000)
    return folder / "rows.parquet"


def squad_of_one_passage(folder: Path) -> Path:
    """Two megabytes in which 20,000 answers have to be searched for."""
    questions = [
        {"id": str(n), "question": "q?", "answers": [{"text": "zzz", "answer_start": n}]} for n in range(20_000)
    ]
    body = {"data": [{"paragraphs": [{"context": "a b " * 100_000, "qas": questions}]}]}
    (folder / "squad.json").write_text(json.dumps(body))
    return folder / "squad.json"


def table_of_a_million_columns(folder: Path) -> Path:
    header = ",".join(f"c{n}" for n in range(10**6))
    (folder / "wide.csv").write_text(f"{header}\n{','.join(['abc'] * 10**6)}\n")
    return folder / "wide.csv"


def zip_of_repeated_text(folder: Path) -> Path:
    """A few megabytes that unpack to half a gigabyte."""
    with zipfile.ZipFile(folder / "bomb.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for number in range(6):
            archive.writestr(f"{number}.txt", b"the cat sat on the mat. " * 4_000_000)
    return folder / "bomb.zip"


FILES = {
    parquet_of_long_lists: ("memory to read", "more text than is read at once"),
    parquet_of_many_rows: ("memory to read", "more than are read"),
    squad_of_one_passage: ("none of its answers is in the passage", "takes more than"),
    table_of_a_million_columns: ("more than 1,000 cells", "takes more than"),
    zip_of_repeated_text: ("unpacks to 576 MB",),
}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A shared page that opens any hub model, with a hub's cache that a test fills."""
    folder = tmp_path_factory.mktemp("page")
    limits = replace(Limits.of(shared=True, given={"hub": "open"}), worker_bytes=700_000_000, worker_seconds=5.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADIO_TEMP_DIR", str(folder / "uploads"))
        patch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(folder / "hub"))
        patch.setattr("huggingface_hub.snapshot_download", _cached_in(folder / "hub"))
        with serve(replace(little_settings(folder), limits=limits)) as (address, _):
            yield address, folder


def _cached_in(cache: Path) -> Any:
    from huggingface_hub import snapshot_download

    return lambda *args, **options: snapshot_download(*args, cache_dir=cache, **options)


@pytest.mark.parametrize("make", FILES, ids=lambda make: make.__name__)
def test_a_costly_file_is_refused_in_a_sentence_and_nobody_else_waits(make, page, tmp_path):
    address, _ = page
    visitor, path = FormClient(address), make(tmp_path)
    file = visitor.upload(path)
    with Neighbour(address) as neighbour:
        start = time.monotonic()
        if path.suffix == ".zip":
            shown = visitor.ask("pretrain", "check", source="own", files=[file], values={})
        else:
            shown = visitor.ask("finetune", "check", source="own", files=[file], scored=[], values={})
        seconds = time.monotonic() - start
    visitor.close()
    assert any(sentence in str(shown) for sentence in FILES[make]), shown
    assert seconds < 60
    assert not neighbour.wrong
    assert neighbour.slowest < _NEIGHBOUR_SECONDS
    assert neighbour.most - neighbour.before < _MOST_GROWTH


def hub_model(folder: Path, name: str) -> Path:
    """Where the files of a model that was downloaded lie."""
    repository = folder / "hub" / f"models--someone--{name}"
    (repository / "refs").mkdir(parents=True, exist_ok=True)
    (repository / "refs" / "main").write_text("0" * 40)
    return repository / "snapshots" / ("0" * 40)


def claims_a_large_model(folder: Path) -> None:
    path = little_folder(folder) / "config.json"
    claims = {"hidden_size": 4096, "intermediate_size": 16384, "num_hidden_layers": 24, "num_attention_heads": 16}
    path.write_text(json.dumps(json.loads(path.read_text()) | claims))


def has_a_slow_expression(folder: Path) -> None:
    path = little_folder(folder) / "tokenizer.json"
    slow = {"type": "Replace", "pattern": {"Regex": "(a|aa)+$"}, "content": ""}
    path.write_text(json.dumps(json.loads(path.read_text()) | {"normalizer": slow}))


def has_a_broken_tokenizer(folder: Path) -> None:
    path = little_folder(folder) / "tokenizer.json"
    state = json.loads(path.read_text())
    state["post_processor"]["single"] = [{"Sequence": {"id": "A", "type_id": 10**30}}]
    path.write_text(json.dumps(state))


def has_many_positions(folder: Path) -> None:
    save_checkpoint(little_checkpoint(max_position_embeddings=60_000), folder)


MODELS = {
    claims_a_large_model: "has shape",
    has_a_slow_expression: "regular expression",
    has_a_broken_tokenizer: "is not a tokenizer that can be read",
    has_many_positions: r"tokens, and this page takes up to 512",
}


@pytest.mark.parametrize("make", MODELS, ids=lambda make: make.__name__)
def test_a_costly_model_is_refused_in_a_sentence_and_nobody_else_waits(make, page):
    address, folder = page
    make(hub_model(folder, make.__name__))
    visitor = FormClient(address)
    with Neighbour(address) as neighbour:
        start = time.monotonic()
        answer = visitor.call("attention", "a " * 5_000, "", f"someone/{make.__name__}")
        seconds = time.monotonic() - start
    visitor.close()
    assert MODELS[make] in str(answer), str(answer)[:500]
    assert seconds < 30
    assert not neighbour.wrong
    assert neighbour.slowest < _NEIGHBOUR_SECONDS
    assert neighbour.most - neighbour.before < _MOST_GROWTH
