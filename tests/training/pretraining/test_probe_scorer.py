"""Probes: scored as `interpret.pseudo_log_likelihood` would, without a trace left in the model or the run."""

from functools import partial
from pathlib import Path

import pytest
import torch

from bertviz_lab import BertForMaskedLM, BertForPreTraining, BertForSequenceClassification, Checkpoint
from bertviz_lab.data.probes import PROBES, Probes
from bertviz_lab.data.probes.minimal_pairs import MinimalPair
from bertviz_lab.interpret import next_sentence, pseudo_log_likelihood
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.training.pretraining.probe_scorer import PairScore, ProbeScorer, probe_accuracy, text_of
from bertviz_lab.training.runs.events import ProbesDone, SnapshotSaved
from tests.little import little_checkpoint
from tests.training.support import finish, short_run

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


def test_a_run_tells_what_its_model_can_do_at_every_snapshot(probed, tmp_path) -> None:
    events = finish(probed(), tmp_path / "run")
    told = [event for event in events if isinstance(event, ProbesDone)]
    assert [event.step for event in told] == [0, 1, 2, 5, 10, 12]
    assert [event.step for event in events if isinstance(event, SnapshotSaved)] == [event.step for event in told]
    assert {event.probes for event in told} == {"some"}
    assert all(list(event.right) == list(SOME.kinds) for event in told)
    assert all(0 <= share <= 1 for event in told for share in event.right.values())


def test_the_sets_are_asked_within_their_time_of_a_tiny_model() -> None:
    """Not in seconds, which are the machine's, but in tokens that are read."""
    folder = Path(__file__).parents[3] / "checkpoints"
    for name, model, most in (("tiny-town", "tiny-town", 40_000), ("english", "wiki-tiny", 20_000)):
        probe_scorer = ProbeScorer(PROBES[name], Tokenizer.load(folder / model))
        assert sum(len(row.ids) for rows in probe_scorer._masked_sentences for row in rows) < most
