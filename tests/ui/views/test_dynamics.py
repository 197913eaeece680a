"""Training dynamics: which runs have snapshots, how the scrubber begins, and what it can ask of each snapshot."""

import dataclasses
import json
import os
import shutil
from typing import Any

import pytest

from bertviz_lab import BertForSequenceClassification, interpret
from bertviz_lab.config import PretrainConfig
from bertviz_lab.config.limits import Limits
from bertviz_lab.errors import InputError
from bertviz_lab.jobs import Runs
from bertviz_lab.training.checkpoints.atomic_io import write_json
from bertviz_lab.training.runs.run_folder import RunState, write_state
from bertviz_lab.ui.server.visitors import NOBODY
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.state.snapshots import TrackedText
from bertviz_lab.ui.views.dynamics.view import QUESTIONS, token_ids
from bertviz_lab.ui.views.dynamics.view import examples as tracked_examples
from tests.ui.pages import OWNER
from tests.ui.snapshots import STEPS, little_history

TEXT, SECOND = "the red [MASK] sat on the mat", "she gave him the red book"
RUN = "calm-otter-0123456789abcdef01234567"


@pytest.fixture
def session(settings: Settings) -> AppState:
    little_history(settings.checkpoints / "tiny-town")
    return AppState(settings)


def make_run(session: AppState, *, status: str = "finished", steps: tuple[int, ...] = STEPS, name: str = RUN) -> None:
    """A run with snapshots; its worker, if it is under way, is this process as far as anybody can see."""
    folder = session.settings.runs_dir / name
    little_history(folder, steps)
    (folder / "training.jsonl").rename(folder / "events.jsonl")
    shutil.copytree(folder, folder / "model", ignore=shutil.ignore_patterns("snapshots", "events.jsonl"))
    write_state(folder, RunState(status, step=steps[-1], pid=os.getpid()))
    (folder / "owner").write_text(OWNER.owner)
    write_json(folder / "config.json", PretrainConfig(corpus=("sample:tiny-town",)).to_dict())


def ask(session: AppState, question: str, **arguments: Any) -> Any:
    """The answer to a question, as the page reads it."""
    answer = QUESTIONS[question].ask(session, arguments)
    return json.loads(answer) if isinstance(answer, str) else answer


def opened(session: AppState, run: str = "tiny-town", a: str = TEXT, b: str = "", words: str = "") -> dict[str, Any]:
    return ask(session, "opening", run=run, text_a=a, text_b=b, words=words)


def held(body: dict[str, Any]) -> list[list[float]]:
    """[step, loss] on held-out text."""
    return body["curve"]["held"]


def test_what_ships_with_snapshots_and_the_runs_that_have_some_are_offered(session: AppState) -> None:
    make_run(session)
    (session.settings.runs_dir / "empty-run").mkdir(parents=True)
    write_json(session.settings.runs_dir / "empty-run" / "config.json", {"corpus": ["x"]})
    write_state(session.settings.runs_dir / "empty-run", RunState("finished"))
    assert session.snapshots.choices(NOBODY) == [
        (RUN, "calm-otter (finished)"),
        ("tiny-town", "tiny-town (comes with the lab)"),
    ]
    assert session.snapshots.default(NOBODY) == "tiny-town"
    with pytest.raises(InputError, match="has no snapshots"):
        opened(session, "empty-run")


def test_strangers_are_not_offered_each_others_runs(session: AppState) -> None:
    make_run(session)
    shared = AppState(dataclasses.replace(session.settings, limits=Limits.of(shared=True)))
    assert [name for name, _ in shared.snapshots.choices(NOBODY)] == ["tiny-town"]
    assert [name for name, _ in shared.snapshots.choices(OWNER)] == [RUN, "tiny-town"]
    path = str(session.settings.checkpoints / "tiny-town")
    for elsewhere in (path, "../checkpoints/tiny-town", "google-bert/bert", ""):
        with pytest.raises(InputError):
            opened(shared, elsewhere)


def test_a_view_begins_with_the_last_step_and_can_be_asked_for_the_others(session: AppState) -> None:
    body = opened(session, b=SECOND)
    assert body["steps"] == list(STEPS)
    assert body["first"]["step"] == STEPS[-1]
    assert (body["layers"], body["heads"], body["title"]) == (2, 2, "tiny-town")
    assert held(body) == [[20, 4.5]]
    question = body["question"]
    frames = [ask(session, "frame", **question, step=step) for step in STEPS]
    assert all(len(frame["masked_tokens"][0]["candidates"]) == 8 and 0 <= frame["is_next"] <= 1 for frame in frames)
    with pytest.raises(InputError, match="no snapshot of step 3"):
        ask(session, "frame", **question, step=3)


def test_words_are_watched_that_a_person_names_or_else_the_likeliest_in_the_end(session: AppState) -> None:
    last = session.snapshots.open("tiny-town", STEPS[-1])
    likeliest = [one.token for one in interpret.fill_mask(last, TEXT, 3).masks[0].candidates]
    assert opened(session)["watched"] == likeliest
    assert opened(session, words="cat, dog,cat")["watched"] == ["cat", "dog"]
    for words, message in (("unbelievable", "not one token"), ("a,b,c,d,e,f,g", "at most 6")):
        with pytest.raises(InputError, match=message):
            opened(session, words=words)


