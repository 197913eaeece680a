"""The recipe taken apart, as settings: each differs in one thing, and a run's settings tell which it is."""

import dataclasses
import json

import pytest

from bertviz_lab.config import ABLATIONS, PretrainConfig, ablated, ablation_of
from bertviz_lab.config.ablations import MEASURES, WHOLE
from bertviz_lab.errors import InputError

EVERY = (WHOLE, *ABLATIONS)


@pytest.mark.parametrize("name", ABLATIONS)
def test_an_ablation_differs_from_the_whole_recipe_in_what_it_says_and_nothing_else(name):
    whole, without = ablated(WHOLE), ablated(name)
    differs = {f.name for f in dataclasses.fields(whole) if getattr(whole, f.name) != getattr(without, f.name)}
    assert differs == set(ABLATIONS[name].changes)
    assert len(differs) == 1
    assert ABLATIONS[name].asks
    assert set(ABLATIONS[name].asks) <= set(MEASURES)


@pytest.mark.parametrize("name", EVERY)
def test_a_run_s_settings_tell_which_it_is(name):
    config = ablated(name, steps=77, seed=3, threads=2)
    assert ablation_of(config) == name
    assert ablation_of(PretrainConfig.from_dict(json.loads(json.dumps(config.to_dict())))) == name
    assert ablation_of(dataclasses.replace(config, eval_every=99.0, snapshot_room=0, threads=5)) == name


@pytest.mark.parametrize(
    "changes",
    [
        {"steps": None},
        {"corpus": ("book.txt",)},
        {"batch_size": 31},
        {"position_embeddings": False, "segment_embeddings": False},
    ],
    ids=str,
)
def test_another_run_is_none_of_them(changes):
    assert ablation_of(dataclasses.replace(ablated(WHOLE), **changes)) is None


def test_no_clock_decides_what_is_learnt():
    for name in EVERY:
        config = ablated(name)
        assert config.time_budget_seconds is None
        assert config.precision == "fp32"
        assert (config.seed, config.steps, config.corpus) == (0, ablated(WHOLE).steps, ("sample:tiny-town",))


def test_steps_out_of_range_are_refused():
    with pytest.raises(InputError, match="--steps must lie between"):
        ablated("one-layer", steps=0)
