"""The tab Learning: which histories there are, how a view of one begins, and what the page can ask of it."""

import dataclasses
import json
import os
import shutil
from typing import Any

import gradio as gr
import pytest

from bertviz_lab import BertForSequenceClassification, interpret
from bertviz_lab.config import PretrainConfig
from bertviz_lab.errors import InputError
from bertviz_lab.training.checkpoints.atomic_io import write_json
from bertviz_lab.training.runs.run_folder import RunState, write_state
from bertviz_lab.ui.app_state import AppState
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.snapshots import Question
from bertviz_lab.ui.tabs import learning
from bertviz_lab.ui.views.dynamics.examples import followed_texts
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
    write_json(folder / "config.json", PretrainConfig(corpus=("sample:tiny-town",)).to_dict())


def opened(
    session: AppState, history: str = "tiny-town", a: str = TEXT, b: str = "", words: str = ""
) -> dict[str, Any]:
    return json.loads(learning.learning(session, history, a, b, words))


def test_what_ships_with_snapshots_and_the_runs_that_have_some_are_offered(session: AppState) -> None:
    make_run(session)
    (session.settings.runs_dir / "empty-run").mkdir(parents=True)
    write_json(session.settings.runs_dir / "empty-run" / "config.json", {"corpus": ["x"]})
    write_state(session.settings.runs_dir / "empty-run", RunState("finished"))
    assert session.histories.choices([]) == [
        ("calm-otter (finished)", RUN),
        ("tiny-town (comes with the lab)", "tiny-town"),
    ]
    assert session.histories.default([]) == "tiny-town"
    with pytest.raises(InputError, match="has no snapshots"):
        learning.learning(session, "empty-run", TEXT, "", "")


def test_the_run_under_way_comes_first(session: AppState, monkeypatch: pytest.MonkeyPatch) -> None:
    make_run(session, status="training")
    monkeypatch.setattr("bertviz_lab.jobs.runs._process", lambda pid, folder: object())
    assert session.histories.default([]) == RUN
    assert opened(session, RUN)["live"]
    assert not opened(session)["live"]


def test_strangers_are_not_offered_each_others_runs(session: AppState) -> None:
    make_run(session)
    shared = AppState(dataclasses.replace(session.settings, shared=True))
    assert [name for _, name in shared.histories.choices([])] == ["tiny-town"]
    assert [name for _, name in shared.histories.choices([RUN])] == [RUN, "tiny-town"]
    for elsewhere in (
        str(session.settings.checkpoints / "tiny-town"),
        "../checkpoints/tiny-town",
        "google-bert/bert",
        "",
    ):
        with pytest.raises(InputError):
            learning.learning(shared, elsewhere, TEXT, "", "")


def test_a_view_begins_with_the_last_step_and_can_be_asked_for_the_others(session: AppState) -> None:
    body = opened(session, b=SECOND)
    assert body["steps"] == list(STEPS)
    assert body["first"]["step"] == STEPS[-1]
    assert (body["layers"], body["heads"], body["title"]) == (2, 2, "tiny-town")
    assert body["curve"]["held"] == [[20, 4.5]]
    question = json.dumps(body["question"])
    for step in STEPS:
        checkpoint = session.histories.snapshot("tiny-town", step)
        found = json.loads(learning.frame(session, question, step))
        truth = interpret.fill_mask(checkpoint, TEXT, 8, text_b=SECOND).masks[0]
        assert [token for token, _ in found["masked_tokens"][0]["candidates"]] == [
            one.token for one in truth.candidates
        ]
        assert found["is_next"] == pytest.approx(interpret.next_sentence(checkpoint, TEXT, SECOND).is_next, abs=1e-5)
    assert "no snapshot of step 3" in json.loads(learning.frame(session, question, 3))["message"]


def test_words_are_watched_that_a_person_names_or_else_the_likeliest_in_the_end(session: AppState) -> None:
    last = session.histories.snapshot("tiny-town", STEPS[-1])
    likeliest = [one.token for one in interpret.fill_mask(last, TEXT, 3).masks[0].candidates]
    assert opened(session)["watched"] == likeliest
    assert opened(session, words="cat, dog,cat")["watched"] == ["cat", "dog"]
    for words, message in (("unbelievable", "not one token"), ("a,b,c,d,e,f,g", "at most 6")):
        with pytest.raises(InputError, match=message):
            opened(session, words=words)


def test_texts_that_cannot_be_shown_are_answered_in_a_sentence(session: AppState) -> None:
    for text, message in (("", "Type a sentence"), ("the cat " * 60, "shorten it to 64 at most")):
        with pytest.raises(InputError, match=message):
            opened(session, a=text)
    assert opened(session, a="no blank here")["first"]["masked_tokens"] == []
    with pytest.raises(InputError, match="No snapshots yet"):
        opened(session, "")


@pytest.mark.parametrize(
    "question",
    ["", "[]", '{"history": "tiny-town"}', json.dumps({"history": "tiny-town", "a": "x", "b": "", "watched": ["x"],
     "mapped": []}), json.dumps({"history": "tiny-town", "a": "x", "b": "", "watched": [1] * 99, "mapped": []}),
     json.dumps({"history": "/etc", "a": "x", "b": "", "watched": [], "mapped": []}),
     json.dumps({"history": "tiny-town", "a": "x", "b": "", "watched": [10**9], "mapped": []})],
)  # fmt: skip
def test_questions_of_nobodys_page_get_a_sentence(session: AppState, question: str) -> None:
    assert json.loads(learning.frame(session, question, 0))["message"]
    if "99" not in question and "1000000000" not in question:
        assert json.loads(learning.news(session, question, 0)).keys() & {"message", "steps"}


