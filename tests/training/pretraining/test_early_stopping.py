"""A pretraining ends when its held-out loss no longer falls, keeps its best weights, and says so."""

import itertools
import json

import pytest

from bertviz_lab import load_checkpoint
from bertviz_lab.training.loop.early_stopping import EarlyStopping, stopped_learning
from bertviz_lab.training.pretraining.objective import PretrainingTask
from bertviz_lab.training.runs.events import EvalDone
from tests.little import little_checkpoint
from tests.training.support import finish, identical, short_run, weights


@pytest.fixture
def scripted(monkeypatch):
    """Held-out losses that fall once and then rise, and the weights at each evaluation."""
    seen = {}
    losses = itertools.chain([3.0, 2.0], itertools.repeat(2.5))

    def scores(self, model, final):
        loss = 9.0 if final else next(losses)
        if not final:
            seen[self.progress.step] = {n: p.detach().clone() for n, p in self.kept_model.named_parameters()}
        return {"mlm_loss": loss, "mlm_accuracy": 0.1}

    monkeypatch.setattr(PretrainingTask, "_scores", scores)
    return seen


FLAT = {"causal_share": 0.0, "short_seq_len": 0, "eval_every": 0.1, "probes": False}


def test_a_run_ends_without_a_better_score_and_its_model_is_the_best_one(text, tmp_path, scripted):
    events = finish(short_run(text, steps=100_000, patience=3, **FLAT), tmp_path)
    evaluations = [event for event in events if isinstance(event, EvalDone)]
    assert [event.metrics["mlm_loss"] for event in evaluations] == [3.0, 2.0, 2.5, 2.5, 2.5]
    best = evaluations[1].step
    assert events[-1].reason == "finished"
    assert f"3 evaluations were no better than that of step {best:,} (held-out MLM loss 2.000)" in events[-1].message
    model = load_checkpoint(tmp_path / "model").model
    assert all((parameter == scripted[best][name]).all() for name, parameter in model.named_parameters())
    report = json.loads((tmp_path / "report.json").read_text())
    assert (report["scores"]["mlm_loss"], report["step"]) == (9.0, evaluations[-1].step)


def test_a_stopped_run_remembers_its_best_weights_and_how_long_it_has_waited(text, tmp_path, scripted):
    config = short_run(text, steps=100_000, patience=4, **FLAT)
    evaluated = lambda: len(scripted) >= 4  # noqa: E731
    finish(config, tmp_path, should_stop=evaluated)
    best = sorted(scripted)[1]
    events = finish(config, tmp_path, resume=True)
    assert "4 evaluations were no better" in events[-1].message
    assert f"step {best:,} " in events[-1].message


def test_without_patience_the_last_weights_are_the_model(text, tmp_path):
    finish(short_run(text), tmp_path)
    (checkpoint,) = (tmp_path / "checkpoints").glob("step-*")
    assert identical(weights(tmp_path / "model"), weights(checkpoint))
    assert not (checkpoint / "best.safetensors").exists()


@pytest.mark.parametrize(
    ("losses", "since"),
    [
        ([9, 8, 7, 6, 5, 4, 3, 2], None),
        ([9, 5, 4.99, 5.0, 4.99, 5.1, 4.985, 5.0], 2),
        ([9, 5, 6, 7, 8, 9], None),  # four evaluations may be chance
        ([9, *[5] * 6], 2),
        ([*range(100, 4, -4), 5, *[5.2] * 6], None),  # six of thirty
        ([], None),
    ],
)
def test_a_run_has_stopped_learning_after_many_evaluations_without_a_gain(losses, since):
    said = stopped_learning([(step, loss) for step, loss in enumerate(losses, 1)], "held-out MLM loss")
    assert said == "" if since is None else f"since step {since} " in said


def test_the_best_is_kept_by_a_loss_or_a_score():
    models = [little_checkpoint(seed).model for seed in range(3)]
    for metric, values, best in (("mlm_loss", (3.0, 2.0, 2.5), 2), ("accuracy", (0.5, 0.4, 0.6), 3)):
        stopping = EarlyStopping(metric, patience=1)
        for step, (value, model) in enumerate(zip(values, models, strict=True), 1):
            stopping.update({metric: value}, step, model)
        assert (stopping.step, stopping.last_step, stopping.should_stop) == (best, 3, best != 3)
