"""Distillation: a student learns from what a trained teacher makes of the same masked text.

*Soft targets* as in DistilBERT (Sanh et al. 2019, section 3): the student's distribution over the vocabulary follows
the teacher's at each masked position, both softened by a temperature, and its last hidden state follows the teacher's
in direction. *Relations* as in MiniLM (Wang et al. 2020, section 3; relation heads as in MiniLMv2, Wang et al. 2021):
of the last layer, how much each token's query resembles each key, and each value each value. They need neither the
same hidden size nor the same number of heads.
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertviz_lab.config import IGNORE_INDEX, BertConfig
from bertviz_lab.data.pretraining.batches import PretrainingBatch
from bertviz_lab.errors import InputError
from bertviz_lab.model.heads import token_logits
from bertviz_lab.model.losses import soft_target_loss
from bertviz_lab.model.weights import load_state, state_for_huggingface
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint

#: Weights of the losses: DistilBERT's training script, and MiniLM's sum with MLM beside it, which trains the head.
SOFT_TARGETS = {"soft_target_loss": 5.0, "mlm_loss": 2.0, "cosine_loss": 1.0}
RELATIONS = {"attention_relation_loss": 1.0, "value_relation_loss": 1.0, "mlm_loss": 1.0}

#: Logits of tokens, logits of pairs, and the losses.
DistilledStep = tuple[Tensor, Tensor | None, dict[str, Tensor]]


@dataclass(frozen=True)
class Distillation:
    """A teacher, and what of it the student follows."""

    teacher: nn.Module  # in evaluation mode, on the device of the training
    method: str  # "soft-targets" or "relations"
    temperature: float

    @property
    def weights(self) -> dict[str, float]:
        """Of each loss in the sum."""
        return SOFT_TARGETS if self.method == "soft-targets" else RELATIONS

    def step(self, model: nn.Module, batch: PretrainingBatch) -> DistilledStep:
        """Run student and teacher on a batch: what the student predicts, and its distance from the teacher.

        Logits are (batch, masked positions, vocabulary), and (batch, 2) of pairs. Each loss is this micro-batch's
        share of the step's mean.
        """
        return self._relations(model, batch) if self.method == "relations" else self._soft_targets(model, batch)

    def _soft_targets(self, model: nn.Module, batch: PretrainingBatch) -> DistilledStep:
        """Follow the teacher's distribution at the masked positions and, where widths are equal, its hidden states."""
        own, theirs = self._run(model, batch, masked_positions=batch.masked_positions)
        logits, asked = token_logits(own), batch.labels != IGNORE_INDEX
        divergence = soft_target_loss(logits[asked], token_logits(theirs)[asked], self.temperature)
        losses = {"soft_target_loss": divergence / max(1, batch.label_count)}
        if own.last_hidden_state.shape == theirs.last_hidden_state.shape:
            distance = cosine_loss(own.last_hidden_state[asked], theirs.last_hidden_state[asked])
            losses["cosine_loss"] = distance / max(1, batch.label_count)
        return logits, getattr(own, "seq_relationship_logits", None), losses

    def _relations(self, model: nn.Module, batch: PretrainingBatch) -> DistilledStep:
        """Follow the relations of the teacher's last layer, between all tokens."""
        own, theirs = self._run(model, batch, output_trace=True)
        layers = own.trace[-1], theirs.trace[-1]
        heads = math.gcd(*(layer.query_states.shape[1] for layer in layers))
        queries, keys, values = (
            [_relation_heads(getattr(layer, states), heads) for layer in layers]
            for states in ("query_states", "key_states", "value_states")
        )
        tokens = max(1, batch.token_count)
        losses = {
            "attention_relation_loss": relation_loss(queries, keys, batch.attention_mask) / tokens,
            "value_relation_loss": relation_loss(values, values, batch.attention_mask) / tokens,
        }
        logits_BLV = token_logits(own)
        places_BPV = batch.masked_positions[..., None].expand(-1, -1, logits_BLV.shape[-1])
        return logits_BLV.gather(1, places_BPV), getattr(own, "seq_relationship_logits", None), losses

    def _run(self, model: nn.Module, batch: PretrainingBatch, **options: Any) -> tuple[Any, Any]:
        """Return what student and teacher make of a batch; the teacher is not trained."""
        inputs = (batch.input_ids, batch.attention_mask, batch.token_type_ids)
        with torch.no_grad():
            theirs = self.teacher(*inputs, **options)
        return model(*inputs, **options), theirs


