"""What visitors may train: the limits of a page, each named in one sentence, and attacks on a running page."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bertviz_lab import FinetuneConfig, InputError, PretrainConfig
from bertviz_lab.config.limits import HOUR, Limits
from bertviz_lab.training.runs.run_folder import RunState, read_state, write_state
from bertviz_lab.ui.server.visitors import NOBODY, Visitor, owner_of
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views.finetune.view import form as finetune
from bertviz_lab.ui.views.pretrain.view import QUESTIONS
from bertviz_lab.ui.views.pretrain.view import form as pretrain
from tests.ui.form_client import FormClient
from tests.ui.pages import OWNER, STRANGER, Served, little_settings, serve
from tests.ui.state.test_models import RUN, make_run

SMALL = PretrainConfig(corpus=("sample:tiny-town",), preset="tiny", steps=10)


@pytest.fixture(autouse=True)
def idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """No training ever begins: all runs wait."""
    monkeypatch.setattr("bertviz_lab.jobs.runs.Runs._launch_next", lambda self: 0)


def page(folder: Path, **limits: Any) -> AppState:
    return AppState(replace(little_settings(folder, shared=True), limits=replace(Limits.of(shared=True), **limits)))


def visitor(number: int, address: str = "192.0.2.1") -> Visitor:
    return Visitor(address, owner_of(f"{number:043}"))


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        (replace(SMALL, steps=10_000_000), "10,000,000 steps, and a run on this page takes up to 36,000"),
        (replace(SMALL, steps=None, time_budget="1e300d"), "trains for up to 1 h"),
        (replace(SMALL, steps=None, time_budget="61m"), "trains for up to 1 h"),
    ],
)
def test_a_run_that_is_too_long_is_refused_by_the_name_of_its_limit(
    tmp_path: Path, config: PretrainConfig, sentence: str
) -> None:
    state = page(tmp_path)
    with pytest.raises(InputError, match=sentence):
        state.quota.start(OWNER, config)
    assert state.runs.ids() == ()
    AppState(replace(state.settings, limits=Limits.of(shared=False))).quota.check(NOBODY, replace(SMALL, steps=10**7))


def test_a_visitor_has_so_many_runs_at_a_time_and_a_place_is_free_when_one_has_ended(tmp_path: Path) -> None:
    state = page(tmp_path)
    first, *_ = [state.quota.start(OWNER, SMALL) for _ in range(3)]
    with pytest.raises(InputError, match="may have 3 runs that train or wait; 3 of yours do"):
        state.quota.start(OWNER, SMALL)
    with pytest.raises(InputError, match="0 of yours do, and this asks for 4"):
        state.quota.check(STRANGER, SMALL, 4)
    state.quota.start(STRANGER, SMALL)
    state.runs.stop(first)
    state.quota.start(OWNER, SMALL)
    with pytest.raises(InputError, match="train or wait"):
        state.quota.resume(OWNER, first)


def test_who_throws_the_cookie_away_is_counted_by_address(tmp_path: Path) -> None:
    state = page(tmp_path, runs_per_visitor=1)
    for number in range(10):
        state.quota.start(visitor(number), SMALL)
    with pytest.raises(InputError, match="10 runs that were started from your network"):
        state.quota.start(visitor(99), SMALL)
    state.quota.start(visitor(99, "192.0.2.2"), SMALL)
    with pytest.raises(InputError, match="by a cookie"):
        state.quota.start(Visitor("192.0.2.3"), SMALL)


def test_so_many_runs_of_all_visitors_wait(tmp_path: Path) -> None:
    state = page(tmp_path, visitors=10)
    for number in range(2):
        state.quota.start(visitor(number), SMALL)
    with pytest.raises(InputError, match="2 runs wait on this page, and 2 may"):
        state.quota.start(visitor(2), SMALL)


def test_a_run_that_has_had_its_time_is_not_resumed(tmp_path: Path) -> None:
    state = page(tmp_path)
    folder = make_run(state, status="stopped")
    write_state(folder, replace(read_state(folder), seconds=HOUR))
    with pytest.raises(InputError, match="trained for 1 h, the longest time"):
        state.quota.resume(OWNER, RUN)
    write_state(folder, replace(read_state(folder), seconds=HOUR / 2))
    state.quota.resume(OWNER, RUN)
    assert state.runs.state(RUN).status == "waiting"


def test_where_training_is_off_nothing_starts_and_the_page_says_so(tmp_path: Path) -> None:
    state = page(tmp_path, runs_per_visitor=0)
    folder = make_run(state, status="stopped")
    for start in (lambda: state.quota.start(OWNER, SMALL), lambda: state.quota.resume(OWNER, RUN)):
        with pytest.raises(InputError, match="Training is off"):
            start()
    assert read_state(folder) == RunState("stopped", step=7, updated=read_state(folder).updated)
    for form in (pretrain, finetune):
        drawn = form(state, OWNER)
        assert drawn["training"] is False
        assert "Training is off" in drawn["limits"]


def test_nobody_trains_on_from_the_model_of_somebody_else(tmp_path: Path) -> None:
    state = page(tmp_path)
    model = str(make_run(state) / "model")
    tuning = FinetuneConfig(train=("sample:sentiment",), model=model)
    for config in (tuning, replace(SMALL, init_from=model)):
        with pytest.raises(InputError, match="model to start from is not there"):
            state.quota.start(STRANGER, config)
        state.quota.check(OWNER, config)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Served]:
    with serve(little_settings(tmp_path, shared=True)) as served:
        yield served


class Form(FormClient):
    """The Pretrain form of a running page, sent as a script sends it."""

    def press(self, key: str = "", **changes: Any) -> str:
        """Return what is answered after some values were changed."""
        return json.dumps(self.ask("pretrain", "start", source="tiny-town", files=[], values=changes, key=key))


def test_a_start_that_is_sent_twice_starts_one_run(running: Served, caplog: pytest.LogCaptureFixture) -> None:
    url, state = running
    caplog.set_level("INFO", "bertviz_lab.events")
    form = Form(url)
    with ThreadPoolExecutor(4) as pool:
        answers = set(pool.map(lambda _: form.press("the key", preset="tiny"), range(8)))
    assert answers == {json.dumps(run_id) for run_id in state.runs.ids()}
    assert len(answers) == 1
    other = form.press("another key", preset="tiny")
    state.runs.stop(json.loads(other))
    assert form.press("another key", preset="tiny") not in {other, *answers}  # the run has ended: this is a new one
    assert caplog.messages.count("run started") == len(state.runs.ids()) == 3
    form.close()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"steps": "1e7"}, "takes up to 36,000"),
        ({"steps": "1e300"}, "Steps"),
        ({"steps": "", "time_budget": "1e300d"}, "up to 1 h"),
        ({"text_field": "x" * 900_000}, "too long"),
        ({"time_budget": "9" * 900_000}, "too long"),
        ({"preset": "large"}, "million parameters"),
    ],
)
def test_a_form_beyond_the_limits_is_refused(tmp_path: Path, changes: dict[str, str], sentence: str) -> None:
    state = page(tmp_path)
    form = {"source": "tiny-town", "files": [], "values": changes}
    with pytest.raises(InputError, match=sentence) as refused:
        QUESTIONS["start"].ask(state, form, OWNER)
    assert len(str(refused.value)) < 10_000
    assert state.runs.ids() == ()
