"""On a GPU: the same model, the same losses, and a run in each number format. Skipped where there is none."""

import pytest
import torch

from bertviz_lab.training.checkpoints.checkpoint import load_checkpoint
from bertviz_lab.training.runs.events import StepDone
from tests.model.support import PRETRAINING, build, inputs, labels_for
from tests.training.support import finish, short_run, started

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")]


def test_outputs_and_gradients_are_those_of_the_cpu():
    ours, theirs = build(PRETRAINING), build(PRETRAINING).cuda()
    arguments = inputs() | labels_for(PRETRAINING)
    a = ours(**arguments)
    b = theirs(**{name: value.cuda() for name, value in arguments.items()})
    a.loss.backward()
    b.loss.backward()
    assert torch.allclose(a.prediction_logits, b.prediction_logits.cpu(), atol=1e-4)
    pairs = zip(ours.parameters(), theirs.parameters(), strict=True)
    assert max(float((p.grad - q.grad.cpu()).abs().max()) for p, q in pairs) < 1e-4


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
def test_a_run_learns_and_its_model_opens_anywhere(text, tmp_path, precision):
    events = finish(short_run(text, precision=precision, steps=60), tmp_path)
    assert started(events).device.startswith("cuda")
    losses = [event.loss for event in events if isinstance(event, StepDone)]
    assert losses[-1] < losses[0]
    model = load_checkpoint(tmp_path / "model").model
    assert all(p.device.type == "cpu" and bool(p.isfinite().all()) for p in model.parameters())