def cosine_loss(student_ND: Tensor, teacher_ND: Tensor) -> Tensor:
    """1 - cosine of the hidden states, summed over positions."""
    return (1 - F.cosine_similarity(student_ND.float(), teacher_ND.float(), dim=-1)).sum()


def relation_loss(left: list[Tensor], right: list[Tensor], attention_mask: Tensor | None) -> Tensor:
    """KL divergence of relations softmax(a b^T / sqrt(K)), a mean over heads, summed over tokens.

    `left` and `right` are the (student, teacher) states, (batch, relation heads, tokens, size) each.
    """
    shown_BL = torch.ones_like(left[0][:, 0, :, 0]) if attention_mask is None else attention_mask
    shown_B11L = shown_BL.bool()[:, None, None]
    own, theirs = (
        (a_BRLK.float() @ b_BRLK.float().transpose(-1, -2) / math.sqrt(a_BRLK.shape[-1]))
        .masked_fill(~shown_B11L, -1e9)
        .log_softmax(-1)
        for a_BRLK, b_BRLK in zip(left, right, strict=True)
    )
    divergence_BRL = F.kl_div(own, theirs, reduction="none", log_target=True).sum(-1)
    shown_BRL = shown_B11L.squeeze(2).expand_as(divergence_BRL)
    return divergence_BRL[shown_BRL].sum() / shown_BRL.shape[1]


def _relation_heads(states_BHLK: Tensor, heads: int) -> Tensor:
    """Return the concatenated heads split into `heads` pieces: (B, H, L, K) -> (B, R, L, H K / R)."""
    joined_BLD = states_BHLK.transpose(1, 2).flatten(2)
    return joined_BLD.unflatten(-1, (heads, -1)).transpose(1, 2)


def require_teacher(teacher: Checkpoint, tokenizer: Tokenizer, seq_len: int) -> None:
    """Raises `InputError` where a model cannot teach a student with this vocabulary and length."""
    if teacher.tokenizer.fingerprint != tokenizer.fingerprint:
        raise InputError(f"The teacher {teacher.name} has another vocabulary than the student, which must be the same.")
    if not hasattr(teacher.model, "mlm"):
        raise InputError(f"The teacher {teacher.name} has no head for masked tokens (MLM); choose a pretrained model.")
    if seq_len > (most := teacher.known_length):
        raise InputError(f"The teacher {teacher.name} was trained on up to {most} tokens; lower `seq_len` to that.")


def can_start_from(config: BertConfig, teacher: Checkpoint) -> bool:
    """Return whether a student of these settings has the teacher's widths, and no more layers."""
    same = ("hidden_size", "intermediate_size", "num_attention_heads", "vocab_size", "max_position_embeddings")
    equal = all(getattr(config, name) == getattr(teacher.config, name) for name in same)
    return equal and not config.share_layers and config.num_hidden_layers <= teacher.config.num_hidden_layers


def start_from_teacher(student: nn.Module, config: BertConfig, teacher: Checkpoint) -> None:
    """Take over the embeddings, the heads and evenly spaced layers (DistilBERT), where `can_start_from` says so."""
    last = teacher.config.num_hidden_layers - 1
    steps = max(1, config.num_hidden_layers - 1)
    taken = {round(layer * last / steps): layer for layer in range(config.num_hidden_layers)}
    state = {}
    for name, tensor in state_for_huggingface(teacher.model).items():
        before, separator, after = name.partition("encoder.layer.")
        number, _, rest = after.partition(".")
        if not separator:
            state[name] = tensor
        elif int(number) in taken:
            state[f"{before}{separator}{taken[int(number)]}.{rest}"] = tensor
    load_state(student, state)
