"""`pytorch_model.bin` of the hub: read by a process that can do no harm, refused in one sentence."""

import json
import os
import pickle
import zipfile
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from bertviz_lab import InputError, load_checkpoint
from bertviz_lab.interpret import fill_mask
from bertviz_lab.training.checkpoints.checkpoint import checkpoint_folder
from bertviz_lab.training.checkpoints.pickled_weights import convert_pickle, write_tensors_of
from tests.little import little_folder

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
    torch.save({"a": torch.zeros(20_000_000)}, path)
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
