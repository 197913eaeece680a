"""Gradient checkpointing: the same training, to the last bit, with less memory."""

import torch

from bertviz_lab import BertForPreTraining
from bertviz_lab.config import BertConfig, PretrainConfig
from bertviz_lab.model.encoder import set_gradient_checkpointing
from bertviz_lab.training.pretraining.setup import estimate_memory
from tests.model.support import small_config
from tests.training.support import after, finish, identical, short_run, weights


def test_it_may_be_turned_on_when_a_run_is_resumed(text, tmp_path):
    finish(short_run(text, dropout=0.1), tmp_path / "whole")
    finish(short_run(text, dropout=0.1), tmp_path / "parts", after(5))
    finish(short_run(text, dropout=0.1, gradient_checkpointing=True), tmp_path / "parts", resume=True)
    assert identical(weights(tmp_path / "whole" / "model"), weights(tmp_path / "parts" / "model"))


def kept_bytes(on: bool) -> int:
    """What a forward pass keeps for the backward pass."""
    config = small_config(num_hidden_layers=6)
    model = BertForPreTraining(config, generator=torch.Generator().manual_seed(0)).train()
    set_gradient_checkpointing(model, on)
    kept: dict[int, int] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    ids = torch.randint(5, config.vocab_size, (8, config.max_position_embeddings))
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        model(ids, labels=ids)
    own = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    return sum(size for place, size in kept.items() if place not in own)


def test_less_is_kept_for_the_backward_pass():
    assert kept_bytes(True) < 0.5 * kept_bytes(False)


def test_the_memory_estimate_knows_of_it():
    model, settings = BertConfig.preset("base", vocab_size=8192), PretrainConfig(corpus=("x",), preset="base")
    plain = estimate_memory(model, settings)
    on = estimate_memory(model, PretrainConfig(corpus=("x",), preset="base", gradient_checkpointing=True))
    assert on.total < 0.8 * plain.total
    assert on.weights == plain.weights
