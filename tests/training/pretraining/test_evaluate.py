"""Scores on held-out text and on probes: always the same, and without a trace on the model or the run."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from bertviz_lab import BertForMaskedLM, BertForPreTraining, BertForSequenceClassification, Checkpoint
from bertviz_lab.data.batches import BatchStream
from bertviz_lab.data.probes import Probes
from bertviz_lab.data.probes.minimal_pairs import MinimalPair
from bertviz_lab.errors import InputError
from bertviz_lab.interpret import next_sentence, pseudo_log_likelihood
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.training.pretraining.evaluate import (
    FULL_EVAL,
    QUICK_EVAL,
    eval_batches,
    evaluate_pretraining,
    evaluate_text,
)
from bertviz_lab.training.pretraining.probe_scorer import PairScore, ProbeScorer, probe_accuracy, text_of
from bertviz_lab.training.runs.events import ProbesDone, SnapshotSaved
from tests.data.support import corpus_of_ids
from tests.little import little_checkpoint
from tests.model.support import MASKED_LM, NEXT_SENTENCE, PRETRAINING, SEQUENCE, TOKENS, build, small_config
from tests.training.support import CPU, finish, short_run, small_data, time_limit, write_text


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


def test_pairs_are_drawn_as_the_model_was_trained_unless_told_otherwise(tokenizer, tmp_path):
    text = write_text(tmp_path / "text.txt", documents=60)
    model = build(NEXT_SENTENCE)
    majorities = {}
    for trained in (None, True):
        checkpoint = Checkpoint(model, tokenizer, model.config.replace(balanced_pairs=trained))
        for given in (None, True, False):
            scores = evaluate_text(checkpoint, [str(text)], "nsp", seq_len=12, balanced=given)
            majorities[trained, given] = scores["nsp_majority"]
    assert majorities[None, None] == majorities[None, False] == majorities[True, False] > 0.55
    assert majorities[True, None] == majorities[True, True] == majorities[None, True] == pytest.approx(0.5, abs=0.01)


def test_what_cannot_be_scored_is_refused(tokenizer, tmp_path):
    text = write_text(tmp_path / "text.txt", documents=1)
    for kind, task in ((TOKENS, "mlm"), (SEQUENCE, "nsp"), (MASKED_LM, "nsp")):
        model = build(kind)
        with pytest.raises(InputError, match=f"{kind} and cannot be scored on {task}"):
            evaluate_text(Checkpoint(model, tokenizer, model.config, name="small"), [str(text)], task)
    model = build(PRETRAINING)
    with pytest.raises(InputError, match="at least two"):
        evaluate_text(Checkpoint(model, tokenizer, model.config, name="small"), [str(text)], "nsp")
    (tmp_path / "single.txt").write_text("One sentence.\n\nAnother one.\n", encoding="utf-8")
    with pytest.raises(InputError, match="no sentence has a next one"):
        evaluate_text(Checkpoint(model, tokenizer, model.config), [str(tmp_path / "single.txt")], "nsp")
    for length in (-1, 0, 7):
        with pytest.raises(InputError, match=f"A length of {length} tokens is too short; choose at least 8"):
            evaluate_text(Checkpoint(model, tokenizer, model.config, name="small"), [str(text)], "mlm", seq_len=length)


PAIRS = (
    MinimalPair("agreement", "", "the old man reads a book", "the old man read a book", 3),
    MinimalPair("agreement", "", "they walk to the river", "they walks to the river", 1),
    MinimalPair("copy", "she gave him the red book", "the red book", "the small book", 1),
    MinimalPair("pieces", "", "catsunbelievably dogs run", "catsunbelievably dogs ran", 2),
    MinimalPair("next", "the red cat sat", "it ran to the mat", "she reads", None),
)
SOME = Probes("some", "Some", {kind: kind for kind in ("agreement", "copy", "pieces", "next")}, lambda: PAIRS)


def score_probes(model, tokenizer: Tokenizer, probes: Probes) -> dict[str, float]:
    return probe_accuracy(ProbeScorer(probes, tokenizer, model.config.max_position_embeddings).score(model))


@pytest.fixture
def probed(monkeypatch: pytest.MonkeyPatch, text: Path):
    """Settings of a short run with a few probes."""
    monkeypatch.setattr("bertviz_lab.training.pretraining.pretrain.probes_for", lambda corpus, tokenizer: SOME)
    return partial(short_run, text)


@pytest.fixture(scope="module")
def little() -> Checkpoint:
    return little_checkpoint()


def test_sentences_score_what_surprise_adds_up_and_the_next_one_by_its_head(little: Checkpoint) -> None:
    assert len(little.tokenizer.encode("catsunbelievably").ids) > 3, "a word in pieces is among them"
    for score in ProbeScorer(SOME, little.tokenizer).score(little.model):
        if score.pair.position is not None:
            for sentence, found in ((score.pair.good, score.good), (score.pair.bad, score.bad)):
                assert found == pytest.approx(
                    pseudo_log_likelihood(little, text_of(score.pair, sentence)).total, abs=1e-4
                )
    (score,) = (
        score for score in ProbeScorer(SOME, little.tokenizer).score(little.model) if score.pair.position is None
    )
    for sentence, found in ((score.pair.good, score.good), (score.pair.bad, score.bad)):
        expected = next_sentence(little, score.pair.context, sentence).is_next
        assert torch.tensor(found).exp().item() == pytest.approx(expected, abs=1e-5)


def test_sentences_are_cut_at_the_models_length_and_go_in_batches(
    little: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    (score, *_) = ProbeScorer(SOME, little.tokenizer, max_length=5).score(little.model)
    assert score.good == pytest.approx(pseudo_log_likelihood(little, "the old man").total, abs=1e-4)
    whole = ProbeScorer(SOME, little.tokenizer).score(little.model)
    monkeypatch.setattr("bertviz_lab.training.pretraining.probe_scorer._TOKENS_AT_ONCE", 10)
    for one, other in zip(whole, ProbeScorer(SOME, little.tokenizer).score(little.model), strict=True):
        assert (one.good, one.bad) == pytest.approx((other.good, other.bad), abs=1e-4)


def test_a_model_is_asked_what_it_has_heads_for() -> None:
    kinds = {
        BertForPreTraining: ["agreement", "copy", "pieces", "next"],
        BertForMaskedLM: ["agreement", "copy", "pieces"],
        BertForSequenceClassification: [],
    }
    for kind, asked in kinds.items():
        one = little_checkpoint(kind=kind)
        assert list(score_probes(one.model, one.tokenizer, SOME)) == asked
    single = little_checkpoint(type_vocab_size=1)
    assert "next" not in score_probes(single.model, single.tokenizer, SOME)


@pytest.mark.parametrize("mode", [True, False])
def test_asking_leaves_no_trace_and_gives_the_same_answers_twice(mode: bool) -> None:
    one = little_checkpoint(hidden_dropout_prob=0.5)
    one.model.train(mode)
    stream, before = torch.get_rng_state(), {name: t.clone() for name, t in one.model.state_dict().items()}
    probe_scorer = ProbeScorer(SOME, one.tokenizer)
    assert probe_scorer.score(one.model) == probe_scorer.score(one.model)
    assert one.model.training is mode
    assert torch.equal(torch.get_rng_state(), stream)
    assert all(torch.equal(t, before[name]) for name, t in one.model.state_dict().items())
    assert all(p.grad is None for p in one.model.parameters())


@pytest.mark.parametrize(
    ("good", "bad", "right"),
    [(-1.0, -2.0, 1.0), (-2.0, -1.0, 0.0), (-1.0, -1.0, 0.5), (-1.0, -1.00001, 0.5), (float("nan"), -1.0, 0.5)],
)
def test_ties_and_what_is_no_number_count_half(good: float, bad: float, right: float) -> None:
    assert PairScore(PAIRS[0], good, bad).right == right


def test_shares_are_of_each_kind() -> None:
    scores = [PairScore(PAIRS[0], 1.0, 0.0), PairScore(PAIRS[1], 0.0, 1.0), PairScore(PAIRS[2], 0.0, 0.0)]
    assert probe_accuracy(scores) == {"agreement": 0.5, "copy": 0.5}


def test_a_run_tells_what_its_model_can_do_at_every_snapshot_but_the_first(probed, tmp_path) -> None:
    events = finish(probed(), tmp_path / "run")
    told = [event for event in events if isinstance(event, ProbesDone)]
    assert [event.step for event in told] == [1, 2, 5, 10, 12]
    assert [event.step for event in events if isinstance(event, SnapshotSaved)] == [0, *(event.step for event in told)]
    assert {event.probes for event in told} == {"some"}
    assert all(list(event.right) == list(SOME.kinds) for event in told)
    assert all(0 <= share <= 1 for event in told for share in event.right.values())
