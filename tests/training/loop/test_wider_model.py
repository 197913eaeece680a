"""A wider model predicts what the one it is made from does, and learns with all of its units."""

from pathlib import Path

import pytest
import torch

from bertviz_lab.config import PretrainConfig
from bertviz_lab.errors import InputError
from bertviz_lab.model import BertForMaskedLM, BertForPreTraining, BertForSequenceClassification
from bertviz_lab.training.checkpoints.checkpoint import load_checkpoint
from bertviz_lab.training.loop.growth import widened
from bertviz_lab.training.runs.events import EvalDone
from tests.family_checkpoints import MODEL_TYPES, family_checkpoint
from tests.little import little_checkpoint
from tests.training.support import after, finish, identical, short_run, started, weights

IDS = torch.randint(5, 60, (3, 12), generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("factor", [2, 3])
@pytest.mark.parametrize("kind", [BertForPreTraining, BertForMaskedLM, BertForSequenceClassification])
@torch.no_grad()
def test_a_wider_model_has_the_same_predictions_and_attention(kind: type, factor: int) -> None:
    narrow = little_checkpoint(kind=kind).model
    for parameter in narrow.parameters():  # no zeros and ones, which would hide a mistake
        parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(len(parameter))) * 0.2)
    wide = widened(narrow, factor)
    before, after = (found.eval()(IDS, output_trace=True) for found in (narrow, wide))
    for name in ("logits", "prediction_logits", "seq_relationship_logits"):
        if hasattr(before, name):
            torch.testing.assert_close(getattr(after, name), getattr(before, name), atol=2e-5, rtol=1e-4)
    for one, other in zip(before.trace, after.trace, strict=True):
        copies = one.attention_probs.repeat(1, factor, 1, 1)
        torch.testing.assert_close(other.attention_probs, copies, atol=1e-5, rtol=1e-4)
    assert wide.config.hidden_size == factor * narrow.config.hidden_size
    assert wide.config.head_size == narrow.config.head_size


def test_the_copies_of_a_unit_come_apart() -> None:
    wide = widened(little_checkpoint(kind=BertForPreTraining).model, 2).train()
    optimizer = torch.optim.SGD(wide.parameters(), lr=0.1)
    for _ in range(2):
        wide(IDS, labels=IDS).loss.backward()
        optimizer.step()
    for name, parameter in wide.named_parameters():
        if name.startswith("bert.encoder") and name.endswith("weight"):
            one, other = parameter.detach().chunk(2)
            assert not torch.allclose(one, other, atol=1e-7), name


@pytest.mark.parametrize("model_type", MODEL_TYPES)
def test_another_family_is_not_made_wider(model_type: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Only a BERT can be made wider"):
        widened(family_checkpoint(model_type, tmp_path).model, 2)


def test_the_width_is_of_a_model_that_is_trained_further() -> None:
    with pytest.raises(InputError, match="--init-from"):
        PretrainConfig(corpus=("text",), width_factor=2)


@pytest.mark.training
def test_a_run_goes_on_where_the_narrow_model_ended_and_is_resumed_with_its_own_weights(text, tmp_path) -> None:
    events = finish(short_run(text, steps=40), tmp_path / "narrow")
    ended = [event for event in events if isinstance(event, EvalDone)][-1]
    config = short_run(text, init_from=str(tmp_path / "narrow/model"), width_factor=2)
    events = finish(config, tmp_path / "whole")
    began = next(event for event in events if isinstance(event, EvalDone))
    assert began.metrics == pytest.approx(ended.metrics, rel=1e-4)
    assert any("2 times as wide" in note for note in started(events).notes)
    trained = load_checkpoint(tmp_path / "whole/model")
    assert trained.config.hidden_size == 2 * load_checkpoint(tmp_path / "narrow/model").config.hidden_size
    assert "made 2 times as wide" in trained.card
    finish(config, tmp_path / "halves", should_stop=after(6))
    finish(config, tmp_path / "halves", resume=True)
    assert identical(weights(tmp_path / "whole/model"), weights(tmp_path / "halves/model"))
