"""Weights in and out of Hugging Face folders: names by family, safetensors files, a report of what did not fit."""

import json
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from bertviz_lab.config import BertConfig
from bertviz_lab.config.families import FAMILIES
from bertviz_lab.errors import InputError
from bertviz_lab.model.weight_names import WEIGHT_NAMES, belongs_to_backbone, place_of

#: In older savings, buffers that are computed.
_BUFFER = re.compile(r"(position_ids|token_type_ids)$")
_PREFIXES = {family.weight_prefix: family.title for family in reversed(FAMILIES.values())}
_PREFIX = re.compile("|".join(map(re.escape, _PREFIXES)))
#: A tensor's name: any number of prefixes, as "model.bert." where a module holds the model, and the rest.
_NAME = re.compile(f"((?:{_PREFIX.pattern})*)(.*)", re.DOTALL)
#: What data parallelism, torch.compile, FSDP and activation checkpointing put into a name.
_WRAPPER = re.compile(r"(?<![^.])(?:module|_orig_mod|_fsdp_wrapped_module|_checkpoint_wrapped_module)\.")


@dataclass(frozen=True)
class LoadReport:
    """How a set of tensors met a model, by Hugging Face's names."""

    missing: tuple[str, ...] = ()  # the model has them, the file does not: they keep their random start
    unexpected: tuple[str, ...] = ()  # the file has them, the model has no place for them: left out
    missing_backbone: tuple[str, ...] = ()  # of those missing, what every model of the family has


def state_for_huggingface(model: nn.Module) -> dict[str, Tensor]:
    """Return all parameters under their family's names; the decoder is the word-embedding table, saved once."""
    family, kind = cast(BertConfig, model.config).family, type(model).__name__
    parts: dict[str, dict[int, Tensor]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):  # shared layers are written one by one
        place = place_of(name, family.model_type, kind)
        prefix = family.weight_prefix if belongs_to_backbone(name, family.model_type, kind) else ""
        parts.setdefault(prefix + place.name, {})[place.part] = parameter.detach().cpu()
    return {
        name: torch.cat([tensors[part] for part in sorted(tensors)]).contiguous()
        if len(tensors) > 1
        else tensors[0].clone(memory_format=torch.contiguous_format)
        for name, tensors in parts.items()
    }


def plain_name(name: str) -> str:
    """Return a tensor's Hugging Face name in one spelling for all files: no prefix, no `gamma` and `beta`."""
    name = re.sub(r"\bLayerNorm\.gamma$", "LayerNorm.weight", name)
    return _parts(re.sub(r"\bLayerNorm\.beta$", "LayerNorm.bias", name))[1]


def _parts(name: str) -> tuple[str, str]:
    """Return the prefixes of a tensor's name, without those of wrappers, and the rest."""
    prefix, rest = cast(re.Match[str], _NAME.fullmatch(_WRAPPER.sub("", name))).groups()
    return prefix, rest


def normalize_names(state: dict[str, Tensor], model_type: str = "bert") -> dict[str, Tensor]:
    """Return tensors in one spelling for all files: no prefix, no `gamma`/`beta`, no buffers, tied tensors once.

    Raises `InputError` where the prefixes are another family's, or a decoder is saved that differs from the word
    embeddings it should be tied to.
    """
    family, names = FAMILIES[model_type], WEIGHT_NAMES[model_type]
    plain = {plain_name(name): tensor for name, tensor in state.items()}
    prefixes = {prefix for name in state for prefix in _PREFIX.findall(_parts(name)[0])}
    if place_of("embeddings.word.weight", model_type).name in plain:
        prefixes.discard("model.")  # of ModernBERT, and of any module that holds a model under that name
    if prefixes and family.weight_prefix not in prefixes:
        raise InputError(f"config.json says {model_type}, but the tensors are named as in {_PREFIXES[min(prefixes)]}.")
    for alias, usual in names.get("aliases", {}).items():
        plain = {usual + name.removeprefix(alias) if name.startswith(alias) else name: plain[name] for name in plain}
    word = plain.get(place_of("embeddings.word.weight", model_type).name)
    bias_name = place_of("mlm.bias", model_type).name
    decoder = plain.pop(f"{names['decoder']}.weight", None)
    is_tied = (decoder is None or word is None) or (
        decoder.shape == word.shape and (word.is_meta or torch.equal(decoder, word))  # no numbers on the meta device
    )
    if not is_tied:
        raise InputError("The masked-word decoder of this checkpoint is not tied to its word embeddings.")
    if f"{names['decoder']}.bias" != bias_name and (bias := plain.pop(f"{names['decoder']}.bias", None)) is not None:
        plain.setdefault(bias_name, bias)
    return {name: tensor for name, tensor in plain.items() if not _BUFFER.search(name)}


