"""Minimal pairs of a file score what a plain loop with `transformers` over the same weights gives, mask by mask."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from bertviz_lab import Checkpoint, InputError, load_checkpoint, save_checkpoint
from bertviz_lab.config import SHIPPED
from bertviz_lab.data.probes import MinimalPair
from bertviz_lab.interpret import (
    MinimalPairReport,
    ProbeReport,
    fill_mask,
    probe,
    pseudo_log_likelihood,
    score_minimal_pairs,
)
from tests.little import little_checkpoint

LITTLE = (
    MinimalPair("order", "", "the red cat sat on the mat", "the red cat on the mat sat", 3),
    MinimalPair("order", "", "a small dog ran to the house", "dog a small ran to the house", 0),
    MinimalPair("pieces", "", "catsunbelievably dogs run", "catsunbelievably dogs runs unbelievably", 2),
)
ENGLISH = (
    MinimalPair("agreement", "", "The dogs are very old.", "The dogs is very old.", 2),
    MinimalPair("agreement", "", "Her brothers have two houses.", "Her brothers has two houses.", 2),
    MinimalPair("pieces", "", "The zookeepers feed the wombats.", "The zookeepers feeds the wombats.", 2),
    MinimalPair("negation", "", "Nobody has ever seen that river.", "Somebody has ever seen that river.", 0),
    MinimalPair("negation", "", "He did not eat any bread.", "He did eat any bread.", 2),
)


def reference(folder: Path, sentence: str) -> float:
    """The pseudo-log-likelihood as Salazar et al. 2020 define it: a forward pass for each masked token."""
    from transformers import AutoTokenizer, BertForMaskedLM

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = BertForMaskedLM.from_pretrained(folder).eval()
    ids = tokenizer(sentence, return_tensors="pt")["input_ids"]
    total = 0.0
    for position in range(1, ids.shape[1] - 1):
        masked = ids.clone()
        masked[0, position] = tokenizer.mask_token_id
        with torch.no_grad():
            logits = model(input_ids=masked).logits
        total += float(logits[0, position].log_softmax(-1)[ids[0, position]])
    return total


@pytest.fixture(scope="module")
def little(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_checkpoint(little_checkpoint(), tmp_path_factory.mktemp("models") / "little")


def test_scores_are_those_of_one_mask_at_a_time_with_transformers(little: Path) -> None:
    for folder, pairs in ((little, LITTLE), (SHIPPED / "wiki-tiny", ENGLISH)):
        checkpoint = load_checkpoint(folder)
        lengths = {len(checkpoint.tokenizer.encode(text).ids) for pair in pairs for text in (pair.good, pair.bad)}
        assert len(lengths) > 1, "several lengths, so several batches"
        report = score_minimal_pairs(checkpoint, pairs, precision="fp32")
        assert [score.pair for score in report.scores] == list(pairs)
        for score in report.scores:
            good, bad = reference(folder, score.pair.good), reference(folder, score.pair.bad)
            assert (score.good, score.bad) == pytest.approx((good, bad), abs=1e-3)
            assert score.right == float(good > bad)


def test_accuracy_is_that_of_each_phenomenon_and_of_all_pairs(little: Path) -> None:
    report = score_minimal_pairs(load_checkpoint(little), LITTLE)
    right = [score.right for score in report.scores]
    assert report.to_dict() == {
        "accuracy": pytest.approx(sum(right) / 3),
        "interval": list(report.interval),
        "pairs": 3,
        "phenomena": {
            "order": {"accuracy": pytest.approx(sum(right[:2]) / 2), "pairs": 2},
            "pieces": {"accuracy": right[2], "pairs": 1},
        },
    }


def test_the_interval_of_an_accuracy_is_wilsons(report: ProbeReport) -> None:
    good = replace(report.scores[0], good=0.0, bad=-9.0)
    mixed = MinimalPairReport((good,) * 8 + (replace(good, bad=9.0),) * 2)
    assert mixed.interval == pytest.approx((0.4902, 0.9433), abs=1e-4)


def test_many_pairs_are_scored_in_parts_with_the_same_result(little: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint, heard = load_checkpoint(little), []
    whole = score_minimal_pairs(checkpoint, LITTLE, precision="fp32")
    monkeypatch.setattr("bertviz_lab.interpret.minimal_pairs._PAIRS_AT_ONCE", 2)
    parts = score_minimal_pairs(checkpoint, LITTLE, precision="fp32", on_progress=lambda *done: heard.append(done))
    assert heard == [(2, 3), (3, 3)]
    for score, other in zip(whole.scores, parts.scores, strict=True):
        assert (score.good, score.bad) == pytest.approx((other.good, other.bad), abs=1e-4)


@pytest.fixture(scope="module")
def report(town: Checkpoint) -> ProbeReport:
    return probe(town)


def test_the_set_is_the_one_whose_words_the_model_knows(report: ProbeReport) -> None:
    assert report.probes.name == "tiny-town"
    assert list(report.right) == list(report.kinds) == list(report.probes.kinds)
    assert probe(load_checkpoint("wiki-tiny")).probes.name == "english"


def test_the_model_of_tiny_town_has_learnt_its_truths(report: ProbeReport) -> None:
    assert report.right["owner_copy"] > 0.5
    assert min(right for kind, right in report.right.items() if kind != "owner_copy") >= 0.95


def test_a_set_that_is_not_there_or_does_not_fit_is_refused_in_a_sentence(town: Checkpoint) -> None:
    with pytest.raises(InputError, match="no probes 'dutch'; there are tiny-town, english"):
        probe(town, "dutch")
    with pytest.raises(InputError, match="too few of the words of the English probes"):
        probe(town, "english")
    with pytest.raises(InputError, match="too few words of any of the probes"):
        probe(little_checkpoint())


TEXT = "the red cat sat"


def test_each_token_scores_what_fill_mask_gives_it() -> None:
    checkpoint = little_checkpoint()
    found = pseudo_log_likelihood(checkpoint, TEXT)
    words = TEXT.split()
    for place, word in enumerate(words):
        hidden = " ".join("[MASK]" if at == place else other for at, other in enumerate(words))
        asked = fill_mask(checkpoint, hidden, word=word).masks[0].asked
        assert found.log_probabilities[place + 1] == pytest.approx(math.log(asked.probability), abs=1e-4)
        assert found.expected[place + 1].token == fill_mask(checkpoint, hidden, 1).masks[0].candidates[0].token


def test_total_and_perplexity_come_from_the_same_numbers() -> None:
    found = pseudo_log_likelihood(little_checkpoint(), TEXT)
    own = found.log_probabilities[1:-1]
    assert found.total == pytest.approx(own.sum())
    assert found.perplexity == pytest.approx(math.exp(-own.mean()))


def test_the_rest_of_a_word_is_hidden_with_its_beginning() -> None:
    checkpoint = little_checkpoint()
    text = "catsunbelievably"
    pieces = checkpoint.tokenizer.encode(text).tokens[1:-1]
    assert len(pieces) > 1
    found = pseudo_log_likelihood(checkpoint, text)
    all_hidden = fill_mask(checkpoint, " ".join(["[MASK]"] * len(pieces)), word=pieces[0]).masks[0].asked
    assert found.log_probabilities[1] == pytest.approx(math.log(all_hidden.probability), abs=1e-4)


def test_a_typed_mask_stays_in_the_context_and_is_not_scored() -> None:
    checkpoint = little_checkpoint()
    scored = pseudo_log_likelihood(checkpoint, "the [MASK] cat sat")
    at = scored.encoding.tokens.index("[MASK]")
    assert np.isnan(scored.log_probabilities[at])
    assert scored.expected[at] is None
    others = [score for place, score in enumerate(scored.log_probabilities[1:-1], 1) if place != at]
    assert scored.total == pytest.approx(sum(others))
    asked = fill_mask(checkpoint, "the [MASK] cat [MASK]", word="sat").masks[1].asked
    assert others[-1] == pytest.approx(math.log(asked.probability), abs=1e-4)