def test_a_frame_is_computed_once_and_anew_where_its_file_is_another(session: AppState, monkeypatch: Any) -> None:
    question = Question("tiny-town", TEXT, "")
    first = session.histories.frame(question, 0)
    monkeypatch.setattr("bertviz_lab.interpret.analyze_snapshot", lambda *_, **__: pytest.fail("it is known already"))
    assert session.histories.frame(question, 0) is first
    monkeypatch.undo()
    snapshots = session.settings.checkpoints / "tiny-town" / "snapshots"
    shutil.copy(snapshots / "step-00000020.safetensors", snapshots / "step-00000000.safetensors")
    assert session.histories.frame(question, 0) != first


def test_news_tell_of_new_steps_and_of_the_end(session: AppState, monkeypatch: pytest.MonkeyPatch) -> None:
    make_run(session, status="training", steps=(0, 1, 2))
    monkeypatch.setattr("bertviz_lab.jobs.runs._process", lambda pid, folder: object())
    body = opened(session, RUN)
    question = json.dumps(body["question"])
    same = json.loads(learning.news(session, question, 2))
    assert (same["live"], same["steps"], "plane" in same) == (True, [0, 1, 2], False)
    folder = session.settings.runs_dir / RUN
    shutil.copy(folder / "snapshots" / "step-00000002.safetensors", folder / "snapshots" / "step-00000005.safetensors")
    write_state(folder, RunState("finished", step=5))
    more = json.loads(learning.news(session, question, 2))
    assert (more["live"], more["steps"]) == (False, [0, 1, 2, 5])
    assert more["plane"]["explained"] == pytest.approx(body["plane"]["explained"])
    shutil.rmtree(folder)
    assert "no longer here" in json.loads(learning.news(session, question, 5))["message"]


def test_a_run_of_tiny_town_is_begun_with_its_own_sentences(session: AppState) -> None:
    texts = followed_texts(session, "tiny-town")
    assert all(a.strip() for a, _, _ in texts)
    for _, _, words in texts:  # only words that are tokens of this vocabulary are named
        checkpoint = session.histories.snapshot("tiny-town", 0)
        assert learning.watch(checkpoint, words) == learning.watch(checkpoint, words)


def test_a_fine_tuned_history_shows_its_labels(settings: Settings) -> None:
    little_history(
        settings.checkpoints / "tuned", kind=BertForSequenceClassification, num_labels=2, id2label=("bad", "good")
    )
    session = AppState(settings)
    body = opened(session, "tuned", a="the red cat sat")
    assert body["labels"] == ["bad", "good"]
    assert sum(body["first"]["labels"]) == pytest.approx(1)
    assert (body["mapped"], body["plane"]) == ([], {})
    assert all(a for a, _, _ in followed_texts(session, "tuned"))


def come(session: AppState, history: str | None = None, wanted: str = "", automatic: str = "", shown: str = "") -> Any:
    return learning.come(session, [], history, wanted, automatic, shown, "", "", "")


def test_the_page_chooses_until_a_person_does(session: AppState, monkeypatch: pytest.MonkeyPatch) -> None:
    picker, _, automatic, chips, a, *_, view = come(session)
    assert (picker["value"], automatic) == ("tiny-town", "tiny-town")
    assert json.loads(view)["title"] == "tiny-town"
    assert [a] == json.loads(chips)["items"][0][:1]
    assert json.loads(chips)["shown"] == 2  # the words to watch do not stand on the buttons
    make_run(session, status="training")
    monkeypatch.setattr("bertviz_lab.jobs.runs._process", lambda pid, folder: object())
    # A run has begun: it is shown where the page had chosen, and only offered where a person had.
    picker, _, automatic, *_, view = come(session, "tiny-town", "", "tiny-town", chips)
    assert (picker["value"], automatic, json.loads(view)["title"]) == (RUN, RUN, "calm-otter")
    write_state(session.settings.runs_dir / RUN, RunState("finished", step=20))  # it stays on show when it ends
    picker, _, automatic, *_, view = come(session, RUN, "", RUN, chips)
    assert (picker["value"], automatic, view) == (RUN, RUN, gr.skip())
    write_state(session.settings.runs_dir / RUN, RunState("training", step=20, pid=os.getpid()))
    picker, *_, view = come(session, "tiny-town", "", "", chips)
    assert (picker["value"], view) == ("tiny-town", gr.skip())
    assert RUN in [name for _, name in picker["choices"]]


def test_a_link_and_the_model_at_the_top_lead_to_a_history(session: AppState) -> None:
    make_run(session)
    picker, wanted, *_ = come(session, None, RUN)
    assert (picker["value"], wanted) == (RUN, "")
    rest: Any = ([], "tiny-town", "", "tiny-town", "x", "", "", "")
    assert learning.follow_model(session, RUN, "little", *rest)[1]["value"] == RUN
    assert learning.follow_model(session, RUN, RUN, *rest)[1]["value"] == "tiny-town"  # nothing was changed up there
    assert learning.follow_model(session, "little", RUN, *rest)[1]["value"] == "tiny-town"  # it has no history
    unseen: Any = ([], None, "", "", "", "", "", "")
    assert learning.follow_model(session, "little", "", *unseen) == ("little", *(gr.skip(),) * 8)
