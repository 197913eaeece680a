"""Tools that look for torch's own layers find them: LoRA by PEFT, 8-bit quantisation by torchao."""

import copy
import dataclasses

import pytest
import torch

from bertviz_lab import interpret, load_checkpoint
from bertviz_lab.model.layers import Linear

TEXTS = ("The capital of France is [MASK].", "She [MASK] a book about the war.", "It is the [MASK] city in the world.")


@pytest.fixture(scope="module")
def checkpoint():
    return load_checkpoint("wiki-mini")


@pytest.mark.filterwarnings("ignore")  # torchao's own, of operators it was not compiled with
def test_a_shipped_model_in_8_bits_answers_nearly_the_same(checkpoint):
    from torchao.quantization import Int8DynamicActivationInt8WeightConfig, quantize_

    quantized = dataclasses.replace(checkpoint, model=copy.deepcopy(checkpoint.model))
    quantize_(quantized.model, Int8DynamicActivationInt8WeightConfig())
    linears = [module for module in quantized.model.modules() if isinstance(module, Linear)]
    assert len(linears) == 4 * 6 + 3
    assert {type(module.weight).__name__ for module in linears} == {"Int8Tensor"}
    for text in TEXTS:
        (before,) = interpret.fill_mask(checkpoint, text, top_k=10).masks
        (after,) = interpret.fill_mask(quantized, text, top_k=10).masks
        assert {c.token for c in before.candidates[:3]} <= {c.token for c in after.candidates}
        assert after.candidates[0].probability == pytest.approx(before.candidates[0].probability, abs=0.05)


@pytest.mark.filterwarnings("ignore")  # those of the libraries that PEFT imports
def test_lora_trains_its_adapters_and_nothing_else(checkpoint):
    from peft import LoraConfig, get_peft_model

    base = copy.deepcopy(checkpoint.model)
    model = get_peft_model(base, LoraConfig(r=4, target_modules=["query", "value"], init_lora_weights=True))
    ids = torch.tensor([checkpoint.tokenizer.encode(TEXTS[0]).ids])
    with torch.no_grad():
        expected = checkpoint.model(ids).prediction_logits
        torch.testing.assert_close(model(ids).prediction_logits, expected, rtol=0, atol=1e-5)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=0.003)
    losses = []
    for _ in range(3):
        out = model(ids, labels=ids)
        out.loss.backward()
        with_gradient = {name for name, p in model.named_parameters() if p.grad is not None}
        assert with_gradient == {name for name, _ in model.named_parameters() if "lora_" in name}
        assert len(with_gradient) == 4 * 2 * 2
        optimizer.step()
        optimizer.zero_grad()
        losses.append(float(out.loss.detach()))
    assert losses[-1] < losses[0]
    for name, parameter in checkpoint.model.named_parameters():
        name = name.replace("query.", "query.base_layer.").replace("value.", "value.base_layer.")
        assert torch.equal(parameter, base.get_parameter(name))
