"""What the command line says of an event."""

from bertviz_lab.training.runs.console import format_event
from bertviz_lab.training.runs.events import ProbesDone


def test_probe_results_are_one_short_line():
    line = format_event(
        ProbesDone(5, 1.0, 10, "english", {"agreement": 0.8, "tense": 0.5, "article": 0.75, "word_order": 1.0})
    )
    assert line == "minimal-pair probes: accuracy 76.2%, 2 of 4 phenomena at 80% or more"
