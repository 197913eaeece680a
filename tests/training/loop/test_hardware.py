"""Where a run computes, and in which number format."""

import pytest
import torch
from accelerate.utils import DistributedType

from bertviz_lab.config import BertConfig
from bertviz_lab.errors import InputError
from bertviz_lab.training.loop import hardware
from bertviz_lab.training.loop.hardware import available_cores, choose_hardware, start_accelerator

CONFIG = BertConfig.preset("tiny", vocab_size=50)


@pytest.mark.parametrize(("precision", "expected"), [("fp32", torch.float32), ("bf16", torch.bfloat16)])
def test_matrix_products_are_in_the_chosen_format(precision, expected):
    chosen = choose_hardware(precision, CONFIG, threads=1)
    assert chosen.precision == precision
    x = torch.randn(4, 4, device=chosen.device)
    with chosen.autocast():
        assert (x @ x).dtype == expected
    assert (x @ x).dtype == torch.float32


@pytest.mark.parametrize("pays", [True, False])
def test_automatic_precision_takes_what_was_measured_to_be_faster(pays, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(hardware, "bf16_is_faster", lambda config: pays)
    assert choose_hardware("auto", CONFIG, threads=1).precision == ("bf16" if pays else "fp32")


def test_the_measurement_ends_in_time():
    assert hardware.bf16_is_faster(CONFIG, tries=2) in (True, False)


def test_threads_are_those_asked_for_or_all_cores():
    threads = torch.get_num_threads()
    try:
        assert choose_hardware("fp32", CONFIG, threads=1).threads == torch.get_num_threads() == 1
        assert choose_hardware("fp32", CONFIG).threads == torch.get_num_threads() == available_cores()
    finally:
        torch.set_num_threads(threads)


def test_sharded_models_are_refused_with_what_to_do_instead(monkeypatch):
    class Sharded:
        distributed_type = DistributedType.FSDP

    monkeypatch.setattr(hardware, "Accelerator", lambda **_: Sharded())
    with pytest.raises(InputError, match=r"not with FSDP: .* plain multi-GPU"):
        start_accelerator()
