"""What Layers answers about what a layer holds: the tuned lens, and probes with their control task."""

from dataclasses import replace
from typing import Any

import pytest

from bertviz_lab import InputError, interpret
from bertviz_lab.config.limits import Limits
from bertviz_lab.ui.server.visitors import Visitor
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views.layers.view import QUESTIONS
from tests.charts import shown
from tests.training.support import finish, short_run, write_text
from tests.ui.pages import OWNER, STRANGER
from tests.ui.snapshots import STEPS, little_history

RUN = "calm-otter-0123456789abcdef"
TEXT = "the red [MASK] sat on the mat"


def ask(session: AppState, name: str, visitor: Visitor = OWNER, **given: Any) -> Any:
    given = {"model": "", "text_a": TEXT, "text_b": "", "position": None, "task": "subject"} | given
    question = QUESTIONS[name]
    return question.ask(session, {key: value for key, value in given.items() if key in question.arguments}, visitor)


def test_a_lens_is_fitted_when_asked_and_then_used(session: AppState, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bertviz_lab.ui.views.layers.view._SAMPLE", "sample:tiny-town")
    assert ask(session, "tuned") == {"lens": None, "fit": None}
    with pytest.raises(InputError, match=r"Put \[MASK\] in place"):
        ask(session, "tuned", text_a="the red cat")
    ask(session, "fit_lens")
    answer = ask(session, "tuned")
    table, fit = shown(answer["lens"]), shown(answer["fit"])
    assert table["title"] == "Tuned lens: the prediction at every layer"
    assert "translator of each layer" in table["sentence"]
    plain = shown(ask(session, "lens"))
    assert table["values"][-1] == plain["values"][-1]
    assert table["values"][0] != plain["values"][0]
    assert [series["name"] for series in fit["series"]] == ["logit lens", "tuned lens"]
    assert fit["places"] == ["embeddings", "1"]
    assert not (session.settings.checkpoints / "little" / "tuned_lens").exists()


def test_the_lens_of_a_run_is_kept_with_it_and_fitted_by_its_owner(settings: Settings, tmp_path: Any) -> None:
    finish(short_run(write_text(tmp_path / "text.txt"), steps=4), settings.runs_dir / RUN)
    (settings.runs_dir / RUN / "owner").write_text(OWNER.owner)
    shared = AppState(replace(settings, limits=Limits.of(shared=True)))
    with pytest.raises(InputError, match="which alone can fit a lens"):
        ask(shared, "fit_lens", STRANGER, model=RUN)
    ask(shared, "fit_lens", model=RUN)
    again = AppState(settings)
    lens = interpret.TunedLens.load(again.runs.folder(RUN), again.models.open(RUN))
    assert lens is not None
    assert shown(ask(again, "tuned", model=RUN)["lens"])["title"].startswith("Tuned lens")


def test_probes_stand_next_to_their_control_task_and_to_random_weights(session: AppState) -> None:
    choices = ask(session, "tasks")
    assert ["pos", "Part of speech"] in choices["tasks"]
    assert not choices["snapshots"]
    chart = shown(ask(session, "probes"))
    assert chart["title"] == "Probes: Number of the subject, at its masked verb"
    names = [series["name"] for series in chart["series"]]
    assert names == ["probe", "control task", "random weights", "word type alone"]
    assert chart["places"] == ["embeddings", "1", "2"]
    assert chart["columns"][-2:] == ["selectivity", "selectivity, random weights"]
    with pytest.raises(InputError, match="Choose one of pos"):
        ask(session, "probes", task="guess")


def test_probes_over_training_have_a_column_for_each_snapshot(settings: Settings) -> None:
    little_history(settings.checkpoints / "tiny-town")
    session = AppState(settings)
    assert ask(session, "tasks", model="tiny-town")["snapshots"]
    chart = shown(ask(session, "probes_over_training", model="tiny-town", measure="accuracy"))
    assert chart["columns"] == [str(step) for step in STEPS]
    assert chart["rows"] == ["embeddings", "layer 1", "layer 2"]
    assert "Accuracy in percent" in chart["sentence"]
