"""The families that came after BERT: what each is in the settings of `BertConfig`, and its `config.json`.

A family's file calls the same things by other names, and says nothing of what all its models have in common. So a
`Family` has three tables: `fixed`, the settings that make it this family; `defaults`, what transformers assumes where
the file is silent; `names`, the settings that its file spells differently. docs/families.md says why each is as it is.
"""

from typing import Any

from bertviz_lab.config.family import TASKS, Body, Family
from bertviz_lab.errors import InputError

# RoBERTa: BERT trained better, read from byte-level BPE, without segments.


def _without_unused_positions(values: Body) -> Body:
    """RoBERTa counts positions from the padding's id plus one; the rows before that belong to no text."""
    offset = values["pad_token_id"] + 1
    return values | {"position_offset": offset, "max_position_embeddings": values["max_position_embeddings"] - offset}


def _with_unused_positions(values: Body) -> Body:
    return values | {"max_position_embeddings": values["max_position_embeddings"] + values["pad_token_id"] + 1}


_ROBERTA: dict[str, Any] = {
    "has_pooler": True,
    "fixed": {"mlm_act": "gelu", "dropout_before_pooler": True},
    "defaults": {"vocab_size": 50265, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2},
    "scratch": {"type_vocab_size": 1, "layer_norm_eps": 1e-5, "max_position_embeddings": 513},
    "from_file": _without_unused_positions,
    "to_file": _with_unused_positions,
}


# ALBERT: one set of layers for the whole depth.


def _one_group(values: Body) -> Body:
    groups, inner = values.pop("num_hidden_groups", 1), values.pop("inner_group_num", 1)
    if (groups, inner) != (1, 1):
        raise InputError(
            f"This ALBERT has {groups} groups of {inner} layers; the lab reads those whose layers are all the same one."
        )
    return values


# DeBERTa: content and position apart.


def _disentangled(values: Body) -> Body:
    if values.get("conv_kernel_size", 0):
        raise InputError("This DeBERTa has a convolution next to its first layer, which the lab does not support.")
    if not values.pop("relative_attention", False):
        raise InputError("This DeBERTa has no relative positions, which the lab does not support.")
    if (
        values.pop("attention_head_size", 0)
        or (values["embedding_size"] or values["hidden_size"]) != (values["hidden_size"])
    ):
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


#: Families that can be trained from random weights here, by MLM (ALBERT with SOP too, ELECTRA by replaced tokens).
FROM_SCRATCH = ("bert", "roberta", "albert", "electra", "deberta-v2", "modernbert")

