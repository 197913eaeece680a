"""Activations that are replaced: the same as with hooks on the modules of `transformers`."""

import pytest
import torch

from bertviz_lab.model import Patch
from tests.model.support import (
    LENGTH,
    MASKED_LM,
    PRETRAINING,
    as_huggingface,
    build,
    inputs,
    largest_difference,
)

#: The module of a layer in `transformers` whose output each stage is.
MODULES = {
    "value_states": "attention.self.value",
    "context": "attention.self",
    "attention_projection": "attention.output.dense",
    "feed_forward_projection": "output.dense",
    "layer_output": "",
}
LAYER, POSITION, HEADS = 1, 4, 4
BY_HEAD = ("value_states", "context")


def patch_of(stage: str) -> Patch:
    """Replace one position of an activation by random numbers; of a stage with heads, in one head only."""
    where = torch.zeros(1, HEADS, LENGTH, 1, dtype=torch.bool) if stage in BY_HEAD else torch.zeros(1, LENGTH, 1).bool()
    where[..., POSITION, 0] = True
    if stage in BY_HEAD:
        where[:, 1:] = False
    size = (1, HEADS, LENGTH, 6) if stage in BY_HEAD else (1, LENGTH, 24)
    return Patch(LAYER, stage, where, torch.randn(size, generator=torch.Generator().manual_seed(1)))


def flat(stage: str, x: torch.Tensor) -> torch.Tensor:
    """An activation with its heads side by side, as modules of `transformers` return it."""
    return x.transpose(1, 2).flatten(2) if stage in BY_HEAD else x


@pytest.mark.parametrize("explicit", [True, False], ids=["explicit", "fused"])
@pytest.mark.parametrize("stage", MODULES)
def test_a_patch_is_what_a_hook_on_transformers_makes_of_it(stage, explicit):
    model, patch = build(PRETRAINING), patch_of(stage)
    theirs = as_huggingface(PRETRAINING, model)
    where, values = flat(stage, patch.where.expand_as(patch.values)), flat(stage, patch.values)

    def replace(module, arguments, output):
        first, *more = output if isinstance(output, tuple) else (output,)
        replaced = torch.where(where, values, first)
        return (replaced, *more) if isinstance(output, tuple) else replaced

    unpatched = theirs(**inputs())
    theirs.bert.encoder.layer[LAYER].get_submodule(MODULES[stage]).register_forward_hook(replace)
    expected, found = theirs(**inputs()), model(**inputs(), patches=[patch], explicit=explicit)
    for name in PRETRAINING.outputs:
        assert largest_difference(getattr(found, name), getattr(expected, name)) < 1e-5
        assert largest_difference(getattr(expected, name), getattr(unpatched, name)) > 1e-3


@pytest.mark.parametrize("stage", MODULES)
def test_the_last_layer_is_patched_where_some_positions_are_computed_only(stage):
    model, patch = build(MASKED_LM), patch_of(stage)._replace(layer=2)
    whole = model(**inputs(), patches=[patch]).logits
    positions = torch.tensor([[POSITION, 1]]).expand(3, -1)
    some = model(**inputs(), patches=[patch], masked_positions=positions).logits
    assert largest_difference(some, whole[:, [POSITION, 1]]) < 1e-5
