"""A run that waits for its turn, on the page."""

import json

from bertviz_lab.training.runs.run_folder import RunState, write_state
from bertviz_lab.ui.app_state import AppState
from bertviz_lab.ui.run_panel import panel_state, stop_run
from tests.ui.test_models import RUN, make_run


def test_a_run_that_waits_can_be_taken_out_of_the_line_and_join_it_again(session: AppState) -> None:
    folder = make_run(session, status="finished", model=False)
    write_state(folder, RunState("waiting"))
    assert session.glance(RUN)["message"] == "It is next in the queue."
    stop, resume, *_ = panel_state(session, RUN)
    assert (stop["visible"], resume["visible"]) == (True, False)
    _, message = stop_run(session, RUN)
    assert "no longer queued" in json.dumps(json.loads(message))
    stop, resume, *_ = panel_state(session, RUN)
    assert (stop["visible"], resume["visible"]) == (False, True)
    assert session.glance(RUN)["status"] == "stopped"
