"""Weights in and out of Hugging Face folders: a table of names, safetensors files, a report of what did not fit."""

import json
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from bertviz_lab.errors import InputError

#: (the lab's name, Hugging Face's name), applied in this order to parts of a parameter's name.
NAMES = (
    ("embeddings.word.", "embeddings.word_embeddings."),
    ("embeddings.position.", "embeddings.position_embeddings."),
    ("embeddings.token_type.", "embeddings.token_type_embeddings."),
    ("embeddings.norm.", "embeddings.LayerNorm."),
    ("encoder.layers.", "encoder.layer."),
    (".attention.query.", ".attention.self.query."),
    (".attention.key.", ".attention.self.key."),
    (".attention.value.", ".attention.self.value."),
    (".attention.output.", ".attention.output.dense."),
    (".attention_norm.", ".attention.output.LayerNorm."),
    (".intermediate.", ".intermediate.dense."),
    (".output_norm.", ".output.LayerNorm."),
    ("pooler.", "pooler.dense."),
    ("mlm.transform.", "cls.predictions.transform.dense."),
    ("mlm.norm.", "cls.predictions.transform.LayerNorm."),
    ("mlm.bias", "cls.predictions.bias"),
    ("nsp.", "cls.seq_relationship."),
    ("answer.", "qa_outputs."),
)
# The feed-forward output is the one name that a plain replacement cannot tell from attention's own output.
_FEED_FORWARD = re.compile(r"(layer\.\d+\.output)\.(weight|bias)$")

#: In older or other savings of the same weights: not parameters, or copies of tied ones.
_DERIVED = re.compile(r"(position_ids|cls\.predictions\.decoder\.(weight|bias))$")


@dataclass(frozen=True)
class LoadReport:
    """How a set of tensors met a model, by Hugging Face's names."""

    missing: tuple[str, ...] = ()  # the model has them, the file does not: they keep their random start
    unexpected: tuple[str, ...] = ()  # the file has them, the model has no place for them: left out


def to_huggingface(name: str) -> str:
    """The Hugging Face name of one of the lab's parameters."""
    for ours, theirs in NAMES:
        name = name.replace(ours, theirs)
    return _FEED_FORWARD.sub(r"\1.dense.\2", name)


def state_for_huggingface(model: nn.Module) -> dict[str, Tensor]:
    """All parameters under Hugging Face's names; the decoder is the word-embedding table and is not saved twice."""
    named = model.named_parameters(remove_duplicate=False)  # layers that share weights are written one by one
    return {to_huggingface(name): p.detach().cpu().clone(memory_format=torch.contiguous_format) for name, p in named}


def plain_name(name: str) -> str:
    """A tensor's Hugging Face name in the one spelling for all savings: no `bert.` prefix, no `gamma` and `beta`."""
    name = re.sub(r"\bLayerNorm\.gamma$", "LayerNorm.weight", name)
    return re.sub(r"\bLayerNorm\.beta$", "LayerNorm.bias", name).removeprefix("bert.")


