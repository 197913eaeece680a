"""Gradio's queue of events, in which visitors take turns as they do in the line of questions.

Gradio's own is first come, first served: who joins it often enough would keep all others waiting, or out.
"""

from collections import Counter
from typing import Any

import gradio as gr
from gradio import queueing
from gradio.server_messages import EventMessage, ProcessCompletedMessage

from bertviz_lab.config.limits import Limits
from bertviz_lab.ui.guard.unread_answers import UnreadAnswers
from bertviz_lab.ui.server.api import MOST_WEIGHTS
from bertviz_lab.ui.server.visitors import place_of

_MOST_WAITING = 500  # events of all visitors
_AT_ONCE = 8  # events of a kind: each takes milliseconds; those that read a whole text have a limit of their own
_MOST_UNREAD = 2 * MOST_WEIGHTS  # numbers in answers that nobody has fetched, some 40 bytes each


class FairQueue(queueing.Queue):
    """On a shared page `questions_waiting` events of a visitor may wait, and of an address half of the queue."""

    def __init__(self, page: gr.Blocks, limits: Limits) -> None:
        super().__init__(
            live_updates=True,
            concurrency_count=page.max_threads,
            update_intervals=1,
            max_size=_MOST_WAITING,
            blocks=page,
            default_concurrency_limit=_AT_ONCE,
        )
        self._most_of_one = limits.questions_waiting if limits.shared else _MOST_WAITING
        self._most_of_address = _MOST_WAITING // 2 if limits.shared else _MOST_WAITING
        self._unread = UnreadAnswers(_MOST_UNREAD)

    async def push(self, body: Any, request: Any, username: str | None) -> tuple[bool, Any, Any]:
        """Take an event in, or say why not, as Gradio's does; then put those that wait into their order."""
        address, _ = place = request.state.place = place_of(request)
        places = [_place(event) for waiting in self._lines() for event in waiting]
        if places.count(place) >= self._most_of_one:
            return False, "Too much of what you asked still waits; try again when it is answered.", "queue_full"
        if sum(other == address for other, _ in places) >= self._most_of_address:
            return False, "This server is busy with what your network asked; try again in a moment.", "queue_full"
        answer = await super().push(body, request, username)
        active = [event for job in self.active_jobs if job for event in job]
        for name, line in self.event_queue_per_concurrency_id.items():
            line.queue[:] = _in_turns(line.queue, [event for event in active if event.concurrency_id == name])
        return answer

    def send_message(self, event: queueing.Event, event_message: EventMessage) -> None:
        """Put a message where it is fetched, or waits to be."""
        super().send_message(event, event_message)
        if isinstance(event_message, ProcessCompletedMessage):
            self._unread.add(_place(event)[0], event_message)

    def _lines(self) -> list[list[queueing.Event]]:
        """The events that wait, by what they wait for."""
        return [line.queue for line in self.event_queue_per_concurrency_id.values()]


def _in_turns(waiting: list[queueing.Event], active: list[queueing.Event]) -> list[queueing.Event]:
    """Events in the order in which places go round the addresses, and round the browsers of an address.

    Who has `active` ones, that are being answered, has had a turn for each.
    """
    for level in (2, 1):
        before = Counter(_place(event)[:level] for event in active)
        ranks = {}
        for event in waiting:
            group = _place(event)[:level]
            ranks[event] = before[group]
            before[group] += 1
        waiting = sorted(waiting, key=ranks.__getitem__)
    return waiting


def _place(event: queueing.Event) -> tuple[str, ...]:
    """Whose event it is, as noted when it came."""
    place: tuple[str, ...] = event.request.state.place
    return place
