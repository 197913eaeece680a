"""The presets have the parameter counts of the published models."""

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
