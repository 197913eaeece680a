"""What a model can do, for notebooks; and what the shipped ones can."""

from pathlib import Path

import pytest

from bertviz_lab import Checkpoint, InputError, load_checkpoint
from bertviz_lab.interpret import ProbeReport, probe
from tests.little import little_checkpoint

SHIPPED = Path(__file__).parents[3] / "checkpoints"


@pytest.fixture(scope="module")
def town() -> Checkpoint:
    return load_checkpoint(SHIPPED / "tiny-town")


@pytest.fixture(scope="module")
def report(town: Checkpoint) -> ProbeReport:
    return probe(town)


def test_the_set_is_the_one_whose_words_the_model_knows(report: ProbeReport) -> None:
    assert report.probes.name == "tiny-town"
    assert list(report.right) == list(report.kinds) == list(report.probes.kinds)
    assert probe(load_checkpoint(SHIPPED / "wiki-tiny")).probes.name == "english"


def test_the_model_of_tiny_town_has_learnt_its_truths(report: ProbeReport) -> None:
    for kind in (
        "agreement",
        "agreement_distractor",
        "pronoun",
        "reflexive",
        "colour_copy",
        "word_order",
        "plot_order",
    ):
        assert report.right[kind] >= 0.95, kind
    assert report.right["owner_copy"] > 0.5


def test_the_same_model_before_training_has_not(town: Checkpoint) -> None:
    from bertviz_lab.interpret import untrained

    right = probe(untrained(town), "tiny-town").right
    assert 0.3 < sum(right.values()) / len(right) < 0.7


def test_a_set_that_is_not_there_or_does_not_fit_is_refused_in_a_sentence(town: Checkpoint) -> None:
    with pytest.raises(InputError, match="no probes 'dutch'; there are tiny-town, english"):
        probe(town, "dutch")
    with pytest.raises(InputError, match="too few of the words of the English probes"):
        probe(town, "english")
    with pytest.raises(InputError, match="too few words of any of the probes"):
        probe(little_checkpoint())
