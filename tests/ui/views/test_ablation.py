"""The ablation study: which runs belong to it, which are queued, and what came of them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bertviz_lab.config import ABLATIONS, ablated
from bertviz_lab.config.ablations import WHOLE
from bertviz_lab.config.limits import Limits
from bertviz_lab.errors import InputError
from bertviz_lab.training.runs.run_folder import RunState, write_state
from bertviz_lab.ui.server.visitors import NOBODY, Visitor
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views.ablation import view as study
from bertviz_lab.ui.views.ablation.view import QUESTIONS
from tests.ui.pages import OWNER, STRANGER, little_settings


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AppState:
    """A page on which no training ever begins."""
    monkeypatch.setattr("bertviz_lab.jobs.runs.Runs._launch_next", lambda self: 0)
    return AppState(little_settings(tmp_path))


def finished(session: AppState, name: str, score: float, steps: int = 100) -> str:
    """A run of the ablation study that has ended with a score."""
    run_id = session.runs.start(ablated(name, steps=steps), owner=OWNER.owner)
    folder = session.runs.folder(run_id)
    write_state(folder, RunState("finished", step=steps))
    rows = [{"event": "EvalDone", "step": steps, "seconds": 1, "mlm_accuracy": score, "nsp_accuracy": score}]
    (folder / "events.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return run_id


def ask(session: AppState, question: str, visitor: Visitor = NOBODY, **arguments: Any) -> Any:
    """The answer to a question, as the page reads it."""
    answer = QUESTIONS[question].ask(session, arguments, visitor)
    return json.loads(answer) if isinstance(answer, str) else answer


def test_the_whole_recipe_is_queued_before_what_was_ticked(session):
    started = study.train(session, OWNER, ["one-layer", "no-positions"], 100, 0)
    kinds = study.kinds_of(session, OWNER)
    assert [kinds[run] for run in started] == [(name, 100, 0) for name in (WHOLE, "no-positions", "one-layer")]
    assert {session.runs.state(run).status for run in started} == {"waiting"}


def test_what_is_there_is_not_trained_again_and_what_was_stopped_goes_on(session):
    whole = finished(session, WHOLE, 0.5)
    stopped = finished(session, "one-head", 0.5)
    write_state(session.runs.folder(stopped), RunState("stopped", step=40))
    started = study.train(session, OWNER, ["one-head", "one-layer"], 100, 0)
    assert len(started) == 1
    assert session.runs.state(stopped).status == "waiting"
    runs = study.runs_of(session, OWNER, 100, 0)
    assert (runs[WHOLE], runs["one-head"], runs["one-layer"]) == (whole, stopped, started[0])
    assert study.train(session, OWNER, ["one-head", "one-layer"], 100, 0) == []
    assert study.runs_of(session, OWNER, 100, 1) == {}, "another seed is another set"


def test_a_visitor_of_a_shared_page_has_so_many_runs_at_a_time_and_sees_their_own_only(session):
    session = AppState(replace(session.settings, limits=Limits.of(shared=True)))
    with pytest.raises(InputError, match="may have 3 runs that train or wait; 0 of yours do, and this asks for"):
        study.train(session, OWNER, list(ABLATIONS), 100, 0)
    assert session.runs.ids() == ()
    own = study.train(session, OWNER, ["one-head", "one-layer"], 100, 0)
    assert study.runs_of(session, STRANGER, 100, 0) == {}
    assert set(study.runs_of(session, OWNER, 100, 0).values()) == set(own)
    cards = ask(session, "cards", OWNER, steps=100, seed=0)
    assert cards["training"]
    assert "3 runs of a visitor" in cards["limits"]


def test_the_outcome_is_read_from_the_two_runs(session):
    whole, without = finished(session, WHOLE, 0.8), finished(session, "one-layer", 0.5)
    outcome = ask(session, "reveal", name="one-layer", whole=whole, run=without, predicted={"mlm_accuracy": "worse"})
    assert [measure["found"] for measure in outcome["measures"]] == ["worse", "worse"]
    assert "MLM accuracy: 50.0%" in outcome["measures"][0]["text"]
    assert outcome["measures"][0]["right"]


def test_an_outcome_that_is_not_there_is_a_sentence(session):
    whole = finished(session, WHOLE, 0.8)
    waiting = session.runs.start(ablated("one-layer", steps=100))
    for name, run in (("one-layer", waiting), ("one-layer", "gone"), ("<b>", whole)):
        assert set(ask(session, "reveal", name=name, whole=whole, run=run, predicted={})) == {"message"}


def test_the_newest_set_is_shown_until_a_person_chooses_another(session):
    study.train(session, OWNER, ["one-head"], 123, 4)
    assert ask(session, "cards", steps=None, seed=None)["set"] == "123/4"
    other = ask(session, "cards", steps=200, seed=None)
    assert (other["set"], other["whole"]) == ("200/4", "")
    with pytest.raises(InputError, match="must lie between 20 and"):
        ask(session, "cards", steps=3, seed=0)


def train(session: AppState, **sent: Any) -> list[str]:
    return QUESTIONS["train"].ask(session, sent, OWNER)


@pytest.mark.parametrize(
    ("sent", "sentence"),
    [
        ({"names": []}, "Select at least"),
        ({"names": ["<b>"]}, "Select at least"),
        *(({"steps": steps}, "must lie between") for steps in (None, 0, 10**9)),
        ({"steps": "x"}, "steps"),
        *(({"seed": seed}, "(?i)seed") for seed in (None, -1)),
    ],
)
def test_a_plan_that_cannot_be_trained_is_answered_in_a_sentence(session, sent, sentence):
    with pytest.raises(InputError, match=sentence):
        train(session, **{"names": ["one-head"], "steps": 100, "seed": 0} | sent)
    assert session.runs.ids() == ()
