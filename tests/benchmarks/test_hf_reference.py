import torch

from benchmarks.hf_reference import Reference, dense
from bertviz_lab.config import BertConfig
from bertviz_lab.data.pretraining.batches import PretrainingBatch
from bertviz_lab.model import BertForPreTraining
from bertviz_lab.model.weights import load_state

CONFIG = BertConfig.preset(
    "tiny", vocab_size=60, num_hidden_layers=2, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
)
BATCH = PretrainingBatch(
    input_ids=torch.arange(5, 25).view(2, 10),
    token_type_ids=torch.tensor([[0] * 6 + [1] * 4, [0] * 8 + [1] * 2]),
    attention_mask=torch.tensor([[1] * 10, [1] * 8 + [0] * 2]).bool(),
    masked_positions=torch.tensor([[1, 4], [6, 0]]),
    labels=torch.tensor([[7, 8], [9, -100]]),
    draws=torch.zeros(2, 2),
    next_sentence_label=torch.tensor([0, 1]),
    real_tokens=18,
    label_count=3,
    pair_count=2,
    token_count=18,
)


def test_both_sides_are_given_the_same_work() -> None:
    reference = Reference(CONFIG, torch.device("cpu"), bf16=False)
    theirs = reference.model(**dense(BATCH).inputs).loss
    ours = BertForPreTraining(CONFIG)
    assert not load_state(ours, reference.model.state_dict()).missing
    out = ours(
        BATCH.input_ids,
        BATCH.attention_mask,
        BATCH.token_type_ids,
        labels=BATCH.labels,
        next_sentence_label=BATCH.next_sentence_label,
        masked_positions=BATCH.masked_positions,
    )
    torch.testing.assert_close(out.loss, theirs, rtol=1e-5, atol=1e-5)


def test_labels_stand_at_their_positions_and_nowhere_else() -> None:
    labels = dense(BATCH).inputs["labels"]
    assert labels[0, 1] == 7
    assert labels[0, 4] == 8
    assert labels[1, 6] == 9
    assert (labels != -100).sum() == 3
