"""Checkpoints that are damaged, claim too much, or are pickles."""

import json
import os
import pickle
import zipfile
from pathlib import Path

import psutil
import pytest
import torch
from safetensors.torch import load_file, save_file

from bertviz_lab.errors import InputError
from bertviz_lab.interpret import fill_mask
from bertviz_lab.training.checkpoints.checkpoint import checkpoint_folder, load_checkpoint
from bertviz_lab.training.checkpoints.pickled_weights import convert_pickle, write_tensors_of
from tests.little import little_folder
from tests.training.support import rewrite_config


def spoil_config(**changes):
    return lambda folder: rewrite_config(folder, **changes)


def remove(name: str):
    return lambda folder: (folder / name).unlink()


def write(name: str, content: bytes):
    return lambda folder: (folder / name).write_bytes(content)


def only_a_pickle(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def drop_a_layer(folder: Path) -> None:
    state = load_file(folder / "model.safetensors")
    kept = {name: tensor for name, tensor in state.items() if "layer.2." not in name}
    save_file(kept, folder / "model.safetensors")


def untie(folder: Path) -> None:
    state = load_file(folder / "model.safetensors")
    save_file(state | {"cls.predictions.decoder.weight": torch.zeros(53, 24)}, folder / "model.safetensors")


def fewer_embeddings(folder: Path) -> None:
    state = load_file(folder / "model.safetensors")
    state["bert.embeddings.word_embeddings.weight"] = state["bert.embeddings.word_embeddings.weight"][:20].clone()
    state["cls.predictions.bias"] = state["cls.predictions.bias"][:20].clone()
    save_file(state, folder / "model.safetensors")
    rewrite_config(folder, vocab_size=20)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (remove("config.json"), "lacks config.json"),
        (remove("model.safetensors"), "lacks model.safetensors"),
        (only_a_pickle, "pytorch_model.bin cannot be opened as weights"),
        (write("config.json", b"{"), "not valid JSON"),
        (write("config.json", b"\xff\xfe\x00"), "not valid JSON"),
        (write("config.json", b"[]"), "does not hold a configuration"),
        (write("model.safetensors", b"\xff" * 100), "model.safetensors is damaged"),
        (write("model.safetensors", b""), "model.safetensors is damaged"),
        (spoil_config(hidden_size=48), "asks for"),
        (spoil_config(vocab_size=60), "asks for"),
        (spoil_config(num_hidden_layers=5), "lack encoder.layer.3"),
        (drop_a_layer, "lack encoder.layer.2"),
        (untie, "not tied"),
        (fewer_embeddings, "tokens but the model has 20 embeddings"),
        (lambda folder: [remove(name)(folder) for name in ("tokenizer.json", "vocab.txt")], "tokenizer.json"),
    ],
)
def test_a_folder_with_something_wrong_gets_one_clear_sentence(spoil, message, folder):
    load_checkpoint(folder)
    spoil(folder)
    with pytest.raises(InputError, match=message) as caught:
        load_checkpoint(folder)
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize(
    "name", ["", "  ", "no/such/folder/here", "../nowhere", "x" * 5_000, "a\0b", "~nobody-of-this-name/x", "<b>&"]
)
def test_a_model_that_is_not_there_gets_one_clear_sentence(name):
    with pytest.raises(InputError) as caught:
        load_checkpoint(name)
    assert len(str(caught.value)) < 400


def test_a_hub_id_that_cannot_be_fetched_gets_one_clear_sentence():
    with pytest.raises(InputError, match="could not be fetched from the hub"):
        load_checkpoint("nobody/no-such-model")


def claiming(folder: Path, **claims: object) -> Path:
    """The little model with other numbers in its config.json."""
    rewrite_config(little_folder(folder), **claims)
    return folder