@pytest.mark.parametrize(
    "changed",
    [{"watched": ["x"]}, {"watched": [1] * 99}, {"mapped": [10**6]}, {"mapped": [-1]}, {"run": "/etc"}, {"text_a": 7}],
)
def test_questions_of_nobodys_page_get_a_sentence(session: AppState, changed: dict[str, Any]) -> None:
    question = opened(session)["question"] | changed
    with pytest.raises(InputError):
        ask(session, "frame", **question, step=0)


def test_a_frame_is_computed_once_and_anew_where_its_file_is_another(session: AppState, monkeypatch: Any) -> None:
    question = TrackedText("tiny-town", TEXT, "")
    first = session.snapshots.frame(question, 0)
    monkeypatch.setattr("bertviz_lab.interpret.analyze_snapshot", lambda *_, **__: pytest.fail("it is known already"))
    assert session.snapshots.frame(question, 0) is first
    monkeypatch.undo()
    snapshots = session.settings.checkpoints / "tiny-town" / "snapshots"
    shutil.copy(snapshots / "step-00000020.safetensors", snapshots / "step-00000000.safetensors")
    assert session.snapshots.frame(question, 0) != first


def test_news_tell_of_new_steps_and_of_the_end(session: AppState, monkeypatch: pytest.MonkeyPatch) -> None:
    make_run(session, status="training", steps=(0, 1, 2))
    monkeypatch.setattr("bertviz_lab.jobs.runs.is_alive", lambda state, folder: True)
    body = opened(session, RUN)
    question = body["question"]
    same = ask(session, "news", **question, last=2)
    assert (same["live"], same["steps"], "plane" in same) == (True, [0, 1, 2], False)
    folder = session.settings.runs_dir / RUN
    shutil.copy(folder / "snapshots" / "step-00000002.safetensors", folder / "snapshots" / "step-00000005.safetensors")
    write_state(folder, RunState("finished", step=5))
    more = ask(session, "news", **question, last=2)
    assert (more["live"], more["steps"]) == (False, [0, 1, 2, 5])
    assert more["plane"]["explained"] == pytest.approx(body["plane"]["explained"])
    shutil.rmtree(folder)
    assert "no longer here" in ask(session, "news", **question, last=5)["message"]


def test_of_a_log_that_grows_only_what_is_new_is_read(session: AppState, monkeypatch: pytest.MonkeyPatch) -> None:
    make_run(session)
    question, log = opened(session, RUN)["question"], session.settings.runs_dir / RUN / "events.jsonl"
    starts: list[int] = []
    read = Runs.events

    def events(_: Any, run: str, start: int = 0) -> Any:
        starts.append(start)
        return read(session.runs, run, start)

    monkeypatch.setattr("bertviz_lab.jobs.runs.Runs.events", events)
    assert held(ask(session, "news", **question, last=20)) == [[20, 4.5]]
    size = log.stat().st_size
    with log.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"event": "EvalDone", "step": 40, "mlm_loss": 4.0}) + "\n")
    assert held(ask(session, "news", **question, last=20)) == [[20, 4.5], [40, 4.0]]
    assert starts == [size, size]


def test_a_run_of_tiny_town_is_begun_with_its_own_sentences(session: AppState) -> None:
    make_run(session)
    texts = tracked_examples(session, NOBODY, "tiny-town")
    assert tracked_examples(session, NOBODY, RUN) == texts
    assert all(a.strip() for a, _, _ in texts)
    for _, _, words in texts:  # only words that are tokens of this vocabulary are named
        checkpoint = session.snapshots.open("tiny-town", 0)
        assert len(token_ids(checkpoint, words)) == len(words.split(",")) - (not words)


def test_a_fine_tuned_history_shows_its_labels(settings: Settings) -> None:
    little_history(
        settings.checkpoints / "tuned", kind=BertForSequenceClassification, num_labels=2, id2label=("bad", "good")
    )
    session = AppState(settings)
    body = opened(session, "tuned", a="the red cat sat")
    assert body["labels"] == ["bad", "good"]
    assert sum(body["first"]["labels"]) == pytest.approx(1)
    assert (body["mapped"], body["plane"]) == ([], {})
    assert all(a for a, _, _ in tracked_examples(session, NOBODY, "tuned"))


def test_the_page_is_told_what_to_begin_with_and_what_trains(
    session: AppState, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = ("tiny-town", "tiny-town (comes with the lab)")
    assert ask(session, "runs", run="") == {"choices": [shipped], "first": "tiny-town", "live": []}
    make_run(session, status="training")
    monkeypatch.setattr("bertviz_lab.jobs.runs.is_alive", lambda state, folder: True)
    under_way = ask(session, "runs", run="")
    assert (under_way["first"], under_way["live"]) == (RUN, [RUN])


def test_a_link_leads_to_its_run_and_to_no_other_where_that_is_gone(session: AppState) -> None:
    make_run(session)
    shared = AppState(dataclasses.replace(session.settings, limits=Limits.of(shared=True)))
    for run, others in ((RUN, [(RUN, "calm-otter")]), ("gone", [("gone", "gone")]), ("/etc", [("/etc", "/etc")])):
        choices = ask(shared, "runs", run=run)["choices"]
        assert choices == [*others, ("tiny-town", "tiny-town (comes with the lab)")]
    for question, texts in (("examples", {}), ("opening", {"text_a": "a", "text_b": "", "words": ""})):
        with pytest.raises(InputError, match="no longer here"):
            ask(shared, question, run="gone", **texts)
