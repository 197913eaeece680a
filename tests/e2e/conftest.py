"""What all tests in a browser share."""

from tests.ui.pages import event_loops, measured_once, nothing_ahead

__all__ = ["event_loops", "measured_once", "nothing_ahead"]
