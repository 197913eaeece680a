"""The former names of the scheduler, until all callers have changed."""

from bertviz_lab.ui.server.scheduler import report_progress as tell_progress

__all__ = ["tell_progress"]