def load_state(model: nn.Module, state: dict[str, Tensor]) -> LoadReport:
    """Copy Hugging Face tensors into `model`, whatever their prefix and age; report what was missing or left over.

    Raises `InputError` naming the first tensor whose shape does not fit the configuration.
    """
    model_type, kind = cast(BertConfig, model.config).model_type, type(model).__name__
    state = normalize_names(state, model_type)
    missing: list[str] = []
    missing_backbone: list[str] = []
    used: set[str] = set()
    with torch.no_grad():
        for name, parameter in model.named_parameters(remove_duplicate=False):
            place = place_of(name, model_type, kind)
            used.add(place.name)
            if place.name not in state:
                missing.append(place.name)
                missing_backbone += [place.name] if _BACKBONE.match(name) else []
                continue
            tensor, rows = state[place.name], parameter.shape[0]
            shape, expected = tuple(tensor.shape), (rows * place.parts, *parameter.shape[1:])
            if shape != expected:
                raise InputError(f"{place.name} has shape {shape} in the file but config.json asks for {expected}.")
            parameter.copy_(tensor[place.part * rows : (place.part + 1) * rows])
    return LoadReport(
        missing=tuple(dict.fromkeys(missing)),
        unexpected=tuple(name for name in state if name not in used),
        missing_backbone=tuple(dict.fromkeys(missing_backbone)),
    )


#: Without these a model is none; a head or a pooler may be new.
_BACKBONE = re.compile(r"(bert\.)?(embeddings|encoder|final_norm)\.")


def weight_files(folder: Path) -> list[Path]:
    """Return the weight files of a checkpoint, one or many shards: safetensors, else pickles (`pytorch_model.bin`).

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


def read_tensors(
    files: Iterable[Path], leave_out: Collection[str] = (), *, shapes_only: bool = False
) -> dict[str, Tensor]:
    """Return all tensors in the files, in 32 bits, on the CPU, except buffers and the plain names in `leave_out`.

    With `shapes_only` from the headers alone, on the meta device: no numbers and no memory. Raises `InputError` naming
    a damaged file.
    """
    state: dict[str, Tensor] = {}
    for path in files:
        try:
            with safe_open(path, framework="pt") as tensors:
                for name in tensors.keys():  # noqa: SIM118 - not a dict
                    if shapes_only:
                        state[name] = torch.empty(tensors.get_slice(name).get_shape(), device="meta")
                    elif plain_name(name) not in leave_out and not name.endswith("position_ids"):
                        state[name] = tensors.get_tensor(name).float()
        except (SafetensorError, OSError, ValueError, RuntimeError) as error:
            raise InputError(f"{path.name} is damaged or is not a safetensors file: {error}.") from error
    return state


def write_tensors(state: dict[str, Tensor], path: Path) -> None:
    """Save under Hugging Face's names with the note that its loader asks for."""
    save_file(state, path, metadata={"format": "pt"})
    path.chmod(0o644)  # the library makes it private; a model is there to be shared
