import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.flops import useful_flops
from bertviz_lab.config import BertConfig
from bertviz_lab.model import BertForPreTraining


def test_useful_operations_are_those_that_torch_counts_in_the_lab_s_forward_pass() -> None:
    batch, length, predictions = 2, 24, 3
    config = BertConfig.preset("tiny", vocab_size=100, num_hidden_layers=3)
    model = BertForPreTraining(config).eval()
    ids = torch.randint(5, 100, (batch, length))
    positions = torch.tensor([[1, 5, 9], [2, 3, 7]])
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(ids, masked_positions=positions, explicit=True)
    next_sentence = 2 * 2 * config.hidden_size  # a layer of two outputs that the arithmetic leaves out
    counted = counter.get_total_flops() - batch * next_sentence
    useful = useful_flops(config, length, predictions).forward * batch * length
    assert abs(counted - useful) < 1e-6 * counted
