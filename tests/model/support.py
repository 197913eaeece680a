"""Small models with every weight at random, inputs for them, and the same models as Hugging Face builds them."""

from dataclasses import dataclass
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor, nn

from bertviz_lab import Checkpoint
from bertviz_lab.config import BertConfig
from bertviz_lab.model import (
    BertForMaskedLM,
    BertForNextSentencePrediction,
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
)
from bertviz_lab.model.layers import LayerNorm
from bertviz_lab.model.weights import state_for_huggingface
from tests.little import little_checkpoint

BATCH, LENGTH, VOCAB, LABELS = 3, 11, 53, 5


@dataclass(frozen=True)
class Kind:
    """One head: the lab's class, Hugging Face's, and the names of its logits and labels."""

    ours: type[nn.Module]
    theirs: type[nn.Module]
    outputs: tuple[str, ...]
    labels: tuple[str, ...]

    def __str__(self) -> str:
        return self.ours.__name__


MODEL = Kind(BertModel, transformers.BertModel, ("last_hidden_state", "pooler_output"), ())
PRETRAINING = Kind(
    BertForPreTraining,
    transformers.BertForPreTraining,
    ("prediction_logits", "seq_relationship_logits"),
    ("labels", "next_sentence_label"),
)
MASKED_LM = Kind(BertForMaskedLM, transformers.BertForMaskedLM, ("logits",), ("labels",))
NEXT_SENTENCE = Kind(
    BertForNextSentencePrediction, transformers.BertForNextSentencePrediction, ("logits",), ("labels",)
)
SEQUENCE = Kind(BertForSequenceClassification, transformers.BertForSequenceClassification, ("logits",), ("labels",))
TOKENS = Kind(BertForTokenClassification, transformers.BertForTokenClassification, ("logits",), ("labels",))
QUESTION = Kind(
    BertForQuestionAnswering,
    transformers.BertForQuestionAnswering,
    ("start_logits", "end_logits"),
    ("start_positions", "end_positions"),
)
KINDS = (MODEL, PRETRAINING, MASKED_LM, NEXT_SENTENCE, SEQUENCE, TOKENS, QUESTION)
every_kind = pytest.mark.parametrize("kind", KINDS, ids=str)


def small_config(**changes: Any) -> BertConfig:
    """Three layers of four heads, every size different, so that mixing two up shows."""
    shape: dict[str, Any] = {
        "vocab_size": VOCAB, "hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4,
        "intermediate_size": 40, "max_position_embeddings": 19, "num_labels": LABELS,
    }  # fmt: skip
    return BertConfig(**(shape | changes))


def build(kind: Kind, config: BertConfig | None = None, seed: int = 0) -> nn.Module:
    """A model in evaluation mode whose every parameter, biases and LayerNorms too, is at random."""
    generator = torch.Generator().manual_seed(seed)
    config = config or small_config()
    if kind is QUESTION:
        config = config.replace(num_labels=2)  # start and end: Hugging Face's head takes its size from here
    return randomized(kind.ours(config, generator=generator), generator)


def randomized(model: nn.Module, generator: torch.Generator) -> nn.Module:
    """The model in evaluation mode with every parameter at random: biases, and LayerNorms around 1."""
    with torch.no_grad():
        for module in model.modules():
            for name, parameter in module.named_parameters(recurse=False):
                parameter.normal_(std=0.15, generator=generator)
                if isinstance(module, LayerNorm) and name == "weight":
                    parameter.add_(1.0)
    return model.eval()


def random_checkpoint(seed: int = 2, **options: Any) -> Checkpoint:
    """The little model with every parameter at random; options as of `little_checkpoint`."""
    checkpoint = little_checkpoint(**options)
    randomized(checkpoint.model, torch.Generator().manual_seed(seed))
    return checkpoint


def as_huggingface(kind: Kind, model: nn.Module) -> nn.Module:
    """The same weights in Hugging Face's model, with its written-out attention; all of them, and no others."""
    config = transformers.BertConfig(**model.config.to_dict(), attn_implementation="eager")
    theirs = kind.theirs(config).eval()
    result = theirs.load_state_dict(state_for_huggingface(model), strict=False)
    tied = {"cls.predictions.decoder.weight", "cls.predictions.decoder.bias"}
    assert not result.unexpected_keys
    assert {name for name in result.missing_keys if not name.endswith("position_ids")} <= tied
    return theirs


def inputs(seed: int = 0, padded: bool = True) -> dict[str, Tensor]:
    """Ids, two segments, and a mask with padding of different lengths."""
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.tensor([LENGTH, LENGTH - 3, LENGTH - 6]) if padded else torch.full((BATCH,), LENGTH)
    return {
        "input_ids": torch.randint(VOCAB, (BATCH, LENGTH), generator=generator),
        "attention_mask": (torch.arange(LENGTH) < lengths[:, None]).long(),
        "token_type_ids": (torch.arange(LENGTH) > lengths[:, None] // 2).long(),
    }


def token_labels(classes: int, seed: int = 0) -> Tensor:
    """(batch, tokens) with about half of them -100, and one that is 0."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(classes, (BATCH, LENGTH), generator=generator)
    labels[torch.rand(BATCH, LENGTH, generator=generator) < 0.5] = -100
    labels[0, 1] = 0
    return labels


def labels_for(kind: Kind) -> dict[str, Tensor]:
    # The second answer starts, and the third ends, beyond the text: those are left out.
    answers = {"start_positions": torch.tensor([2, LENGTH + 4, 0]), "end_positions": torch.tensor([4, 0, LENGTH])}
    return {
        str(MODEL): {},
        str(PRETRAINING): {"labels": token_labels(VOCAB), "next_sentence_label": torch.tensor([0, 1, 1])},
        str(MASKED_LM): {"labels": token_labels(VOCAB)},
        str(NEXT_SENTENCE): {"labels": torch.tensor([1, 0, 0])},
        str(SEQUENCE): {"labels": torch.tensor([4, 0, 2])},
        str(TOKENS): {"labels": token_labels(LABELS)},
        str(QUESTION): answers,
    }[str(kind)]


def gradients(model: nn.Module, loss: Tensor) -> dict[str, Tensor]:
    """The gradient of every parameter, by name; tied parameters under each of their names."""
    model.zero_grad(set_to_none=True)
    loss.backward()
    return {
        name: torch.zeros_like(p) if p.grad is None else p.grad.clone()
        for name, p in model.named_parameters(remove_duplicate=False)
    }


def same_weights(a: nn.Module, b: nn.Module) -> bool:
    pairs = zip(a.named_parameters(), b.named_parameters(), strict=True)
    return all(name == other and torch.equal(p, q) for (name, p), (other, q) in pairs)


def largest_difference(a: Tensor, b: Tensor) -> float:
    assert a.shape == b.shape
    return float((a - b).detach().abs().max())
