"""The reference that the lab is compared with: `transformers.BertForPreTraining` and `torch.optim.AdamW`."""

import torch
import transformers
from torch import nn

from bertviz_lab.config import BertConfig
from bertviz_lab.data.loaders import ModelInputs


class Reference:
    """A training that makes one whole step at a time; the batches are its own to move, not to prepare.

    The model has the shape of the lab's; its attention stays at the library's default, SDPA.
    """

    def __init__(self, config: BertConfig, device: torch.device, *, bf16: bool):
        torch.manual_seed(0)
        self.model = transformers.BertForPreTraining(transformers.BertConfig.from_dict(config.to_dict())).train()
        nn.Module.to(self.model, device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4)
        self.device, self.bf16 = device, bf16

    def step(self, batch: ModelInputs) -> None:
        """Forward, backward, clip at 1.0 as the library's Trainer does, update."""
        inputs = {name: tensor.to(self.device) for name, tensor in batch.items()}
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.bf16):
            loss = self.model(**inputs).loss
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
