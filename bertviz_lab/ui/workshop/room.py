"""The state of a workshop's room: each participant's lesson and predictions, the leader's calls, and the plan.

It is in memory only and ends with the server. A participant is a browser, identified by the hash of its cookie, and
the leader sees counts. Only the server's event loop changes it.
"""

import secrets
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from bertviz_lab.ui.languages import ENGLISH, Language, Message
from bertviz_lab.ui.lessons.lesson import Place
from bertviz_lab.ui.server.visitors import Visitor
from bertviz_lab.ui.workshop.plans import Part, Plan, PlanUnderWay

#: Seconds without a word after which a browser counts as gone; one in the background is silent.
_PRESENT = 60.0


@dataclass
class _Participant:
    address: str
    seen: float
    lesson: int = 1
    done: frozenset[int] = frozenset()
    guesses: dict[int, int] = field(default_factory=dict)  # by lesson, the index of the choice
    exam: dict[tuple[str, int], int] = field(default_factory=dict)  # by sitting and task, the points


@dataclass(frozen=True)
class LessonCounts:
    """A lesson, counted over the room: who is at it, who has seen its answer, and who predicted which choice."""

    at: int
    done: int
    guesses: Mapping[int, int]


class Room:
    """The room of one workshop, for `most` browsers; where more come, the fullest network address gives one up."""

    def __init__(self, most: int, now: Callable[[], float] = time.monotonic) -> None:
        self._most, self.now = most, now
        self._calls = 0
        self.outcome = Message("")  # of the leader's last act
        self.reset()

    def reset(self) -> None:
        """Forget all predictions and all progress; the browsers start over."""
        self.id = secrets.token_urlsafe(8)
        self.called = 0  # the lesson to which everybody was called last; 0 for the exam, or another part of the plan
        self.revealed: set[int] = set()
        self.exam: Literal["", "before", "after"] = ""  # the sitting that is under way, before the lessons or after
        self.opened: Part | None = None  # the part of the plan to whose place everybody was led last
        self.plan: PlanUnderWay | None = None
        self._participants: dict[str, _Participant] = {}

    def report(
        self,
        visitor: Visitor,
        room: str,
        lesson: int,
        done: Collection[int],
        guesses: Mapping[int, int],
        say: Language = ENGLISH,
    ) -> dict[str, Any]:
        """Record a browser's lesson and predictions; returns the news. Reports from before a reset are ignored.

        A prediction can be changed until its lesson is revealed.
        """
        known = self._participants.pop(visitor.owner, None) or self._join(visitor)
        known.seen = self.now()
        self._participants[visitor.owner] = known  # the most recent report is last
        if room == self.id:
            fixed = {number: choice for number, choice in known.guesses.items() if number in self.revealed}
            known.guesses = {n: choice for n, choice in guesses.items() if n not in self.revealed} | fixed
            known.lesson, known.done = lesson, frozenset(done) & self.revealed
        return self.news(say)

    def news(self, say: Language = ENGLISH) -> dict[str, Any]:
        """Return what every browser receives: the room, the last call, and the predictions of revealed lessons."""
        return {
            "room": self.id,
            "call": {"number": self._calls, "lesson": self.called, "exam": self.exam, "place": self._place(say)},
            "revealed": {number: dict(self.counts(number).guesses) for number in sorted(self.revealed)},
        }

    def call(self, lesson: int = 0, exam: Literal["", "before", "after"] = "", opened: Part | None = None) -> None:
        """Lead everybody to a lesson, the exam or the place of a part, including those who come later.

        Without any of them browsers stay where they are. A sitting of the exam ends with the next call.
        """
        self._calls += 1
        self.called, self.exam, self.opened = lesson, exam, opened

    def start(self, plan: Plan) -> None:
        """Begin a plan with its first part."""
        self._follow(PlanUnderWay(plan, self.now(), self.now()))

    def move(self, steps: int) -> None:
        """Call everybody to a later or an earlier part of the plan; before the first one and after the last it ends."""
        if self.plan is not None:
            self._follow(self.plan.moved(steps, self.now()))

    def _follow(self, plan: PlanUnderWay | None) -> None:
        self.plan = plan
        if plan is not None:
            self.call(plan.part.lesson, plan.part.exam, plan.part if plan.part.opens else None)

    def _place(self, say: Language) -> dict[str, Any] | None:
        """Return the place of the last call as `page.open` takes it (client/page.js), with what to do there."""
        if self.opened is None:
            return None
        place, words = Place(self.opened.opens), {"title": say(self.opened.title), "text": say(self.opened.say)}
        return {"space": place.space, "show": place.view, "lesson": words}

    def mark(self, visitor: Visitor, task: int, points: int) -> None:
        """Record the points of a task in the sitting that is under way; what was handed in first counts."""
        person = self._participants.get(visitor.owner)
        if self.exam and person is not None:
            person.exam.setdefault((self.exam, task), points)

    def exam_points(self, sitting: str, task: int) -> list[int]:
        """Return the points of a task in a sitting, of each participant who handed it in."""
        people = tuple(self._participants.values())
        return [person.exam[sitting, task] for person in people if (sitting, task) in person.exam]

    def reveal(self, lesson: int) -> None:
        """Reveal the answer of a lesson and the room's predictions, which are final from now on."""
        self.revealed.add(lesson)

    def counts(self, lesson: int) -> LessonCounts:
        people = tuple(self._participants.values())  # a thread may count while the event loop changes them
        return LessonCounts(
            at=sum(person.lesson == lesson for person in people if self._is_present(person)),
            done=sum(lesson in person.done for person in people),
            guesses=Counter(person.guesses[lesson] for person in people if lesson in person.guesses),
        )

    @property
    def present(self) -> int:
        return sum(map(self._is_present, self._participants.values()))

    def __len__(self) -> int:
        return len(self._participants)

    def _is_present(self, person: _Participant) -> bool:
        return self.now() - person.seen < _PRESENT

    def _join(self, visitor: Visitor) -> _Participant:
        """Add a participant. Cookies can be forged, so in a full room the oldest one of the fullest address leaves."""
        if len(self._participants) >= self._most:
            addresses = Counter(person.address for person in self._participants.values())
            ((fullest, _),) = addresses.most_common(1)
            leaving = next(owner for owner, person in self._participants.items() if person.address == fullest)
            del self._participants[leaving]
        return _Participant(visitor.address, self.now())
