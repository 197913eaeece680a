"""A small model of each family with every weight at random, here and in transformers."""

from dataclasses import dataclass
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor, nn

import bertviz_lab.model as lab
from bertviz_lab.config import BertConfig
from bertviz_lab.config.families import FAMILIES
from bertviz_lab.model.weights import state_for_huggingface
from tests.model import support
from tests.model.support import LABELS, LENGTH, VOCAB, randomized

_SHAPE: dict[str, Any] = {
    "vocab_size": VOCAB, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 40, "max_position_embeddings": 19,
}  # fmt: skip
_DISENTANGLED = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 6}
_V3 = {"share_att_key": True, "norm_rel_ebd": "layer_norm", "position_biased_input": False}

#: name -> (model_type, what its config.json says beyond the shape).
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "bert": ("bert", {}),
    "bert-tanh": ("bert", {"hidden_act": "gelu_new"}),
    "bert-causal": ("bert", {"is_decoder": True}),
    "roberta": ("roberta", {"type_vocab_size": 1, "layer_norm_eps": 1e-5}),
    "xlm-roberta": ("xlm-roberta", {"type_vocab_size": 1}),
    "camembert": ("camembert", {"type_vocab_size": 1}),
    "distilbert": ("distilbert", {}),
    "albert": ("albert", {"embedding_size": 16}),
    "electra": ("electra", {"embedding_size": 16}),
    "electra-base": ("electra", {"embedding_size": 24}),  # whose embeddings are not projected
    "deberta-v3": ("deberta-v2", _DISENTANGLED | _V3),
    "deberta-v2": ("deberta-v2", _DISENTANGLED | {"type_vocab_size": 2, "max_relative_positions": 16}),
    "deberta-c2p": ("deberta-v2", _DISENTANGLED | {"pos_att_type": "c2p", "position_buckets": -1}),
    "modernbert": ("modernbert", {"local_attention": 12, "num_hidden_layers": 3, "global_attn_every_n_layers": 2}),
    "modernbert-mean": ("modernbert", {"classifier_pooling": "mean", "mlp_bias": True, "norm_bias": True}),
    "mpnet": ("mpnet", {}),
}

_TASKS = ("MaskedLM", "SequenceClassification", "TokenClassification", "QuestionAnswering")
_MORE = {
    "bert": ("PreTraining", "NextSentencePrediction"),
    "albert": ("PreTraining",),
    "electra": ("ReplacedTokenDetection",),
}

_CASES = [
    (variant, head)
    for variant, (model_type, _) in VARIANTS.items()
    for head in ("Model", *_TASKS, *_MORE.get(model_type, ()))
]
#: Every family and head: the variant, and the end of the class's name.
every_head = pytest.mark.parametrize(("variant", "head"), _CASES, ids=map("-".join, _CASES))


@dataclass(frozen=True)
class Pair:
    """The same weights in the lab's model and in that of transformers."""

    ours: nn.Module
    theirs: nn.Module
    head: str

    def call(self, **options: Any) -> tuple[Any, Any]:
        """Both outputs on padded texts with labels."""
        theirs = inputs(self.ours.config) | labels(self.head)
        ours = dict(theirs)
        if self.head == "PreTraining" and self.ours.config.model_type == "albert":
            theirs["sentence_order_label"] = theirs.pop("next_sentence_label")
        if self.head == "ReplacedTokenDetection":
            ours["labels"] = ours["labels"].masked_fill(ours["attention_mask"] == 0, -100)
        if not self.ours.config.has_segments:
            ours["token_type_ids"] = torch.ones_like(ours["input_ids"])  # given, and not looked at
        return self.ours(**ours, **options), self.theirs(**theirs)


def their_config(variant: str, head: str = "Model", attention: str = "eager") -> transformers.PreTrainedConfig:
    model_type, changes = VARIANTS[variant]
    classes = 2 if head in ("QuestionAnswering", "PreTraining") else LABELS
    body = {FAMILIES[model_type].names.get(name, name): value for name, value in _SHAPE.items()}
    body |= {FAMILIES[model_type].names.get(name, name): value for name, value in changes.items()}
    if model_type == "modernbert":
        body |= {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1, "sep_token_id": 2}
    kind = getattr(transformers, FAMILIES[model_type].class_prefix + "Config")
    config = kind(**body, num_labels=classes, use_cache=False)
    config._attn_implementation = attention
    return config


def pair(variant: str, head: str, attention: str = "eager") -> Pair:
    """Both models in evaluation mode, every parameter at random."""
    config = their_config(variant, head, attention)
    ours = our_model(variant, head)
    kind = ours.config.family.class_name(type(ours).__name__)
    if attention == "sdpa" and ours.config.model_type in ("deberta-v2", "mpnet"):
        config._attn_implementation = "eager"  # theirs has no other
    theirs = getattr(transformers, kind)(config).eval()
    result = theirs.load_state_dict(state_for_huggingface(ours), strict=False)
    assert not result.unexpected_keys
    assert {name for name in result.missing_keys if not is_tied(name)} == set()
    return Pair(ours, theirs, head)


def our_model(variant: str, head: str, seed: int = 0) -> nn.Module:
    config = BertConfig.from_dict(their_config(variant, head).to_dict())
    generator = torch.Generator().manual_seed(seed)
    kind = getattr(lab, "BertModel" if head == "Model" else f"BertFor{head}")
    return randomized(kind(config, generator=generator), generator)


def is_tied(name: str) -> bool:
    """Whether a parameter in transformers is another one again: the masked-LM decoder."""
    ends = ("decoder.weight", "decoder.bias", "vocab_projector.weight", "generator_lm_head.weight")
    return name.endswith(("position_ids", *ends))


def inputs(config: BertConfig) -> dict[str, Tensor]:
    """Ids and a mask with padding of different lengths; two segments where the family has them."""
    body = support.inputs()
    mask = body["attention_mask"]
    body["input_ids"] = torch.where(mask == 1, body["input_ids"].clamp(min=3), config.pad_token_id)
    body["token_type_ids"] *= mask
    if not config.has_segments:
        del body["token_type_ids"]
    return body


def labels(head: str) -> dict[str, Tensor]:
    if head == "ReplacedTokenDetection":
        return {"labels": (support.token_labels(VOCAB) == -100).long()}
    (kind,) = (kind for kind in support.KINDS if str(kind) in (f"BertFor{head}", f"Bert{head}"))
    result = support.labels_for(kind)
    if result.get("labels", torch.empty(0)).dim() == 2:
        result["labels"][:, LENGTH - 6 :] = -100  # what is padding in one of the texts
    return result
