"""The reference that the lab is compared with: `transformers.BertForPreTraining` and `torch.optim.AdamW`."""

from dataclasses import dataclass

import torch
import transformers
from torch import Tensor, nn

from bertviz_lab.config import IGNORE_INDEX, BertConfig
from bertviz_lab.data.pretraining.batches import PretrainingBatch


@dataclass(frozen=True)
class DenseBatch:
    """A batch as `transformers` takes it: one label for each token, -100 where nothing is to be predicted."""

    inputs: dict[str, Tensor]  # the model's arguments
    real_tokens: int


def dense(batch: PretrainingBatch) -> DenseBatch:
    """The same examples, masks and labels as one of the lab's batches, written out for every position."""
    labels = torch.full_like(batch.input_ids, IGNORE_INDEX)
    used = batch.labels != IGNORE_INDEX
    rows = torch.arange(len(labels))[:, None].expand_as(used)
    labels[rows[used], batch.masked_positions[used]] = batch.labels[used]
    mask = batch.attention_mask
    assert batch.next_sentence_label is not None
    return DenseBatch(
        inputs={
            "input_ids": batch.input_ids,
            "token_type_ids": batch.token_type_ids,
            # The library's collators always give one; without padding it costs nothing there.
            "attention_mask": torch.ones_like(batch.input_ids) if mask is None else mask.long(),
            "labels": labels,
            "next_sentence_label": batch.next_sentence_label,
        },
        real_tokens=batch.real_tokens,
    )


def huggingface_config(config: BertConfig) -> transformers.BertConfig:
    """The same shape; attention stays at the library's default, SDPA."""
    return transformers.BertConfig(
        vocab_size=config.vocab_size,
        hidden_size=config.hidden_size,
        num_hidden_layers=config.num_hidden_layers,
        num_attention_heads=config.num_attention_heads,
        intermediate_size=config.intermediate_size,
        hidden_dropout_prob=config.hidden_dropout_prob,
        attention_probs_dropout_prob=config.attention_probs_dropout_prob,
        max_position_embeddings=config.max_position_embeddings,
        pad_token_id=config.pad_token_id,
    )


class Reference:
    """A training that makes one whole step at a time; the batches are its own to move, not to prepare."""

    def __init__(self, config: BertConfig, device: torch.device, *, bf16: bool, learning_rate: float = 1e-4):
        torch.manual_seed(0)
        self.model = transformers.BertForPreTraining(huggingface_config(config)).train()
        nn.Module.to(self.model, device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=learning_rate)
        self.device, self.bf16 = device, bf16

    def step(self, batch: DenseBatch) -> None:
        """Forward, backward, clip at 1.0 as the library's Trainer does, update."""
        inputs = {name: tensor.to(self.device) for name, tensor in batch.inputs.items()}
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.bf16):
            loss = self.model(**inputs).loss
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