def normalize_names(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """One spelling for all savings: no `bert.` prefix, no `gamma`/`beta`, no buffers, tied tensors once.

    Raises `InputError` where a decoder is saved that differs from the word embeddings it should be tied to.
    """
    plain = {plain_name(name): tensor for name, tensor in state.items()}
    word = plain.get("embeddings.word_embeddings.weight")
    decoder = plain.get("cls.predictions.decoder.weight")
    if decoder is not None and word is not None and not _same(decoder, word):
        raise InputError("The masked-word decoder of this checkpoint is not tied to its word embeddings.")
    bias = plain.get("cls.predictions.decoder.bias")
    if bias is not None:
        plain.setdefault("cls.predictions.bias", bias)
    return {name: tensor for name, tensor in plain.items() if not _DERIVED.search(name)}


def _same(first: Tensor, second: Tensor) -> bool:
    """Whether two tensors are equal; on the meta device, where there are no numbers, whether they may be."""
    return first.shape == second.shape and (first.is_meta or torch.equal(first, second))


def load_state(model: nn.Module, state: dict[str, Tensor]) -> LoadReport:
    """Copy Hugging Face tensors into `model`, whatever their prefix and age; say what was missing or left over.

    Raises `InputError` naming the first tensor whose shape does not fit the configuration.
    """
    state = normalize_names(state)
    named = model.named_parameters(remove_duplicate=False)
    parameters = {to_huggingface(name).removeprefix("bert."): p for name, p in named}
    with torch.no_grad():
        for name, parameter in parameters.items():
            if name not in state:
                continue
            if state[name].shape != parameter.shape:
                raise InputError(
                    f"{name} has shape {tuple(state[name].shape)} in the file "
                    f"but config.json asks for {tuple(parameter.shape)}."
                )
            parameter.copy_(state[name])
    return LoadReport(
        missing=tuple(name for name in parameters if name not in state),
        unexpected=tuple(name for name in state if name not in parameters),
    )


def weight_files(folder: Path) -> list[Path]:
    """The weights of a checkpoint, one file or many shards: safetensors, or else pickles (`pytorch_model.bin`).

    Raises `InputError` when they are not all there.
    """
    for name in ("model.safetensors", "pytorch_model.bin"):
        if (folder / name).is_file():
            return [folder / name]
        index = folder / f"{name}.index.json"
        if not index.is_file():
            continue
        try:
            names = sorted({str(name) for name in json.loads(index.read_text("utf-8"))["weight_map"].values()})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{index.name} in {folder} is damaged: {error}.") from error
        absent = [name for name in names if Path(name).name != name or not (folder / name).is_file()]
        if absent:
            raise InputError(f"The checkpoint {folder} lacks {', '.join(absent)}.")
        return [folder / name for name in names]
    raise InputError(f"The checkpoint {folder} lacks model.safetensors.")


def read_shapes(files: Iterable[Path]) -> dict[str, Tensor]:
    """All tensors in the files on the meta device: shapes from the headers, no numbers and no memory.

    Raises `InputError` naming a damaged file.
    """
    return _read(files, lambda tensors, name: torch.empty(tensors.get_slice(name).get_shape(), device="meta"))


def read_tensors(files: Iterable[Path], leave_out: Collection[str] = ()) -> dict[str, Tensor]:
    """All tensors in the files, in 32 bits, on the CPU, but buffers and those with the plain names in `leave_out`.

    Raises `InputError` naming a damaged file.
    """

    def read(tensors: Any, name: str) -> Tensor | None:
        unneeded = plain_name(name) in leave_out or name.endswith("position_ids")
        return None if unneeded else tensors.get_tensor(name).float()

    return _read(files, read)


def _read(files: Iterable[Path], read: Callable[[Any, str], Tensor | None]) -> dict[str, Tensor]:
    state: dict[str, Tensor] = {}
    for path in files:
        try:
            with safe_open(path, framework="pt") as tensors:
                for name in tensors.keys():  # noqa: SIM118 - not a dict
                    tensor = read(tensors, name)
                    if tensor is not None:
                        state[name] = tensor
        except (SafetensorError, OSError, ValueError, RuntimeError) as error:
            raise InputError(f"{path.name} is damaged or is not a safetensors file: {error}.") from error
    return state


def write_weights(state: dict[str, Tensor], folder: Path, most_bytes: int | None = None) -> None:
    """Save a model's weights in `folder`: in one file, or with an index in several of at most `most_bytes` each."""
    if most_bytes is None:
        write_tensors(state, folder / "model.safetensors")
        return
    from huggingface_hub import split_torch_state_dict_into_shards

    plan = split_torch_state_dict_into_shards(state, max_shard_size=most_bytes)
    for name, tensors in plan.filename_to_tensors.items():
        write_tensors({tensor: state[tensor] for tensor in tensors}, folder / name)
    if plan.is_sharded:
        index = {"metadata": plan.metadata, "weight_map": plan.tensor_to_filename}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=2), encoding="utf-8")


def write_tensors(state: dict[str, Tensor], path: Path) -> None:
    """Save under Hugging Face's names with the note that its loader asks for."""
    save_file(state, path, metadata={"format": "pt"})
    path.chmod(0o644)  # the library makes it private; a model is there to be shared
