"""What the phases of a run train, and what each costs."""

import pytest

from bertviz_lab.config import PretrainConfig
from bertviz_lab.training.pretraining.curriculum import phases, shallow_share, stacking_note, work_by_phase, work_done


def settings(**changes) -> PretrainConfig:
    return PretrainConfig(**({"corpus": ("a",), "preset": "mini", "causal_share": 0.0, "shallow_share": 0.6} | changes))


def parts(layers: int, **changes) -> list[tuple[float, bool, int]]:
    return [(round(phase.share, 6), phase.causal, phase.layers) for phase in phases(settings(**changes), layers)]


@pytest.mark.parametrize(("layers", "first", "then"), [(4, 1, 2), (12, 3, 6), (24, 6, 12), (2, 1, 1), (3, 1, 1)])
def test_a_quarter_of_the_layers_is_trained_first_then_half_then_all(layers, first, then):
    assert parts(layers) == [(0.3, False, first), (0.3, False, then), (0.4, False, layers)]


def test_the_causal_warm_up_may_end_between():
    assert parts(4, causal_share=0.4) == [(0.3, True, 1), (0.1, True, 2), (0.2, False, 2), (0.4, False, 4)]


@pytest.mark.parametrize(
    "changes", [{"share_layers": True}, {"family": "albert"}, {"init_from": "a"}, {"recipe": "distil", "teacher": "a"}]
)
def test_layers_that_are_trained_already_or_are_one_do_not_join_later(changes):
    assert shallow_share(settings(**changes)) == 0.0
    assert parts(4, **changes) == [(1.0, False, 4)]


@pytest.mark.parametrize(
    ("layers", "note"),
    [
        (4, "1 of 4 layers is trained at first, 2 from 30% of the run on, all from 60% of the run on."),
        (12, "3 of 12 layers are trained at first, 6 from 30% of the run on, all from 60% of the run on."),
        (2, "1 of 2 layers is trained at first, all from 60% of the run on."),
    ],
)
def test_a_run_says_when_its_layers_join(layers, note):
    assert stacking_note(settings(), layers) == f"Progressive stacking: {note}"
    assert stacking_note(settings(shallow_share=0.0), layers) == ""
    assert stacking_note(settings(init_from="a"), layers) == ""


def test_steps_with_few_layers_are_a_smaller_part_of_the_work():
    config = settings(shallow_share=0.5, mask_probability=0.15)
    model = config.model_config(8192)
    layer, vocabulary = 12 * 256**2, 0.15 * 256 * 8192
    works = [layers * layer + vocabulary for layers in (1, 2, 4)]
    shares, costs = zip(*work_by_phase(config, model), strict=True)
    assert (shares, costs) == (pytest.approx((0.25, 0.25, 0.5)), pytest.approx(works))
    total = 0.25 * works[0] + 0.25 * works[1] + 0.5 * works[2]
    assert work_done(config, model, 0.0) == 0.0
    assert work_done(config, model, 0.4) == pytest.approx((0.25 * works[0] + 0.15 * works[1]) / total)
    assert work_done(config, model, 1.0) == pytest.approx(1.0)
    assert work_done(settings(shallow_share=0.0), model, 0.4) == pytest.approx(0.4)
