"""Where a run computes, and in which number format."""

import pytest
import torch
from accelerate.utils import DistributedType
from torch import nn

from bertviz_lab import load_checkpoint
from bertviz_lab.config.cores import available_cores
from bertviz_lab.errors import InputError
from bertviz_lab.training.loop import hardware
from bertviz_lab.training.loop.hardware import Hardware, choose_hardware, compile_layers, start_accelerator
from bertviz_lab.training.loop.optim import clip_and_step
from bertviz_lab.training.runs.events import StepDone
from tests.model.support import PRETRAINING, build, inputs, labels_for
from tests.training.support import finish, same, short_run, started, weights


@pytest.mark.parametrize(("precision", "expected"), [("fp32", torch.float32), ("bf16", torch.bfloat16)])
def test_matrix_products_are_in_the_chosen_format(precision, expected):
    chosen = choose_hardware(precision, threads=1)
    assert chosen.precision == precision
    x = torch.randn(4, 4, device=chosen.device)
    with chosen.autocast():
        assert (x @ x).dtype == expected
    assert (x @ x).dtype == torch.float32


@pytest.mark.parametrize(
    ("processor", "expected"),
    [({"amx_bf16": True}, "bf16"), ({"avx512_bf16": True}, "bf16"), ({"bf16": True}, "bf16"), ({"avx2": True}, "fp32")],
)
def test_automatic_precision_on_a_cpu_is_decided_by_its_instructions_and_by_no_clock(processor, expected, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: processor)
    monkeypatch.delattr("time.perf_counter")
    assert choose_hardware("auto", threads=1).precision == expected


def test_an_unknown_precision_and_sharded_fp16_are_refused(monkeypatch):
    with pytest.raises(InputError, match="not 'float32'"):
        choose_hardware("float32", threads=1)

    class Sharded:
        device, num_processes, is_main_process = torch.device("cpu"), 2, True

    monkeypatch.setenv("ACCELERATE_USE_FSDP", "true")
    monkeypatch.setattr(hardware, "broadcast_object", lambda accelerator, value: value)
    with pytest.raises(InputError, match="fp32 or bf16"):
        choose_hardware("fp16", threads=1, accelerator=Sharded())


def test_threads_are_those_asked_for_or_all_cores(monkeypatch):
    threads = torch.get_num_threads()
    try:
        assert choose_hardware("fp32", threads=1).threads == torch.get_num_threads() == 1
        assert choose_hardware("fp32").threads == torch.get_num_threads() == available_cores()
        monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")  # as a container's quota would
        assert choose_hardware("fp32").threads == 1
    finally:
        torch.set_num_threads(threads)


@pytest.mark.parametrize("kind", [DistributedType.DEEPSPEED, DistributedType.FSDP])
def test_other_ways_to_divide_a_model_are_refused_with_what_to_do_instead(monkeypatch, kind):
    class Divided:
        distributed_type, is_fsdp2 = kind, False

    monkeypatch.setattr(hardware, "Accelerator", lambda **_: Divided())
    with pytest.raises(InputError, match=rf"not with {kind.value}: .* plain multi-GPU .* --fsdp_version 2"):
        start_accelerator()


@pytest.mark.parametrize("real_bf16", [True, False])
def test_automatic_precision_on_a_gpu_is_bf16_only_where_it_is_not_emulated(real_bf16, monkeypatch):
    def is_bf16_supported(including_emulation: bool = True) -> bool:
        return real_bf16 or including_emulation  # a T4 or V100 emulates it

    class OneGpu:
        device, num_processes = torch.device("cuda"), 1

    monkeypatch.setattr(torch.cuda, "is_bf16_supported", is_bf16_supported)
    monkeypatch.setattr(torch.amp, "GradScaler", lambda device, enabled: f"scaler on {device}" if enabled else None)
    chosen = choose_hardware("auto", threads=1, accelerator=OneGpu())
    assert chosen.precision == ("bf16" if real_bf16 else "fp16")
    assert chosen.scaler == (None if real_bf16 else "scaler on cuda")


@pytest.mark.parametrize("overflowing", ["matrix", "vector"])
def test_after_an_overflow_in_fp16_all_optimizers_skip_the_step(overflowing):
    """Muon has the matrix and AdamW the vector; the clipping norm is shared, so the decision must be too."""
    torch.manual_seed(0)
    model = nn.ParameterDict({"matrix": torch.randn(4, 4), "vector": torch.randn(4)})
    optimizers = [torch.optim.AdamW([model["vector"]], lr=0.1, fused=True), torch.optim.Muon([model["matrix"]], lr=0.1)]
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    here = Hardware(torch.device("cpu"), "fp16", 1, scaler=scaler)
    before = {name: value.detach().clone() for name, value in model.items()}

    loss = model["matrix"].sum() + model["vector"].sum()
    here.backward(loss + model[overflowing].sum() * 1e38)
    assert float(clip_and_step(model, optimizers, 1.0, here.scaler)) == 0.0
    assert all(torch.equal(model[name], before[name]) for name in before)
    assert scaler.get_scale() == 512.0

    here.backward(model["matrix"].sum() + model["vector"].sum())
    assert float(clip_and_step(model, optimizers, 1.0, here.scaler)) == pytest.approx(20**0.5)
    assert all(bool(value.isfinite().all()) and not torch.equal(value, before[name]) for name, value in model.items())


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
def test_a_compiled_run_trains_the_weights_of_a_plain_one(text, tmp_path, traced):
    same_shape = {"optimizer": "adamw", "layers": 1, "causal_share": 0.0, "short_share": 0.0}  # compiled once
    for name in ("plain", "compiled"):
        finish(short_run(text, compile=name == "compiled", **same_shape), tmp_path / name)
    assert same(*(weights(tmp_path / name / "model") for name in ("plain", "compiled")), tolerance=1e-4)


on_a_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")


@pytest.mark.gpu
@on_a_gpu
def test_outputs_and_gradients_on_a_gpu_are_those_of_the_cpu():
    ours, theirs = build(PRETRAINING), build(PRETRAINING).cuda()
    arguments = inputs() | labels_for(PRETRAINING)
    a = ours(**arguments)
    b = theirs(**{name: value.cuda() for name, value in arguments.items()})
    a.loss.backward()
    b.loss.backward()
    assert torch.allclose(a.prediction_logits, b.prediction_logits.cpu(), atol=1e-4)
    pairs = zip(ours.parameters(), theirs.parameters(), strict=True)
    assert max(float((p.grad - q.grad.cpu()).abs().max()) for p, q in pairs) < 1e-4


@pytest.mark.gpu
@on_a_gpu
@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
def test_a_run_on_a_gpu_learns_and_its_model_opens_anywhere(text, tmp_path, precision):
    events = finish(short_run(text, precision=precision, steps=60), tmp_path)
    assert started(events).device.startswith("cuda")
    losses = [event.loss for event in events if isinstance(event, StepDone)]
    assert losses[-1] < losses[0]
    model = load_checkpoint(tmp_path / "model").model
    assert all(p.device.type == "cpu" and bool(p.isfinite().all()) for p in model.parameters())


def test_a_machine_that_cannot_compile_is_one_clear_line(monkeypatch):
    def broken(graph, example_inputs):
        raise RuntimeError("No C++ compiler.\nInstall one.")

    monkeypatch.setattr(hardware, "_BACKEND", broken)
    with pytest.raises(
        InputError, match=r"^torch\.compile does not work on this machine \(.*C\+\+ compiler.*\): leave"
    ):
        compile_layers(build(PRETRAINING), CPU)