def resident() -> int:
    return psutil.Process().memory_info().rss


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"hidden_size": 4096, "intermediate_size": 16384, "num_hidden_layers": 24}, "has shape"),
        ({"num_hidden_layers": 500}, "The weights in model lack encoder.layer.2.*and 7965 more"),
        ({"max_position_embeddings": 60_000}, r"position_embeddings.weight has shape \(64, 32\)"),
        ({"vocab_size": 3_000_000}, "word_embeddings.weight has shape"),
        ({"num_hidden_layers": 10**9}, "num_hidden_layers must lie between 1 and 512"),
        ({"hidden_size": 10**7}, "hidden_size must lie between 1 and 32768"),
        ({"max_position_embeddings": 10**12}, "max_position_embeddings must lie between 1 and 1000000"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_config_that_claims_more_than_its_weights_is_refused_by_the_headers(claims, reason, tmp_path):
    folder = claiming(tmp_path / "model", **claims)
    before = resident()
    with pytest.raises(InputError, match=reason):
        load_checkpoint(folder)
    assert resident() - before < 200_000_000


def test_a_model_of_more_bytes_than_are_allowed_is_refused_before_it_is_read(tmp_path):
    folder = little_folder(tmp_path / "model")
    with pytest.raises(
        InputError, match=r"^model has .* kB of weights in 32 bits; this page opens models of up to 1 kB"
    ):
        load_checkpoint(folder, most_bytes=1000)
    assert load_checkpoint(folder, most_bytes=10**6).config.hidden_size == 32


def test_a_head_whose_weights_are_missing_counts_too(tmp_path):
    labels = {str(number): f"label {number}" for number in range(100_000)}
    claims = {"architectures": ["BertForSequenceClassification"], "id2label": labels, "num_labels": len(labels)}
    folder = claiming(tmp_path / "model", **claims)
    state = {name: t for name, t in load_file(folder / "model.safetensors").items() if not name.startswith("cls")}
    save_file(state, folder / "model.safetensors")
    with pytest.raises(InputError, match="MB of weights in 32 bits"):
        load_checkpoint(folder, most_bytes=2_000_000)


def test_tensors_that_the_model_has_no_place_for_are_not_read(tmp_path):
    folder = little_folder(tmp_path / "model")
    surplus = {"adapter.weight": torch.zeros(300_000_000, dtype=torch.int8)}
    surplus["bert.embeddings.position_ids"] = torch.zeros(1, 64)
    save_file(load_file(folder / "model.safetensors") | surplus, folder / "model.safetensors")
    before = resident()
    checkpoint = load_checkpoint(folder)
    assert checkpoint.report.unexpected == ("adapter.weight",)
    assert resident() - before < 200_000_000


_LEGACY = b"".join(pickle.dumps(part, 2) for part in (0x1950A86A20F9469CFC6C, 1001, {}))


def as_pickle(folder: Path, *, legacy: bool = False, shards: int = 1) -> Path:
    """The weights of a checkpoint as pickles in place of safetensors."""
    state = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = ["pytorch_model.bin"] if shards == 1 else [f"pytorch_model-{n}.bin" for n in range(shards)]
    owner = {key: names[place % shards] for place, key in enumerate(state)}
    for name in names:
        part = {key: tensor for key, tensor in state.items() if owner[key] == name}
        torch.save(part, folder / name, _use_new_zipfile_serialization=not legacy)
    if shards > 1:
        (folder / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": owner}))
    return folder


@pytest.mark.parametrize("options", [{"legacy": True}, {"shards": 2}], ids=["legacy", "shards"])
def test_a_pickled_checkpoint_is_the_same_model(options, tmp_path):
    folder = little_folder(tmp_path / "model")
    expected = fill_mask(load_checkpoint(folder), "the [MASK] cat")
    checkpoint = load_checkpoint(as_pickle(folder, **options))
    assert not checkpoint.report.missing
    assert fill_mask(checkpoint, "the [MASK] cat") == expected


def test_a_pickled_model_in_the_hub_s_cache_opens_offline(tmp_path, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    repository = tmp_path / "models--someone--old-bert"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("0" * 40)
    snapshot = as_pickle(little_folder(repository / "snapshots" / ("0" * 40)))
    monkeypatch.setattr("huggingface_hub.snapshot_download", _cached_in(tmp_path))
    assert checkpoint_folder("someone/old-bert", download=False) == snapshot
    assert load_checkpoint("someone/old-bert", download=False).config.hidden_size == 32


def _cached_in(cache: Path):
    from huggingface_hub import snapshot_download

    return lambda *args, **options: snapshot_download(*args, cache_dir=cache, **options)


class Harmful:
    """Writes a file when it is unpickled by anything that may call what a pickle names."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("plain", [True, False])
def test_a_pickle_with_code_is_refused_and_the_code_does_not_run(plain, tmp_path):
    path, mark = tmp_path / "pytorch_model.bin", tmp_path / "ran"
    if plain:
        path.write_bytes(pickle.dumps(Harmful(mark)))
    else:
        torch.save({"a": torch.zeros(2), "b": Harmful(mark)}, path)
    with pytest.raises(
        InputError, match=r"^pytorch_model\.bin cannot be opened as weights: it holds more than weights"
    ):
        convert_pickle(path, tmp_path / "model.safetensors")
    assert not mark.exists()


def deflated(path: Path) -> None:
    torch.save({"a": torch.zeros(4_000_000)}, path)
    with zipfile.ZipFile(path) as archive:
        entries = {entry.filename: archive.read(entry) for entry in archive.infolist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)


def a_view_of_one_number(path: Path) -> None:
    torch.save({"a": torch.zeros(1).expand(10**10)}, path)


def an_allocation_of_gigabytes(path: Path) -> None:
    path.write_bytes(_LEGACY + b"\x80\x02c__builtin__\nbytearray\nJ\xff\xff\xff\x7f\x85R.")


@pytest.mark.parametrize("inflate", [deflated, a_view_of_one_number, an_allocation_of_gigabytes])
def test_a_file_that_inflates_is_refused(inflate, tmp_path):
    path = tmp_path / "pytorch_model.bin"
    inflate(path)
    assert path.stat().st_size < 1 << 20
    with pytest.raises(InputError, match="it unpacks to far more than its size"):
        convert_pickle(path, tmp_path / "model.safetensors")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "damaged"),
        (b"\x80\x02", "damaged"),
        ([torch.zeros(2)], "does not hold named tensors"),
        ({"a": {"b": torch.zeros(2)}}, "other things than plain tensors"),
    ],
    ids=["empty", "cut short", "list", "nested"],
)
def test_a_file_that_is_no_set_of_tensors_is_refused(content, reason, tmp_path):
    path = tmp_path / "pytorch_model.bin"
    path.write_bytes(content) if isinstance(content, bytes) else torch.save(content, path)
    with pytest.raises(InputError, match=reason):
        write_tensors_of(path, tmp_path / "model.safetensors", 1 << 20)


def test_tied_and_half_precision_tensors_arrive_apart(tmp_path):
    tied = torch.arange(6.0).reshape(2, 3)
    torch.save({"a": tied, "b": tied, "c": tied.half(), "d": tied.T}, tmp_path / "pytorch_model.bin")
    write_tensors_of(tmp_path / "pytorch_model.bin", tmp_path / "model.safetensors", 1 << 20)
    state = load_file(tmp_path / "model.safetensors")
    assert torch.equal(state["c"], tied.half())
    assert torch.equal(state["a"], tied)
    assert torch.equal(state["b"], tied)
    assert torch.equal(state["d"], tied.T)
