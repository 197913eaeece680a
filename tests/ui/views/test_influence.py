"""What the panel Influence answers: the sentences that taught a prediction, and runs without them."""

from dataclasses import replace
from typing import Any

import pytest

from bertviz_lab import InputError, load_checkpoint, save_checkpoint
from bertviz_lab.config.limits import Limits
from bertviz_lab.training.runs.run_folder import RunState, write_state
from bertviz_lab.ui.server.visitors import Visitor
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views.influence.view import QUESTIONS
from tests.charts import shown
from tests.training.support import finish, short_run, write_text
from tests.ui.pages import OWNER, STRANGER

RUN = "calm-otter-0123456789abcdef"
TEXT = "The cat sat on the [MASK]."


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The folder of a short run."""
    scratch = tmp_path_factory.mktemp("run")
    finish(short_run(write_text(scratch / "text.txt"), steps=20), scratch / RUN)
    return scratch / RUN


@pytest.fixture
def session(settings: Settings, trained: Any, monkeypatch: pytest.MonkeyPatch) -> AppState:
    """A page with the run, on which no other training ever begins."""
    monkeypatch.setattr("bertviz_lab.jobs.runs.Runs._launch_next", lambda self: 0)
    settings.runs_dir.mkdir(exist_ok=True)
    (settings.runs_dir / RUN).symlink_to(trained, target_is_directory=True)
    return AppState(settings)


def ask(session: AppState, name: str, model: str = RUN, visitor: Visitor = OWNER, **more: Any) -> Any:
    given = {"model": model, "text_a": TEXT, "text_b": "", "by": "TracIn", "count": 3, "steps": 4}
    given |= {"kind": "", "position": None, "choice": "", "contrast": "", "candidates": 500} | more
    question = QUESTIONS[name]
    return question.ask(session, {key: value for key, value in given.items() if key in question.arguments}, visitor)


def test_training_sentences_are_ranked_by_tracin_and_by_bm25(session: AppState) -> None:
    answer = ask(session, "influence", choice="mat")
    facts = dict(shown(answer["facts"])["items"])
    assert facts["Prediction explained"] == "mat"
    assert facts["Sentences compared"].endswith(" different ones")
    tracin, bm25 = shown(answer["tracin"]), shown(answer["bm25"])
    assert tracin["title"] == "TracIn: sentences that taught mat"
    values = tracin["series"][0]["values"]
    assert values == sorted(values, reverse=True)
    assert values[0] > 0 > values[-1]
    assert bm25["groups"][0] == "the cat sat on the mat."


def test_a_run_without_the_first_sentences_is_queued_and_compared(session: AppState) -> None:
    assert ask(session, "retrained") == {"chart": None, "runs": [], "active": False}
    first = shown(ask(session, "influence", choice="mat")["bm25"])["groups"][:3]
    for by in ("BM25", "random", "nothing"):
        run_id = ask(session, "leave_out", choice="mat", by=by)
        config = session.runs.config(run_id)
        assert (config.steps, config.seed, len(config.without)) == (4, 0, 0 if by == "nothing" else 3)
        if by == "BM25":
            assert list(config.without) == first
        (copy,) = config.corpus
        assert copy == session.runs.config(RUN).corpus[0]
    answer = ask(session, "retrained", choice="mat")
    assert answer["active"]
    assert ["3 left out by BM25", "waiting, step 0 of 0"] in answer["runs"]
    folder = session.runs.folder(run_id)
    save_checkpoint(load_checkpoint(session.runs.folder(RUN) / "model"), folder / "model")
    write_state(folder, RunState("finished", step=4))
    chart = shown(ask(session, "retrained", choice="mat")["chart"])
    assert [series["name"] for series in chart["series"]] == [RUN, "trained again"]
    model, again = (series["values"] for series in chart["series"])
    assert model == pytest.approx(again)
    assert "mat" in chart["groups"]


def test_a_model_without_its_training_text_says_what_has_one(session: AppState, settings: Settings) -> None:
    with pytest.raises(InputError, match="choose tiny-town, or a model that you pretrained"):
        ask(session, "influence", model="")
    with pytest.raises(InputError, match=r"Put \[MASK\] in place"):
        ask(session, "influence", text_a="The cat sat.")
    with pytest.raises(InputError, match="for the prediction of a masked token"):
        ask(session, "influence", text_b="A dog looked at a tree.", kind="next")


def test_a_stranger_does_not_see_the_sentences_of_a_run(settings: Settings, session: AppState) -> None:
    shared = AppState(replace(settings, limits=Limits.of(shared=True)))
    (session.runs.folder(RUN) / "owner").write_text(OWNER.owner)
    for question in ("influence", "leave_out", "retrained"):
        with pytest.raises(InputError, match="was started in another browser"):
            ask(shared, question, visitor=STRANGER)