#: model_type -> family. What is not here is refused.
FAMILIES: dict[str, Family] = {
    family.model_type: family
    for family in (
        Family(
            "bert",
            "BERT",
            "Bert",
            "bert.",
            heads=(*TASKS, "PreTraining", "NextSentencePrediction"),
            pretraining="nsp",
            has_pooler=True,
            own=("share_layers",),
            to_file=lambda values: values | {"position_embedding_type": "absolute"},
        ),
        Family("roberta", "RoBERTa", "Roberta", "roberta.", **_ROBERTA),
        Family("xlm-roberta", "XLM-RoBERTa", "XLMRoberta", "roberta.", **_ROBERTA),
        Family("camembert", "CamemBERT", "Camembert", "roberta.", **_ROBERTA),
        Family(
            "distilbert",
            "DistilBERT",
            "DistilBert",
            "distilbert.",
            fixed={"type_vocab_size": 0, "pooler_act": "relu", "layer_norm_eps": 1e-12},
            defaults={"num_hidden_layers": 6, "classifier_dropout": 0.2},
            names={
                "num_hidden_layers": "n_layers",
                "num_attention_heads": "n_heads",
                "hidden_size": "dim",
                "intermediate_size": "hidden_dim",
                "hidden_dropout_prob": "dropout",
                "attention_probs_dropout_prob": "attention_dropout",
                "hidden_act": "activation",
                "classifier_dropout": "seq_classif_dropout",
            },
            to_file=lambda values: values | {"classifier_dropout": values["classifier_dropout"] or 0.0},
        ),
        Family(
            "albert",
            "ALBERT",
            "Albert",
            "albert.",
            heads=(*TASKS, "PreTraining"),
            pretraining="sop",
            has_pooler=True,
            fixed={"share_layers": True},
            defaults={
                "vocab_size": 30000,
                "embedding_size": 128,
                "hidden_size": 4096,
                "num_attention_heads": 64,
                "intermediate_size": 16384,
                "hidden_act": "gelu_new",
                "hidden_dropout_prob": 0.0,
                "attention_probs_dropout_prob": 0.0,
                "classifier_dropout": 0.1,
                "bos_token_id": 2,
                "eos_token_id": 3,
            },
            names={"classifier_dropout": "classifier_dropout_prob"},
            own=("embedding_size",),
            scratch={"embedding_size": 64},
            from_file=_one_group,
            to_file=lambda values: (
                values
                | {"classifier_dropout": 0.1 if values["classifier_dropout"] is None else values["classifier_dropout"]}
            ),
        ),
        Family(
            "electra",
            "ELECTRA",
            "Electra",
            "electra.",
            heads=(*TASKS, "ReplacedTokenDetection"),
            pretraining="rtd",
            fixed={"mlm_act": "gelu", "pooler_act": "gelu", "dropout_before_pooler": True},
            defaults={"embedding_size": 128, "hidden_size": 256, "num_attention_heads": 4, "intermediate_size": 1024},
            own=("embedding_size",),
            from_file=lambda values: (
                values
                | {
                    "embedding_size": None
                    if values["embedding_size"] == values["hidden_size"]
                    else values["embedding_size"]
                }
            ),
            to_file=lambda values: values | {"embedding_size": values["embedding_size"] or values["hidden_size"]},
        ),
        Family(
            "deberta-v2",
            "DeBERTa",
            "DebertaV2",
            "deberta.",
            fixed={"position_embedding_type": "disentangled"},
            defaults={
                "vocab_size": 128100,
                "hidden_size": 1536,
                "num_hidden_layers": 24,
                "num_attention_heads": 24,
                "intermediate_size": 6144,
                "type_vocab_size": 0,
                "layer_norm_eps": 1e-7,
                "pooler_act": "gelu",
                "pos_att_type": (),
                "norm_rel_ebd": "none",
                "position_buckets": -1,
                "max_relative_positions": -1,
            },
            names={"pooler_act": "pooler_hidden_act", "classifier_dropout": "cls_dropout"},
            own=(
                *("position_biased_input", "pooler_act", "pos_att_type", "share_att_key", "norm_rel_ebd"),
                *("position_buckets", "max_relative_positions"),
            ),
            scratch={
                "relative_attention": True,
                "position_biased_input": False,
                "share_att_key": True,
                "norm_rel_ebd": "layer_norm",
                "pos_att_type": ("c2p", "p2c"),
                "position_buckets": 256,
            },
            from_file=_disentangled,
            to_file=_as_deberta,
        ),
        Family(
            "modernbert",
            "ModernBERT",
            "ModernBert",
            "model.",
            fixed={
                "position_embedding_type": "rotary",
                "position_biased_input": False,
                "type_vocab_size": 0,
                "norm_position": "pre",
                "gated_feed_forward": True,
                "classifier_transform": True,
            },
            defaults={
                "vocab_size": 50368,
                "num_hidden_layers": 22,
                "intermediate_size": 1152,
                "max_position_embeddings": 8192,
                "layer_norm_eps": 1e-5,
                "norm_bias": False,
                "attention_bias": False,
                "mlp_bias": False,
                "classifier_bias": False,
                "hidden_dropout_prob": 0.0,
                "attention_probs_dropout_prob": 0.0,
                "classifier_dropout": 0.0,
                "pad_token_id": 50283,
                "bos_token_id": 50281,
                "eos_token_id": 50282,
                "mlm_act": "gelu",
                "local_attention": 128,
            },
            names={
                "hidden_act": "hidden_activation",
                "layer_norm_eps": "norm_eps",
                "hidden_dropout_prob": "mlp_dropout",
                "attention_probs_dropout_prob": "attention_dropout",
                "mlm_act": "classifier_activation",
            },
            own=(
                *("norm_bias", "attention_bias", "mlp_bias", "classifier_bias", "classifier_pooling", "decoder_bias"),
                *("mlm_act", "layer_types", "local_attention", "rope_theta", "local_rope_theta"),
            ),
            scratch={"max_position_embeddings": 512},
            from_file=_modern,
            to_file=_as_modern,
        ),
        Family(
            "mpnet",
            "MPNet",
            "MPNet",
            "mpnet.",
            has_pooler=True,
            fixed={
                "position_embedding_type": "relative_bias",
                "type_vocab_size": 0,
                "mlm_act": "gelu",
                "dropout_before_pooler": True,
            },
            defaults={"vocab_size": 30527, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2},
            own=("relative_attention_num_buckets",),
            from_file=_without_unused_positions,
            to_file=_with_unused_positions,
        ),
    )
}
