"""The files by which sentence-transformers knows a folder as a model of sentence embeddings."""

import json
from pathlib import Path
from typing import Literal

Pooling = Literal["mean", "cls", "max"]
POOLINGS: tuple[Pooling, ...] = ("mean", "cls", "max")
#: The spelling of all versions of the library; newer ones also write `pooling_mode`.
_FLAGS = {"mean": "pooling_mode_mean_tokens", "cls": "pooling_mode_cls_token", "max": "pooling_mode_max_tokens"}
_POOLING_FILE = Path("1_Pooling") / "config.json"
_LENGTH_FILE = "sentence_bert_config.json"


def write_sentence_transformers_files(folder: Path, pooling: Pooling, hidden_size: int, max_length: int) -> None:
    """Beside a saved backbone: which modules make a text's vector, its pooling, and the length texts are cut to."""
    modules = [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    ]
    flags = {flag: name == pooling for name, flag in _FLAGS.items()}
    (folder / _POOLING_FILE).parent.mkdir(exist_ok=True)
    for name, body in (
        ("modules.json", modules),
        (_POOLING_FILE, {"word_embedding_dimension": hidden_size, **flags}),
        (_LENGTH_FILE, {"max_seq_length": max_length, "do_lower_case": False}),
        ("config_sentence_transformers.json", {"similarity_fn_name": "cosine"}),
    ):
        (folder / name).write_text(json.dumps(body, indent=2), encoding="utf-8")


def read_pooling(folder: Path) -> Pooling | None:
    """What sentence-transformers saved beside the model, in its older form (a flag each) or its newer; None without."""
    try:
        body = json.loads((folder / _POOLING_FILE).read_text(encoding="utf-8"))
        modes = (
            [body["pooling_mode"]] if "pooling_mode" in body else [m for m, flag in _FLAGS.items() if body.get(flag)]
        )
    except (OSError, ValueError, TypeError, AttributeError):
        return None
    return modes[0] if len(modes) == 1 and modes[0] in POOLINGS else None


def read_max_seq_length(folder: Path) -> int | None:
    """Tokens that a model of sentence embeddings cuts texts to; None where no file says so."""
    try:
        length = json.loads((folder / _LENGTH_FILE).read_text(encoding="utf-8"))["max_seq_length"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return length if isinstance(length, int) and 8 <= length <= 1_000_000 else None
