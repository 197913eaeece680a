"""torch.compile: the same losses, the same names, and one line where it cannot work."""

import pytest
import torch

from bertviz_lab import load_checkpoint
from bertviz_lab.errors import InputError
from bertviz_lab.training.loop import hardware
from bertviz_lab.training.loop.hardware import compile_layers
from bertviz_lab.training.runs.events import EvalDone, StepDone
from tests.model.support import PRETRAINING, build, inputs, labels_for
from tests.training.support import after, finish, identical, short_run, weights

CPU = torch.device("cpu")
#: The compiler's own, of torch and of what it reads on its way.
pytestmark = pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor", "ignore::DeprecationWarning")


@pytest.fixture(autouse=True)
def _forget_what_was_compiled():
    limit = torch._dynamo.config.recompile_limit
    yield
    torch._dynamo.reset()
    torch._dynamo.config.recompile_limit = limit


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the compiler sees of forward and backward pass, without generating code for it."""
    monkeypatch.setattr(hardware, "_BACKEND", "aot_eager")


def loss_and_gradients(model: torch.nn.Module) -> tuple[float, list[torch.Tensor]]:
    loss = model(**inputs(), **labels_for(PRETRAINING)).loss
    loss.backward()
    return float(loss.detach()), [p.grad for p in model.parameters() if p.grad is not None]


def test_loss_and_gradients_are_those_of_the_plain_model(traced):
    plain, compiled = build(PRETRAINING), build(PRETRAINING)
    compile_layers(compiled, CPU)
    assert list(compiled.state_dict()) == list(plain.state_dict())
    (loss, gradients), (expected, expected_gradients) = map(loss_and_gradients, (compiled, plain))
    assert loss == pytest.approx(expected, abs=1e-6)
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(gradients, expected_gradients, strict=True))
    assert torch._dynamo.utils.counters["stats"]["calls_captured"] > 0


@pytest.mark.slow
def test_a_compiled_run_has_the_losses_of_a_plain_one_and_resumes(text, tmp_path, traced):
    config = short_run(text, compile=True, optimizer="adamw")
    whole = finish(config, tmp_path / "whole")
    plain = finish(short_run(text, optimizer="adamw"), tmp_path / "plain")
    first, second = ([event.loss for event in events if isinstance(event, StepDone)][:3] for events in (whole, plain))
    assert first == pytest.approx(second, abs=1e-5)
    scores = [[event for event in events if isinstance(event, EvalDone)][-1].metrics for events in (whole, plain)]
    assert scores[0]["mlm_loss"] == pytest.approx(scores[1]["mlm_loss"], abs=1e-4)
    finish(config, tmp_path / "parts", after(5))
    finish(config, tmp_path / "parts", resume=True)
    assert identical(weights(tmp_path / "whole" / "model"), weights(tmp_path / "parts" / "model"))
    assert load_checkpoint(tmp_path / "whole" / "model").report.missing == ()


@pytest.mark.thorough
def test_generated_code_has_the_loss_of_the_plain_model():
    plain, compiled = build(PRETRAINING), build(PRETRAINING)
    try:
        compile_layers(compiled, CPU)
    except InputError as error:
        pytest.skip(str(error))
    (loss, gradients), (expected, expected_gradients) = map(loss_and_gradients, (compiled, plain))
    assert loss == pytest.approx(expected, abs=1e-5)
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(gradients, expected_gradients, strict=True))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_on_a_gpu_generated_code_has_the_loss_of_the_plain_model():
    plain, compiled = build(PRETRAINING).cuda(), build(PRETRAINING).cuda()
    compile_layers(compiled, torch.device("cuda"))
    batch = {name: value.cuda() for name, value in {**inputs(), **labels_for(PRETRAINING)}.items()}
    assert float(compiled(**batch).loss) == pytest.approx(float(plain(**batch).loss), abs=1e-4)


def test_a_machine_that_cannot_compile_is_one_clear_line(monkeypatch):
    def broken(graph, example_inputs):
        raise RuntimeError("No C++ compiler.\nInstall one.")

    monkeypatch.setattr(hardware, "_BACKEND", broken)
    with pytest.raises(
        InputError, match=r"^torch\.compile does not work on this machine \(.*C\+\+ compiler.*\): leave"
    ):
        compile_layers(build(PRETRAINING), CPU)
