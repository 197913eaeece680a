"""Compare: which runs may be chosen, what is shown of them, and the same input for all their models."""

import json
from typing import Any

import pytest

from bertviz_lab.config import PretrainConfig, ablated
from bertviz_lab.config.ablations import WHOLE
from bertviz_lab.errors import InputError
from bertviz_lab.training.checkpoints.atomic_io import write_json
from bertviz_lab.ui.server.visitors import NOBODY, Visitor
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views.ablation import view as study
from bertviz_lab.ui.views.compare.view import QUESTIONS, logged
from tests.charts import shown
from tests.ui.pages import OWNER
from tests.ui.views.test_ablation import finished, session

__all__ = ["session"]


def ask(session: AppState, question: str, visitor: Visitor = NOBODY, **arguments: Any) -> Any:
    """The answer to a question, as the page reads it."""
    answer = QUESTIONS[question].ask(session, arguments, visitor)
    return shown(answer) if isinstance(answer, str) and question != "example" else answer


def test_the_last_runs_are_compared_first_but_none_whose_outcome_is_to_be_predicted(session: AppState) -> None:
    study.train(session, OWNER, ["one-head"], 100, 0)
    assert ask(session, "runs")["first"] == []
    own_run = session.runs.start(PretrainConfig(corpus=("sample:tiny-town",), preset="tiny"))
    answer = ask(session, "runs")
    assert answer["first"] == [own_run]
    assert {label.split(" (")[0] for _, label in answer["choices"]} >= {"Full recipe", "One head"}
    assert own_run in [name for name, _ in answer["choices"]]


def test_runs_of_the_study_are_named_by_what_they_leave_out(session: AppState) -> None:
    study.train(session, OWNER, ["one-head"], 100, 0)
    runs = list(study.runs_of(session, OWNER, 100, 0).values())
    body = ask(session, "comparison", names=[*runs, "gone"])
    assert [run["name"].split(" (")[0] for run in body["runs"]] == ["Full recipe", "One head"]
    assert [name for name, _ in body["settings"]] == ["Attention heads per layer"]


def test_the_probes_of_the_chosen_runs_stand_side_by_side(session: AppState) -> None:
    run_id = finished(session, WHOLE, 0.8)
    assert ask(session, "probes", names=[run_id]) is None
    row = {"event": "ProbesDone", "step": 9, "probes": "english", "right": {"tense": 0.75}}
    with (session.runs.folder(run_id) / "events.jsonl").open("a") as log:
        log.write(json.dumps(row) + "\n")
    body = ask(session, "probes", names=[run_id])
    assert [(series["name"].split(" (")[0], series["texts"]) for series in body["series"]] == [
        ("Full recipe", ["75% at step 9"])
    ]
    with pytest.raises(InputError, match="no longer here"):
        ask(session, "probes", names=["gone"])


@pytest.mark.parametrize("names", [[], ["gone"], ["../../etc"]])
def test_no_runs_to_compare_is_a_sentence(session: AppState, names: list[str]) -> None:
    with pytest.raises(InputError, match="Choose one or more runs"):
        ask(session, "comparison", names=names)


def test_more_runs_than_can_be_told_apart_are_refused(session: AppState) -> None:
    runs = [session.runs.start(ablated(WHOLE, steps=100 + at)) for at in range(7)]
    with pytest.raises(InputError, match="at most 6"):
        ask(session, "comparison", names=runs)


def test_a_run_that_vanished_meanwhile_is_a_sentence(session: AppState) -> None:
    run_id = finished(session, WHOLE, 0.8)
    assert ask(session, "comparison", names=[run_id])["runs"]
    write_json(session.runs.folder(run_id) / "config.json", {"mine": 1})  # damaged
    assert "removed meanwhile" in ask(session, "comparison", names=[run_id])["message"]


def test_the_settings_of_a_shipped_model_are_those_of_its_recipe(session: AppState) -> None:
    folder = session.settings.checkpoints / "little"
    (folder / "training.jsonl").write_text(json.dumps({"event": "RunStarted", "objective": "mlm+nsp"}) + "\n")
    command = "pretrain --corpus a.txt b.txt --steps 12 --no-position-embeddings --seed 3".split()
    write_json(folder / "recipe.json", {"command": command})
    assert logged(session) == ["little"]
    run_id = finished(session, WHOLE, 0.8)
    body = ask(session, "comparison", names=["little", run_id])
    differs = {name: values for name, values in body["settings"]}
    assert differs["Position embeddings"] == ["no", "yes"]
    assert differs["Steps"] == ["12", "100"]
    assert differs["Corpus"] == ["a.txt, b.txt", "tiny-town"]
    # Another stage: neither says how the model was trained.
    write_json(folder / "recipe.json", {"earlier": [command], "command": command})
    assert ask(session, "comparison", names=["little", run_id])["settings"] == []


def test_all_chosen_models_get_the_same_input(session: AppState) -> None:
    little: dict[str, Any] = {"names": ["little"]}
    assert ask(session, "predictions", **little, text_a="the red [MASK] sat")["names"] == ["little"]
    pair = little | {"text_a": "the red [MASK] sat", "text_b": "she sat"}
    assert ask(session, "nsp", **pair)["groups"] == ["little"]
    assert len(ask(session, "attention", **pair)["grids"]) == 1
    assert len(ask(session, "attention", **pair | {"text_b": ""})["grids"]) == 1
    assert "[MASK]" in ask(session, "example", names=["little"])
    assert ask(session, "example", names=[]) == ask(session, "example", names=["gone"]) == ""
