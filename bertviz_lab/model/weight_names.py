"""What each family's files call the parameters: one table a family, read in both directions.

A parameter is named by its module here; the tables give the module's name there, without the backbone's prefix. Where
a file keeps several of the lab's matrices in one tensor, as ModernBERT's query, key and value, a name is a triple:
the tensor, and which of how many parts of its rows.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

Name = str | tuple[str, int, int]


class Place(NamedTuple):
    """Where a parameter is in a file."""

    name: str
    part: int = 0
    parts: int = 1


@dataclass(frozen=True)
class WeightNames:
    """The names of one family; BERT's are the defaults."""

    layer: str = "encoder.layer.{}."
    in_layer: Mapping[str, Name] = field(default_factory=dict)
    backbone: Mapping[str, Name] = field(default_factory=dict)
    heads: Mapping[str, str] = field(default_factory=dict)
    of_kind: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # other names where a class has other heads
    #: The masked-LM decoder, which is the word embeddings: not a parameter, but older files keep a copy.
    decoder: str = "cls.predictions.decoder"
    aliases: Mapping[str, str] = field(default_factory=dict)  # spellings in some files


_BERT_LAYER: dict[str, Name] = {
    "attention.query": "attention.self.query",
    "attention.key": "attention.self.key",
    "attention.value": "attention.self.value",
    "attention.output": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "intermediate": "intermediate.dense",
    "output": "output.dense",
    "output_norm": "output.LayerNorm",
}
_BERT_BACKBONE: dict[str, Name] = {
    "embeddings.word": "embeddings.word_embeddings",
    "embeddings.position": "embeddings.position_embeddings",
    "embeddings.token_type": "embeddings.token_type_embeddings",
    "embeddings.norm": "embeddings.LayerNorm",
    "pooler": "pooler.dense",
}


def _heads(transform: str, norm: str, mlm: str) -> dict[str, str]:
    """Return the names of the three parts of a masked-LM head, and of the heads that most families name alike."""
    alike = {"answer": "qa_outputs", "classifier": "classifier"}
    return {"mlm.transform": transform, "mlm.norm": norm, "mlm": mlm, **alike}


_PREDICTIONS = "cls.predictions"
_BERT_HEADS = _heads(f"{_PREDICTIONS}.transform.dense", f"{_PREDICTIONS}.transform.LayerNorm", _PREDICTIONS)
_BERT_HEADS["nsp"] = "cls.seq_relationship"
_ROBERTA_HEADS = _heads("lm_head.dense", "lm_head.layer_norm", "lm_head")
#: A text's classifier with a dense layer of its own, which is the pooler here.
_DENSE_CLASSIFIER = {
    "BertForSequenceClassification": {"pooler": "classifier.dense", "classifier": "classifier.out_proj"}
}
_BERT = WeightNames(in_layer=_BERT_LAYER, backbone=_BERT_BACKBONE, heads=_BERT_HEADS)
_ROBERTA = WeightNames(
    in_layer=_BERT_LAYER,
    backbone=_BERT_BACKBONE,
    heads=_ROBERTA_HEADS,
    of_kind=_DENSE_CLASSIFIER,
    decoder="lm_head.decoder",
)

