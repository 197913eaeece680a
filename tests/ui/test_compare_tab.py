"""The tab Compare: which runs may be opened, and which are queued."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bertviz_lab.config import ABLATIONS, PretrainConfig, ablated
from bertviz_lab.config.ablations import WHOLE
from bertviz_lab.errors import InputError
from bertviz_lab.training.checkpoints.atomic_io import write_json
from bertviz_lab.training.runs.run_folder import RunState, write_state
from bertviz_lab.ui.app_state import AppState
from bertviz_lab.ui.tabs import compare
from bertviz_lab.ui.views.ablation import study as ablation_runs
from bertviz_lab.ui.views.compare import runs as run_comparison
from tests.ui.pages import little_settings


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AppState:
    """A page on which no training ever begins."""
    monkeypatch.setattr("bertviz_lab.jobs.runs.Runs._launch_next", lambda self: 0)
    return AppState(little_settings(tmp_path))


def shared(session: AppState) -> AppState:
    session.settings = replace(session.settings, shared=True)
    session.models.settings = session.settings
    return session


def finished(session: AppState, name: str, score: float, steps: int = 100) -> str:
    run_id = session.runs.start(ablated(name, steps=steps))
    folder = session.runs.folder(run_id)
    write_state(folder, RunState("finished", step=steps))
    rows = [{"event": "EvalDone", "step": steps, "seconds": 1, "mlm_accuracy": score, "nsp_accuracy": score}]
    (folder / "events.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return run_id


def test_the_whole_recipe_is_queued_before_what_was_ticked(session):
    started = ablation_runs.queue(session, [], ["one-layer", "no-positions"], 100, 0)
    kinds = ablation_runs.kinds_of(session, started)
    assert [kinds[run] for run in started] == [(name, 100, 0) for name in (WHOLE, "no-positions", "one-layer")]
    assert {session.runs.state(run).status for run in started} == {"waiting"}


def test_what_is_there_is_not_trained_again_and_what_was_stopped_goes_on(session):
    whole = finished(session, WHOLE, 0.5)
    stopped = finished(session, "one-head", 0.5)
    write_state(session.runs.folder(stopped), RunState("stopped", step=40))
    started = ablation_runs.queue(session, [], ["one-head", "one-layer"], 100, 0)
    assert len(started) == 1
    assert session.runs.state(stopped).status == "waiting"
    runs = ablation_runs.runs_of(session, [], 100, 0)
    assert (runs[WHOLE], runs["one-head"], runs["one-layer"]) == (whole, stopped, started[0])
    assert ablation_runs.queue(session, [], ["one-head", "one-layer"], 100, 0) == []
    assert ablation_runs.runs_of(session, [], 100, 1) == {}, "another seed is another set"


@pytest.mark.parametrize("names", [[], None, ["<b>"], "one-layer", {"one-layer": 1}])
def test_nothing_ticked_starts_nothing(session, names):
    with pytest.raises(InputError, match="Select at least one ablation"):
        ablation_runs.queue(session, [], names, 100, 0)
    assert session.runs.ids() == ()


@pytest.mark.parametrize(("steps", "seed"), [(0, 0), (10**9, 0), (None, 0), ("many", 0), (100, -1), (100, None)])
def test_steps_and_seeds_that_make_no_run_are_refused(session, steps, seed):
    with pytest.raises(InputError, match="must"):
        ablation_runs.queue(session, [], ["one-layer"], steps, seed)
    assert session.runs.ids() == ()


def test_strangers_can_put_only_so_much_in_line_and_see_their_own_only(session):
    page = shared(session)
    own = ablation_runs.queue(page, [], list(ABLATIONS), 100, 0)
    assert ablation_runs.runs_of(page, [], 100, 0) == {}
    assert set(ablation_runs.runs_of(page, own, 100, 0).values()) == set(own)
    with pytest.raises(InputError, match="are queued on this shared page"):
        ablation_runs.queue(page, [], list(ABLATIONS), 100, 1)
    with pytest.raises(InputError, match="between 20 and 5,000"):
        ablation_runs.queue(page, [], ["one-head"], 6000, 0)
    assert own[0] not in [name for _, name in run_comparison.choices(page, [])]
    with pytest.raises(InputError, match="no longer here"):
        run_comparison.chosen(page, [], [own[0]])


def test_the_outcome_is_read_from_the_two_runs(session):
    whole, without = finished(session, WHOLE, 0.8), finished(session, "one-layer", 0.5)
    found = json.loads(ablation_runs.reveal(session, "one-layer", whole, without, {"mlm_accuracy": "worse"}))
    assert [one["found"] for one in found["measures"]] == ["worse", "worse"]
    assert "MLM accuracy: 50.0%" in found["measures"][0]["text"]


def test_an_outcome_that_is_not_there_is_a_sentence(session):
    whole = finished(session, WHOLE, 0.8)
    waiting = session.runs.start(ablated("one-layer", steps=100))
    for asked in (("one-layer", whole, waiting, {}), ("one-layer", whole, "gone", {}), ("<b>", whole, whole, {})):
        assert set(json.loads(ablation_runs.reveal(session, *asked))) == {"message"}


def test_runs_of_the_recipe_set_beside_each_other_are_named_by_what_they_leave_out(session):
    ablation_runs.queue(session, [], ["one-head"], 100, 0)
    runs = list(ablation_runs.runs_of(session, [], 100, 0).values())
    chosen = compare.set_beside(session, {"runs": [*runs, "gone"]}, [], ["little"])
    assert chosen["value"] == runs
    body = json.loads(compare.draw(session, [], runs))
    assert [run["name"].split(" (")[0] for run in body["runs"]] == ["Full recipe", "One head"]
    assert [name for name, _ in body["settings"]] == ["Attention heads per layer"]


def test_looking_at_runs_that_are_gone_says_so(session):
    whole = finished(session, WHOLE, 0.8)
    found = ablation_runs.look(session, [whole, "gone", "../../etc"])
    assert [found[name]["status"] for name in (whole, "gone", "../../etc")] == ["finished", "missing", "missing"]
    assert ablation_runs.look(session, "nonsense") == {}


def test_what_was_queued_can_be_chosen_and_the_browser_remembers_it(session):
    own, cards, chosen, message, _ = compare.queue(session, {"names": ["one-head"]}, [], ["little"], 100, 0)
    assert len(own) == 2
    assert set(own) <= {name for _, name in chosen["choices"]}
    assert chosen["value"] == ["little"], "their curves would give away what a person is to predict"
    assert json.loads(cards)["whole"] in own
    assert message == ""
    _, _, _, message, _ = compare.queue(session, {"names": []}, own, [], 100, 0)
    assert "Select at least" in json.loads(message)["text"]


def test_the_newest_set_is_shown_when_the_page_opens(session):
    ablation_runs.queue(session, [], ["one-head"], 123, 4)
    own_run = session.runs.start(PretrainConfig(corpus=("sample:tiny-town",), preset="tiny"))
    chosen, comparison, cards, steps, seed, _ = compare.open_tab(session, [], [], 1, 1)
    assert (steps, seed) == (123, 4)
    assert json.loads(cards)["set"] == "123/4"
    assert [run["id"] for run in json.loads(comparison)["runs"]] == chosen["value"] == [own_run]


@pytest.mark.parametrize("names", [[], None, ["gone"], [None], "little"])
def test_no_runs_to_compare_is_a_sentence(session, names):
    assert "Choose one or more runs" in json.loads(compare.picture(compare.draw)(session, [], names))["message"]


def test_more_runs_than_can_be_told_apart_are_refused(session):
    runs = [session.runs.start(ablated(WHOLE, steps=100 + at)) for at in range(7)]
    with pytest.raises(InputError, match="at most 6"):
        run_comparison.chosen(session, [], runs)


def test_a_run_that_vanished_meanwhile_is_a_sentence(session):
    run_id = finished(session, WHOLE, 0.8)
    found = run_comparison.chosen(session, [], [run_id])
    assert found == [run_id]
    write_json(session.runs.folder(run_id) / "config.json", {"corpus": []})  # damaged
    assert "message" in json.loads(compare.picture(compare.draw)(session, [], [run_id]))


def test_the_settings_of_a_shipped_model_are_those_on_its_card(session):
    folder = session.settings.checkpoints / "little"
    (folder / "training.jsonl").write_text(json.dumps({"event": "RunStarted", "objective": "mlm+nsp"}) + "\n")
    (folder / "README.md").write_text(
        "- Command: `python -m bertviz_lab pretrain --corpus a.txt b.txt --steps 12\n --no-position-embeddings "
        "--seed 3`\n"
    )
    assert run_comparison.logged(session) == ["little"]
    run_id = finished(session, WHOLE, 0.8)
    body = json.loads(run_comparison.draw(session, [], ["little", run_id]))
    differs = {name: values for name, values in body["settings"]}
    assert differs["Position embeddings"] == ["no", "yes"]
    assert differs["Steps"] == ["12", "100"]
    assert differs["Text"] == ["a.txt, b.txt", "tiny-town"]


def test_all_chosen_models_are_asked_the_same(session):
    fills, follows, heads = compare.answer(session, [], ["little"], "the red [MASK] sat", "she sat")
    assert json.loads(fills)["names"] == ["little"]
    assert json.loads(follows)["groups"] == ["little"]
    assert len(json.loads(heads)["grids"]) == 1
    fills, follows, heads = compare.answer(session, [], ["little"], "no blank", "")
    assert "[MASK]" in json.loads(fills)["message"]
    assert "sentence B" in json.loads(follows)["message"]
    assert len(json.loads(heads)["grids"]) == 1
