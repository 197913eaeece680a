"""The families that came after BERT: what each is in the settings of `BertConfig`, and its `config.json`.

A family's file calls the same things by other names, and says nothing of what all its models have in common:
`families.toml` has both, a table for each family. Here is what takes more than a change of names.
"""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bertviz_lab.config.family import TASKS, Body, Family
from bertviz_lab.errors import InputError

# RoBERTa and MPNet: read from byte-level BPE, without segments.


def _without_unused_positions(values: Body) -> Body:
    """RoBERTa counts positions from the padding's id plus one; the rows before that belong to no text."""
    offset = values["pad_token_id"] + 1
    return values | {"position_offset": offset, "max_position_embeddings": values["max_position_embeddings"] - offset}


def _with_unused_positions(values: Body) -> Body:
    return values | {"max_position_embeddings": values["max_position_embeddings"] + values["pad_token_id"] + 1}


# ALBERT: one set of layers for the whole depth.


def _one_group(values: Body) -> Body:
    groups, inner = values.pop("num_hidden_groups", 1), values.pop("inner_group_num", 1)
    if (groups, inner) != (1, 1):
        raise InputError(
            f"This ALBERT has {groups} groups of {inner} layers; the lab reads those that share one layer."
        )
    return values


# DeBERTa: content and position apart.


def _disentangled(values: Body) -> Body:
    if values.get("conv_kernel_size", 0):
        raise InputError("This DeBERTa has a convolution next to its first layer, which the lab does not support.")
    if not values.pop("relative_attention", False):
        raise InputError("This DeBERTa has no relative positions, which the lab does not support.")
    embedding_size = values["embedding_size"] or values["hidden_size"]
    if values.pop("attention_head_size", 0) or embedding_size != values["hidden_size"]:
        raise InputError("This DeBERTa has heads or embeddings of another size than its hidden states.")
    kinds = values["pos_att_type"]
    values["pos_att_type"] = tuple(kinds.lower().split("|") if isinstance(kinds, str) else kinds)
    values["norm_rel_ebd"] = "layer_norm" in str(values["norm_rel_ebd"])
    values["position_buckets"] = max(values["position_buckets"], 0)
    if values["max_relative_positions"] < 1:
        values["max_relative_positions"] = values["max_position_embeddings"]
    return values


def _as_deberta(values: Body) -> Body:
    return values | {
        "relative_attention": True,
        "pos_att_type": list(values["pos_att_type"]),
        "norm_rel_ebd": "layer_norm" if values["norm_rel_ebd"] else "none",
        "position_buckets": values["position_buckets"] or -1,
        "pooler_hidden_size": values["hidden_size"],
        "legacy": True,  # the masked-LM head under the names that transformers reads by default
    }


# ModernBERT: rotary positions, pre-norm, GLU, windows.

_MOST_LAYERS = 1024  # more are refused by `BertConfig`, and need no names before that


def _modern(values: Body) -> Body:
    every, layers = values.pop("global_attn_every_n_layers", 3), values["num_hidden_layers"]
    if not isinstance(every, int) or every < 1:
        raise InputError(f"global_attn_every_n_layers must be a whole number of at least 1, not {every!r}.")
    types = values.get("layer_types") or tuple(
        "sliding_attention" if index % every else "full_attention" for index in range(min(layers, _MOST_LAYERS))
    )
    ropes = values.pop("rope_parameters", None) or {}
    full, local = (ropes.get(kind) or {} for kind in ("full_attention", "sliding_attention"))
    scaled = {rope.get("rope_type", "default") for rope in (full, local)} != {"default"} or values.get("rope_scaling")
    if scaled:
        raise InputError("This ModernBERT scales its rotary positions (rope_scaling), which the lab does not support.")
    return values | {
        "layer_types": tuple(types),
        "rope_theta": full.get("rope_theta", values.get("global_rope_theta", 160_000.0)),
        "local_rope_theta": local.get("rope_theta", values.get("local_rope_theta", 10_000.0)),
        "pooler_act": values["mlm_act"],
    }


def _as_modern(values: Body) -> Body:
    full, local = values.pop("rope_theta"), values.pop("local_rope_theta")
    return values | {
        "layer_types": list(values["layer_types"]) or ["full_attention"] * values["num_hidden_layers"],
        "rope_parameters": {
            "full_attention": {"rope_type": "default", "rope_theta": full},
            "sliding_attention": {"rope_type": "default", "rope_theta": local},
        },
        "embedding_dropout": values["hidden_dropout_prob"],
    }


_FROM_FILE: dict[str, Callable[[Body], Body]] = {
    "roberta": _without_unused_positions,
    "mpnet": _without_unused_positions,
    "albert": _one_group,
    "electra": lambda values: (
        values | ({"embedding_size": None} if values["embedding_size"] == values["hidden_size"] else {})
    ),
    "deberta-v2": _disentangled,
    "modernbert": _modern,
}
_TO_FILE: dict[str, Callable[[Body], Body]] = {
    "bert": lambda values: values | {"position_embedding_type": "absolute"},
    "roberta": _with_unused_positions,
    "mpnet": _with_unused_positions,
    "distilbert": lambda values: values | {"classifier_dropout": values["classifier_dropout"] or 0.0},
    "albert": lambda values: values | ({"classifier_dropout": 0.1} if values["classifier_dropout"] is None else {}),
    "electra": lambda values: values | {"embedding_size": values["embedding_size"] or values["hidden_size"]},
    "deberta-v2": _as_deberta,
    "modernbert": _as_modern,
}
_TABLES: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def _family(model_type: str) -> Family:
    """Return the family of a table, which may be like that of another but for some entries."""
    table = _TABLES[model_type]
    like = table.get("like", model_type)
    body = {name: value for name, value in {**_TABLES[like], **table}.items() if name != "like"}
    body["heads"] = (*TASKS, *body.get("heads", ()))
    functions: dict[str, Any] = {"from_file": _FROM_FILE.get(like, dict), "to_file": _TO_FILE.get(like, dict)}
    return Family(model_type, **body, **functions)


#: model_type -> family. What is not here is refused.
FAMILIES = {model_type: _family(model_type) for model_type in _TABLES}
#: Families that can be trained from random weights here, by MLM (ALBERT with SOP too, ELECTRA by replaced tokens).
FROM_SCRATCH = tuple(model_type for model_type, table in _TABLES.items() if "scratch" in table)
