"""Little checkpoints of every family, with random weights and the family's own kind of tokenizer."""

from pathlib import Path
from typing import Any

import torch

import bertviz_lab.model as lab
from bertviz_lab import Checkpoint, Tokenizer, save_checkpoint
from bertviz_lab.config import BertConfig
from bertviz_lab.config.families import FAMILIES
from tests.tokenization.families import their_tokenizer

#: The families with a tokenizer of the same name; DistilBERT reads with BERT's.
MODEL_TYPES = tuple(name for name in FAMILIES if name != "bert")
_TOKENIZERS = {"distilbert": "electra"}


def family_config(model_type: str, tokenizer: Tokenizer, **changes: Any) -> BertConfig:
    """Two layers of two heads of a family."""
    shape: dict[str, Any] = {
        "vocab_size": tokenizer.vocab_size, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
        "intermediate_size": 64, "max_position_embeddings": 66, "pad_token_id": tokenizer.pad_id,
        "initializer_range": 0.2,
    }  # fmt: skip
    if model_type in ("albert", "electra"):
        shape["embedding_size"] = 16
    if model_type == "deberta-v2":
        shape |= {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_buckets": 8}
        shape |= {"position_biased_input": False, "share_att_key": True, "norm_rel_ebd": "layer_norm"}
    if model_type == "modernbert":
        shape |= {"local_attention": 4}
    if model_type in ("roberta", "xlm-roberta", "camembert"):
        shape["type_vocab_size"] = 1
    names = FAMILIES[model_type].names
    body = {names.get(name, name): value for name, value in (shape | changes).items()}
    return BertConfig.from_dict(body | {"model_type": model_type})


def family_tokenizer(model_type: str, scratch: Path) -> Tokenizer:
    folder = scratch / "tokenizer"
    their_tokenizer(_TOKENIZERS.get(model_type, model_type)).save_pretrained(folder)
    return Tokenizer.load(folder)


def family_checkpoint(model_type: str, scratch: Path, head: str = "MaskedLM", **changes: Any) -> Checkpoint:
    """A checkpoint in memory; `head` is the end of the class's name."""
    tokenizer = family_tokenizer(model_type, scratch)
    config = family_config(model_type, tokenizer, **changes)
    model = getattr(lab, f"BertFor{head}")(config, generator=torch.Generator().manual_seed(0)).eval()
    return Checkpoint(model, tokenizer, config, name=f"little {model_type}")


def family_folder(model_type: str, folder: Path, head: str = "MaskedLM", **changes: Any) -> Path:
    """The same as a Hugging Face folder."""
    checkpoint = family_checkpoint(model_type, folder.with_name(f"{folder.name}-scratch"), head, **changes)
    return save_checkpoint(checkpoint, folder)
