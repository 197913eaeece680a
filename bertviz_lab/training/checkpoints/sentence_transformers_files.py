"""The files by which sentence-transformers knows a folder as a model of sentence embeddings.

`modules.json` lists what turns the hidden states of a text into its vector. The lab has the poolings below and the
normalization to length 1. Of a model with any other module it opens the encoder and refuses to compute its sentence
embeddings, because they would be other vectors than the published ones.
"""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from bertviz_lab.training.checkpoints.atomic_io import read_json

Pooling = Literal["mean", "cls", "max", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"]
POOLINGS: tuple[Pooling, ...] = get_args(Pooling)
#: The spelling of all versions of the library; newer ones also write `pooling_mode`.
_FLAGS = {
    "mean": "pooling_mode_mean_tokens",
    "cls": "pooling_mode_cls_token",
    "max": "pooling_mode_max_tokens",
    "mean_sqrt_len_tokens": "pooling_mode_mean_sqrt_len_tokens",
    "weightedmean": "pooling_mode_weightedmean_tokens",
    "lasttoken": "pooling_mode_lasttoken",
}
_POOLING_FILE = Path("1_Pooling") / "config.json"
LENGTH_FILE = "sentence_bert_config.json"
_MODULES = "sentence_transformers.models"


@dataclass(frozen=True)
class SentenceModules:
    """What a sentence-transformers folder does with the hidden states of a text."""

    pooling: Pooling | None = None  # how they become one vector; None where that is unsupported
    normalize: bool = False  # whether the vector is divided by its length
    unsupported_modules: str = ""  # what the lab does not compute, such as "a Dense layer"


def write_sentence_transformers_files(
    folder: Path, pooling: Pooling, hidden_size: int, max_length: int, *, normalize: bool = False
) -> None:
    """Write next to a saved encoder its modules, its pooling, and the length that texts are truncated to."""
    names = [("", "Transformer"), ("1_Pooling", "Pooling"), *([("2_Normalize", "Normalize")] if normalize else [])]
    modules = [
        {"idx": n, "name": str(n), "path": path, "type": f"{_MODULES}.{name}"} for n, (path, name) in enumerate(names)
    ]
    flags = {flag: name == pooling for name, flag in _FLAGS.items()}
    (folder / _POOLING_FILE).parent.mkdir(exist_ok=True)
    for name, body in (
        ("modules.json", modules),
        (_POOLING_FILE, {"word_embedding_dimension": hidden_size, **flags}),
        (LENGTH_FILE, {"max_seq_length": max_length, "do_lower_case": False}),
        ("config_sentence_transformers.json", {"similarity_fn_name": "cosine"}),
    ):
        (folder / name).write_text(json.dumps(body, indent=2), encoding="utf-8")


def read_sentence_modules(folder: Path) -> SentenceModules:
    """Return what the folder's `modules.json` asks for: nothing where it is not a sentence-transformers model."""
    modules = read_json(folder / "modules.json")
    if not isinstance(modules, list):
        body = read_json(folder / _POOLING_FILE)
        return _pooling(body) if body is not None else SentenceModules()
    described, normalize = None, False
    for module in modules:
        kind = str(module.get("type", "")).rpartition(".")[2] if isinstance(module, dict) else ""
        if kind == "Pooling" and described is None:
            described = _pooling(read_json(folder / str(module.get("path", "")) / "config.json"))
        elif kind == "Normalize":
            normalize = True
        elif kind != "Transformer":
            return SentenceModules(unsupported_modules=f"a module of type {kind[:40] or 'unknown'}")
    if described is None:  # the tokens' vectors are left as they are
        return SentenceModules(unsupported_modules="no pooling")
    return replace(described, normalize=normalize)


def _pooling(body: Any) -> SentenceModules:
    """Return the pooling of a module's `config.json`, in its older form (a flag each) or its newer (one key)."""
    if not isinstance(body, dict):
        return SentenceModules(unsupported_modules="a pooling without a readable config.json")
    modes = body.get("pooling_mode", [mode for mode, flag in _FLAGS.items() if body.get(flag)])
    modes = [modes] if isinstance(modes, str) else modes
    if not isinstance(modes, list) or len(modes) != 1 or modes[0] not in POOLINGS:
        named = " and ".join(map(str, modes)) if isinstance(modes, list) else str(modes)
        return SentenceModules(unsupported_modules=f"the pooling {named[:80] or 'none'}")
    return SentenceModules(modes[0])