#: model_type -> names.
WEIGHT_NAMES: dict[str, WeightNames] = {
    "bert": _BERT,
    "roberta": _ROBERTA,
    "xlm-roberta": _ROBERTA,
    "camembert": _ROBERTA,
    "distilbert": WeightNames(
        layer="transformer.layer.{}.",
        in_layer={
            "attention.query": "attention.q_lin",
            "attention.key": "attention.k_lin",
            "attention.value": "attention.v_lin",
            "attention.output": "attention.out_lin",
            "attention_norm": "sa_layer_norm",
            "intermediate": "ffn.lin1",
            "output": "ffn.lin2",
            "output_norm": "output_layer_norm",
        },
        backbone=_BERT_BACKBONE,
        heads=_heads("vocab_transform", "vocab_layer_norm", "vocab_projector"),
        of_kind={"BertForSequenceClassification": {"pooler": "pre_classifier"}},
        decoder="vocab_projector",
    ),
    "albert": WeightNames(
        layer="encoder.albert_layer_groups.0.albert_layers.0.",
        in_layer={
            "attention.query": "attention.query",
            "attention.key": "attention.key",
            "attention.value": "attention.value",
            "attention.output": "attention.dense",
            "attention_norm": "attention.LayerNorm",
            "intermediate": "ffn",
            "output": "ffn_output",
            "output_norm": "full_layer_layer_norm",
        },
        backbone=_BERT_BACKBONE | {"embeddings.projection": "encoder.embedding_hidden_mapping_in", "pooler": "pooler"},
        heads=_heads("predictions.dense", "predictions.LayerNorm", "predictions")
        | {"nsp": "sop_classifier.classifier"},
        decoder="predictions.decoder",
    ),
    "electra": WeightNames(
        in_layer=_BERT_LAYER,
        backbone=_BERT_BACKBONE | {"embeddings.projection": "embeddings_project"},
        heads=_heads("generator_predictions.dense", "generator_predictions.LayerNorm", "generator_lm_head")
        | {
            "detector.dense": "discriminator_predictions.dense",
            "detector.output": "discriminator_predictions.dense_prediction",
        },
        of_kind=_DENSE_CLASSIFIER,
        decoder="generator_lm_head",
    ),
    "deberta-v2": WeightNames(
        in_layer=_BERT_LAYER
        | {
            "attention.query": "attention.self.query_proj",
            "attention.key": "attention.self.key_proj",
            "attention.value": "attention.self.value_proj",
            "attention.positions.key": "attention.self.pos_key_proj",
            "attention.positions.query": "attention.self.pos_query_proj",
        },
        backbone=_BERT_BACKBONE
        | {"encoder.positions.table": "encoder.rel_embeddings", "encoder.positions.norm": "encoder.LayerNorm"},
        heads=_BERT_HEADS,
        of_kind={"BertForSequenceClassification": {"pooler": "pooler.dense"}},
        aliases={
            "lm_predictions.lm_head.dense.": "cls.predictions.transform.dense.",
            "lm_predictions.lm_head.LayerNorm.": "cls.predictions.transform.LayerNorm.",
            "lm_predictions.lm_head.bias": "cls.predictions.bias",
        },
    ),
    "modernbert": WeightNames(
        layer="layers.{}.",
        in_layer={
            "attention.query": ("attn.Wqkv", 0, 3),
            "attention.key": ("attn.Wqkv", 1, 3),
            "attention.value": ("attn.Wqkv", 2, 3),
            "attention.output": "attn.Wo",
            "attention_norm": "attn_norm",
            "intermediate": ("mlp.Wi", 0, 2),
            "gate": ("mlp.Wi", 1, 2),
            "output": "mlp.Wo",
            "output_norm": "mlp_norm",
        },
        backbone={
            "embeddings.word": "embeddings.tok_embeddings",
            "embeddings.norm": "embeddings.norm",
            "final_norm": "final_norm",
        },
        heads=_heads("head.dense", "head.norm", "decoder")
        | {"transform.dense": "head.dense", "transform.norm": "head.norm", "answer": "classifier"},
        of_kind={"BertForSequenceClassification": {"pooler": "head.dense", "pooler_norm": "head.norm"}},
        decoder="decoder",
    ),
    "mpnet": WeightNames(
        in_layer=_BERT_LAYER
        | {
            "attention.query": "attention.attn.q",
            "attention.key": "attention.attn.k",
            "attention.value": "attention.attn.v",
            "attention.output": "attention.attn.o",
            "attention_norm": "attention.LayerNorm",
        },
        backbone=_BERT_BACKBONE | {"encoder.positions.table": "encoder.relative_attention_bias"},
        heads=_ROBERTA_HEADS,
        of_kind=_DENSE_CLASSIFIER,
        decoder="lm_head.decoder",
    ),
}

_LAYER = re.compile(r"encoder\.layers\.(\d+)\.(.*)")


def place_of(name: str, model_type: str = "bert", kind: str = "") -> Place:
    """Return the name of a parameter of the lab's class `kind` in the family's files, without the backbone's prefix."""
    names = WEIGHT_NAMES[model_type]
    module, _, parameter = name.removeprefix("bert.").rpartition(".")
    if layer := _LAYER.fullmatch(module):
        prefix, theirs = names.layer.format(layer[1]), names.in_layer[layer[2]]
    else:
        prefix, theirs = "", (dict(names.backbone) | dict(names.heads) | dict(names.of_kind.get(kind, {})))[module]
    place = Place(theirs) if isinstance(theirs, str) else Place(*theirs)
    return place._replace(name=f"{prefix}{place.name}.{parameter}")


def belongs_to_backbone(name: str, model_type: str, kind: str) -> bool:
    """Return whether a parameter's name in the file has the backbone's prefix: a classifier may own the pooler."""
    module = name.rpartition(".")[0].removeprefix("bert.")
    return name.startswith("bert.") and module not in WEIGHT_NAMES[model_type].of_kind.get(kind, {})
