"""The backbone: its inputs, its outputs, and computing only what is asked for."""

import dataclasses

import pytest
import torch

from bertviz_lab.config import PRESETS, BertConfig
from bertviz_lab.model import (
    BertForMaskedLM,
    BertForNextSentencePrediction,
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
)
from bertviz_lab.model.layers import dropout
from tests.model.support import LENGTH, MASKED_LM, MODEL, PRETRAINING, build, gradients, inputs, largest_difference

POSITIONS = torch.tensor([[1, 4, 9], [7, 2, 0], [3, 0, 0]])  # unused places point at [CLS]
LABELS = torch.tensor([[6, 0, 52], [11, 40, -100], [17, -100, -100]])


def whole_labels() -> torch.Tensor:
    labels = torch.full((3, LENGTH), -100)
    for row in range(3):
        for position, label in zip(POSITIONS[row], LABELS[row], strict=True):
            if label != -100:
                labels[row, position] = label
    return labels


@pytest.mark.parametrize("explicit", [True, False], ids=["explicit", "fused"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("padded", [False, True, None])
@pytest.mark.parametrize("kind", [PRETRAINING, MASKED_LM], ids=str)
def test_computing_some_positions_only_gives_the_same_loss_and_gradients(kind, padded, causal, explicit):
    model = build(kind)
    arguments = inputs(padded=bool(padded)) | {"causal": causal, "explicit": explicit}
    if padded is None:
        del arguments["attention_mask"]
    if kind is PRETRAINING:
        arguments["next_sentence_label"] = torch.tensor([1, 0, 1])
    a = model(**arguments, labels=whole_labels())
    b = model(**arguments, labels=LABELS, masked_positions=POSITIONS)
    assert largest_difference(a.loss, b.loss) < 1e-6
    expected, actual = gradients(model, a.loss), gradients(model, b.loss)
    assert max(largest_difference(actual[name], expected[name]) for name in expected) < 1e-6


@pytest.mark.parametrize("causal", [False, True])
def test_one_row_of_positions_is_that_of_every_text(causal):
    model = build(MODEL)
    some = model(**inputs(), masked_positions=POSITIONS[:1], causal=causal)
    each = model(**inputs(), masked_positions=POSITIONS[:1].expand(3, -1), causal=causal)
    assert torch.equal(some.last_hidden_state, each.last_hidden_state)
    with pytest.raises(RuntimeError, match="expanded size"):
        model(**inputs(), masked_positions=POSITIONS[:2])


@pytest.mark.parametrize("given", [{}, {"input_ids": torch.zeros(1, 2).long(), "inputs_embeds": torch.zeros(1, 2, 24)}])
def test_ids_or_embeddings_are_given_and_not_both(given):
    with pytest.raises(ValueError, match="either input_ids or inputs_embeds"):
        build(MODEL)(**given)


def test_only_what_is_asked_for_comes_back():
    model = build(MODEL)
    out = model(**inputs())
    assert out.hidden_states is out.attentions is out.trace is None
    out = model(**inputs(), output_hidden_states=True)
    assert out.attentions is out.trace is None
    assert out.hidden_states[-1] is out.last_hidden_state
    with pytest.raises(dataclasses.FrozenInstanceError):
        out.trace = ()


#: For V = 30522, 512 positions, 2 segments, tied weights counted once:
#: no pooler, model, masked LM, pretraining, classifier of 2, token classifier of 9, question answering.
COUNTS = {
    "tiny": (4_369_408, 4_385_920, 4_416_698, 4_433_468, 4_386_178, 4_370_569, 4_369_666),
    "mini": (11_104_768, 11_170_560, 11_201_594, 11_267_900, 11_171_074, 11_107_081, 11_105_282),
    "small": (28_500_992, 28_763_648, 28_795_194, 29_058_876, 28_764_674, 28_505_609, 28_502_018),
    "medium": (41_110_528, 41_373_184, 41_404_730, 41_668_412, 41_374_210, 41_115_145, 41_111_554),
    "base": (108_891_648, 109_482_240, 109_514_298, 110_106_428, 109_483_778, 108_898_569, 108_893_186),
    "large": (334_092_288, 335_141_888, 335_174_458, 336_226_108, 335_143_938, 334_101_513, 334_094_338),
}


def count(model: torch.nn.Module) -> int:
    assert all(parameter.is_meta for parameter in model.parameters())
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_has_the_parameters_of_its_published_model(preset):
    config = BertConfig.preset(preset)
    with torch.device("meta"):  # no memory, no time: even large is there at once
        counts = (
            count(BertModel(config, add_pooling_layer=False)),
            count(BertModel(config)),
            count(BertForMaskedLM(config)),
            count(BertForPreTraining(config)),
            count(BertForSequenceClassification(config)),
            count(BertForTokenClassification(config.replace(num_labels=9))),
            count(BertForQuestionAnswering(config)),
        )
        next_sentence = count(BertForNextSentencePrediction(config))
    assert counts == COUNTS[preset]
    assert next_sentence == COUNTS[preset][1] + 2 * config.hidden_size + 2


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_dropout_zeroes_its_share_of_every_place_and_keeps_the_mean(kind: torch.dtype):
    torch.manual_seed(0)
    x = torch.ones(3, 10_001, 4, dtype=kind, requires_grad=True)
    dropped = dropout(x, 0.25)
    dropped.sum().backward()
    assert x.grad is not None
    assert torch.equal(dropped, x.grad)  # what was zeroed has no gradient, and the rest is scaled in it too
    assert set(dropped.detach().unique().tolist()) == {0.0, float(torch.tensor(4 / 3, dtype=kind))}
    shares = (dropped == 0).float().mean((0, 1))  # the four that share a random number
    assert torch.allclose(shares, torch.tensor(0.25), atol=0.015)  # six standard deviations
    zeroed = (dropped == 0).view(-1, 4).float()
    assert zeroed.T.corrcoef().triu(1).abs().max() < 0.04
    assert (dropout(x, 0.999999) == 0).float().mean() > 0.999
    assert dropout(x, 0.25, training=False) is x
