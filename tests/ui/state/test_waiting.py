"""A run that waits for its turn, on the page."""

from bertviz_lab.training.runs.run_folder import RunState, write_state
from bertviz_lab.ui.server.visitors import NOBODY
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views.run.view import RUN as VIEW
from bertviz_lab.ui.views.runs.view import RUNS, glance
from tests.ui.state.test_models import RUN, make_run


def test_a_run_that_waits_can_be_taken_out_of_the_line_and_join_it_again(session: AppState) -> None:
    folder = make_run(session, status="finished", model=False)
    write_state(folder, RunState("waiting"))
    assert glance(session, NOBODY, RUN)["message"] == "It is next in the queue."  # type: ignore[index]
    about = VIEW.questions["about"]
    waiting = about.ask(session, {"run_id": RUN})
    assert (waiting["can_stop"], waiting["can_resume"]) == (True, False)
    assert "no longer queued" in RUNS.questions["change"].ask(session, {"action": "stop", "run_id": RUN})
    stopped = about.ask(session, {"run_id": RUN})
    assert (stopped["can_stop"], stopped["can_resume"]) == (False, True)


def test_the_table_of_runs_tells_place_and_time_of_those_that_wait(session: AppState) -> None:
    write_state(make_run(session, status="finished", model=False), RunState("waiting"))
    (row, *shipped) = RUNS.questions["table"].ask(session, {})
    assert row["queue"] == "It is next in the queue."
    assert {row["queue"] for row in shipped} == {""}
