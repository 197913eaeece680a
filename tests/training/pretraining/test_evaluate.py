"""Scores on held-out text: always the same, and without a trace on the model."""

import numpy as np
import pytest
import torch

from bertviz_lab.data.batches import BatchStream
from bertviz_lab.errors import InputError
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint
from bertviz_lab.training.pretraining.evaluate import (
    FULL_EVAL,
    QUICK_EVAL,
    eval_batches,
    evaluate_pretraining,
    evaluate_text,
)
from tests.data.support import corpus_of_ids
from tests.model.support import MASKED_LM, NEXT_SENTENCE, PRETRAINING, SEQUENCE, TOKENS, build, small_config
from tests.training.support import CPU, small_data, time_limit, write_text


@pytest.fixture
def batches(tokenizer):
    return list(eval_batches(small_data(tokenizer), QUICK_EVAL))


def test_evaluating_twice_gives_the_same_scores_and_no_gradients(batches):
    model = build(PRETRAINING, small_config(hidden_dropout_prob=0.4, attention_probs_dropout_prob=0.4)).train()
    stream = torch.get_rng_state()
    first = evaluate_pretraining(model, batches, CPU)
    assert evaluate_pretraining(model, batches, CPU) == first
    assert first.keys() == {"mlm_loss", "mlm_accuracy", "nsp_loss", "nsp_accuracy", "nsp_accuracy_se", "nsp_majority"}
    assert all(parameter.grad is None for parameter in model.parameters())
    assert model.training
    assert all(module.training for module in model.modules())
    assert torch.equal(torch.get_rng_state(), stream)


def test_scores_are_means_over_all_labels_and_not_over_batches(batches, tokenizer):
    model = build(PRETRAINING)
    uneven = [batches[0], batches[1].micro_batch(0, 8)]
    scores = evaluate_pretraining(model, uneven, CPU)
    loss = hits = count = 0
    for batch in uneven:
        out = model(
            batch.input_ids, batch.attention_mask, batch.token_type_ids, masked_positions=batch.masked_positions
        ).prediction_logits.detach()
        kept = batch.labels != -100
        picked = out[kept].log_softmax(-1)
        loss -= float(picked.gather(1, batch.labels[kept][:, None]).sum())
        hits += int((picked.argmax(-1) == batch.labels[kept]).sum())
        count += int(kept.sum())
    assert scores["mlm_loss"] == pytest.approx(loss / count, rel=1e-5)
    assert scores["mlm_accuracy"] == pytest.approx(hits / count)


def test_the_first_pass_is_scored_always_the_same_and_enough_pairs_decide(tokenizer):
    data = small_data(tokenizer)
    batches, again = (list(eval_batches(data, FULL_EVAL)) for _ in range(2))
    assert sum(len(batch.input_ids) for batch in batches) == sum(len(rows) for rows in data.epoch(0))
    assert all(torch.equal(a.input_ids, b.input_ids) for a, b in zip(batches, again, strict=True))
    stream = BatchStream(data)
    assert all(torch.equal(batch.labels, next(stream).labels) for batch in batches)
    rng = np.random.default_rng(0)
    texts = [[rng.integers(5, 53, size=5).tolist() for _ in range(12)] for _ in range(1_000)]
    documents = corpus_of_ids(texts).select(np.arange(1_000))
    pairs = sum(batch.pair_count for batch in eval_batches(small_data(tokenizer, documents=documents), FULL_EVAL))
    assert pairs >= 2_000
    data = small_data(tokenizer)
    assert sum(batch.pair_count for batch in eval_batches(data, FULL_EVAL)) == sum(map(len, data.epoch(0))) < 2_000


def test_the_standard_error_of_nsp_accuracy_is_that_of_a_share_of_independent_pairs(tokenizer):
    batches = list(eval_batches(small_data(tokenizer), FULL_EVAL))
    scores = evaluate_pretraining(build(PRETRAINING), batches, CPU)
    share, pairs = scores["nsp_accuracy"], sum(batch.pair_count for batch in batches)
    assert 0 < share < 1
    assert scores["nsp_accuracy_se"] == pytest.approx((share * (1 - share) / pairs) ** 0.5)


def test_held_out_text_without_a_pair_is_refused_and_does_not_hang(tokenizer):
    documents = corpus_of_ids([[[7] * 9]] * 20).select(np.arange(20))
    with time_limit(5), pytest.raises(InputError, match="no document has two sentences"):
        list(eval_batches(small_data(tokenizer, documents=documents, pairs="sop"), QUICK_EVAL))


@pytest.mark.parametrize(("task", "kind"), [("mlm", MASKED_LM), ("mlm", PRETRAINING), ("nsp", NEXT_SENTENCE)])
def test_a_text_file_is_scored_the_same_each_time(task, kind, tokenizer, tmp_path):
    text = write_text(tmp_path / "text.txt", documents=20)
    model = build(kind)
    checkpoint = Checkpoint(model, tokenizer, model.config, name="small")
    scores = evaluate_text(checkpoint, [str(text)], task)
    assert scores.keys() - {"nsp_accuracy_se", "nsp_majority"} == {f"{task}_loss", f"{task}_accuracy"}
    assert evaluate_text(checkpoint, [str(text)], task) == scores
    assert evaluate_text(checkpoint, [str(text)], task, seed=1) != scores


def test_what_cannot_be_scored_is_refused(tokenizer, tmp_path):
    text = write_text(tmp_path / "text.txt", documents=1)
    for kind, task in ((TOKENS, "mlm"), (SEQUENCE, "nsp"), (MASKED_LM, "nsp")):
        model = build(kind)
        with pytest.raises(InputError, match=f"{kind} and cannot be scored on {task}"):
            evaluate_text(Checkpoint(model, tokenizer, model.config, name="small"), [str(text)], task)
    model = build(PRETRAINING)
    with pytest.raises(InputError, match="at least two"):
        evaluate_text(Checkpoint(model, tokenizer, model.config, name="small"), [str(text)], "nsp")
    for length in (-1, 0, 7):
        with pytest.raises(InputError, match=f"A length of {length} tokens is too short; choose at least 8"):
            evaluate_text(Checkpoint(model, tokenizer, model.config, name="small"), [str(text)], "mlm", seq_len=length)
