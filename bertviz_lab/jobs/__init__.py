"""Runs as processes of their own: start, watch, stop, resume, queue. They outlive the page that started them."""

from bertviz_lab.jobs.runs import Runs

__all__ = ["Runs"]
