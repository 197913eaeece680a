"""The leader's page and the screen for a projector: what their templates show, and what changes while they are open.

A script asks the address in `data-live` for the news of `board` or `screen`, and shows them in the elements that name
them (`leader.js`).
"""

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

from bertviz_lab.config.limits import words_of
from bertviz_lab.errors import InputError
from bertviz_lab.jobs import Runs
from bertviz_lab.jobs.new_run import short_name
from bertviz_lab.training.runs.run_folder import ACTIVE
from bertviz_lab.ui.languages import ENGLISH, Language, Number, languages, translated
from bertviz_lab.ui.lessons import LESSONS, Lesson
from bertviz_lab.ui.lessons.exam import POINTS, TITLES
from bertviz_lab.ui.lessons.measuring import Measured
from bertviz_lab.ui.server import assets
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.templates import render
from bertviz_lab.ui.workshop.access import qr_code
from bertviz_lab.ui.workshop.machine import Check, addresses_of_machine
from bertviz_lab.ui.workshop.plans import IN_EACH_LESSON, PLANS, Part, Plan, PlanUnderWay, shared_runs
from bertviz_lab.ui.workshop.room import Room

#: Participants that the plans reckon with until more are there.
EXPECTED = 30

_CHOICES = max(len(lesson.choices) for lesson in LESSONS)


class News(TypedDict):
    """What changes on a page: texts and shares, by the names of their elements, and the parts that are shown now."""

    texts: dict[str, str]
    shares: dict[str, float]
    here: list[str]


@dataclass(frozen=True)
class RunsNow:
    """The runs under way: a line for each, how many wait, and the seconds until the last of them ends, or longer."""

    lines: Sequence[str] = ()
    waiting: int = 0
    seconds: float = 0.0


def leader_page(settings: Settings, address: str, room: Room | None, say: Language = ENGLISH) -> str:
    """Return the whole page; `address` is where participants open the lab. Without a room its parts are left out."""
    people = max(EXPECTED, len(room or ()))
    links = {"room": say("Screen for the projector")} if room is not None else {}
    return render(
        "workshop/leader.html",
        say,
        **_document(settings.workshop or say("For leaders"), say, "leader/board" if room is not None else ""),
        address=address,
        links=links | {"handout": say("Handout"), "leader/handout": say("Handout with answers")},
        languages=languages(),
        has_room=room is not None,
        others=[
            other
            for other in addresses_of_machine()
            if settings.shared and not settings.loopback and other not in address
        ],
        lessons=translated(LESSONS, say),
        exam=[say(title) for title in TITLES],
        in_each_lesson=IN_EACH_LESSON,
        plans=[(plan, _shares(plan, settings, people, say)) for plan in translated(PLANS, say)],
        title_of=title_of,
        for_owner=is_for_owner(settings),
        choices=_CHOICES,
        qr_code=qr_code,
    )


def is_for_owner(settings: Settings) -> bool:
    """Return whether only who runs the machine opens the page: with a leader's key, or locally."""
    return bool(settings.workshop) or not settings.shared


def title_of(part: Part, say: Language = ENGLISH) -> str:
    """Return what a part is called; a title of its own is translated already."""
    lesson = LESSONS[part.lesson - 1]
    return part.title or say("Lesson {number}: {title}", number=lesson.number, title=say(lesson.title))


def _shares(plan: Plan, settings: Settings, people: int, say: Language) -> list[str]:
    """Return who trains when, for each time in which runs train."""
    seconds, places = settings.limits.run_seconds, settings.max_runs
    sentences = []
    for start, end in plan.training():
        largest, starts = shared_runs(people, start, end, places, seconds)
        groups = [
            say("{group} at {minute}", group=group, minute=round(minute)) for group, minute in enumerate(starts, 1)
        ]
        sentence = say(
            "minutes {start} to {end}: {people} people in {groups} groups of up to {largest}, a run each (at most "
            "{time} each, {places} at a time). Starting minutes: group {starts}. A run that ends early lets the next "
            "begin.",
            **{"start": start, "end": end, "people": people, "groups": len(starts), "largest": largest},
            **{"places": places, "time": say.number(words_of("seconds", seconds)), "starts": ", ".join(groups)},
        )
        sentences.append(sentence)
    return sentences


def board(room: Room, runs: RunsNow, say: Language = ENGLISH) -> News:
    """Return what changes on the leader's page."""
    present = say("{present} here now, {all} since the start or the last reset.", present=room.present, all=len(room))
    texts = {"present": present, "said": say.translate(room.outcome)}
    texts["runs"] = "\n".join(runs.lines) or "No run trains or waits."
    shares: dict[str, float] = {}
    for lesson in LESSONS:
        number, counts = lesson.number, room.counts(lesson.number)
        bars, widths = _guesses(room, lesson, f"guess-{number}-", say)
        shares |= widths
        texts |= bars | {
            f"at-{number}": f"{counts.at}",
            f"done-{number}": f"{counts.done}",
            f"guessed-{number}": f"{sum(counts.guesses.values())}",
            f"called-{number}": say("everyone was called here") if room.called == number else "",
            f"revealed-{number}": say("revealed") if number in room.revealed else "",
        }
    for task in range(1, len(TITLES) + 1):
        for sitting in ("before", "after"):
            points = room.exam_points(sitting, task)
            texts[f"exam-{sitting}-{task}"] = _mean_share(points, say)
    texts["exam"] = "" if not room.exam else say("everyone was called here")
    if room.plan is None:
        return News(texts=texts, shares=shares, here=["no-plan"])
    return _now(room, room.plan, runs, texts, shares, say)


def _now(
    room: Room, plan: PlanUnderWay, runs: RunsNow, texts: dict[str, str], shares: dict[str, float], say: Language
) -> News:
    """Add the part of the moment and the clock of a plan to `texts` and `shares`."""
    part, now, minutes = translated(plan.part, say), room.now(), plan.plan.minutes
    here = ["plan", f"plan-{minutes}", f"part-{minutes}-{plan.at}"]
    texts |= _clock(plan, now, say) | {
        "part": title_of(part, say),
        "say": part.say,
        "next": _titled(plan.next_part, say) if plan.next_part is not None else say("end of the plan"),
        "queue": _queue(plan, now, runs, say),
    }
    if part.lesson:
        lesson, counts = translated(LESSONS[part.lesson - 1], say), room.counts(part.lesson)
        bars, widths = _guesses(room, lesson, "now-", say)
        shares |= widths
        texts |= bars | {f"now-choice-{at}": _plain(choice.text) for at, choice in enumerate(lesson.choices)}
        texts["question"] = _question(lesson)
        predicted = sum(counts.guesses.values())
        texts["room"] = say("{at} are at it, {predicted} have predicted.", at=counts.at, predicted=predicted)
        here.append("revealed" if part.lesson in room.revealed else "lesson")
    elif part.exam:
        handed = [points for task in range(1, len(TITLES) + 1) for points in room.exam_points(part.exam, task)]
        texts["room"] = say("{count} tasks are handed in.", count=len(handed))
        here.append("exam")
    return News(texts=texts, shares=shares, here=here)


def _titled(part: Part, say: Language) -> str:
    return say("{title} ({minutes} min)", title=title_of(translated(part, say), say), minutes=part.minutes)


def _clock(plan: PlanUnderWay, now: float, say: Language) -> dict[str, str]:
    """Return the minute of the plan, what is left of the part, and how far the plan is behind or ahead."""
    left, behind = plan.left(now), round(plan.behind(now))
    texts = {"minute": say("Minute {minute} of {minutes}", minute=int(plan.minute(now)), minutes=plan.plan.minutes)}
    texts["left"] = _left(left, say)
    if behind > 0:
        slack = math.floor(plan.slack(now))
        texts["behind"] = say(
            "{minutes} min behind the plan, {slack} min of slack to come", minutes=behind, slack=slack
        )
    elif behind < 0:
        texts["behind"] = say("{minutes} min ahead of the plan", minutes=-behind)
    else:
        texts["behind"] = say("on time")
    return texts


def _left(left: float, say: Language) -> str:
    """Return how many minutes are left of a part."""
    if left > 0:
        return say("{minutes} min left", minutes=math.ceil(left))
    return say("time is up, {minutes} min ago", minutes=math.floor(-left))


def _queue(plan: PlanUnderWay, now: float, runs: RunsNow, say: Language) -> str:
    """Return whether the runs that wait will be done when the plan looks at them, and what to do if not."""
    coming = plan.until_runs_are_shown(now)
    if coming is None or not runs.waiting:
        return ""
    part, left = coming
    ends = math.ceil(runs.seconds / 60)
    sentences = [say("Runs that wait: {count}. The last one ends in about {ends} min.", count=runs.waiting, ends=ends)]
    if left:
        title = title_of(translated(part, say), say)
        sentences.append(say("“{title}” begins in {left} min.", title=title, left=math.ceil(left)))
    late = say(
        "This is too late for some: let groups share a run by its link and stop the others in Runs. A group without a "
        "run looks at a shipped model in Runs: tiny-town, or sentiment-mini."
    )
    return " ".join([*sentences, *[late] * (ends > left)])


def _mean_share(points: Sequence[int], say: Language) -> str:
    """Return the mean share of a task's points, and of how many people; "" where nobody has handed it in."""
    if not points:
        return ""
    share = Number(sum(points) / len(points) / POINTS, ".0%")
    return say("{share} of {count}", share=share, count=len(points))


def runs_of(runs: Runs) -> RunsNow:
    """Return the runs that train or wait: those that train, then the queue in its order."""
    queue, lines = runs.queue(), []
    for run_id in (*(run_id for run_id in runs.ids() if run_id not in queue), *queue):
        with contextlib.suppress(InputError):  # it was deleted meanwhile
            state = runs.state(run_id)
            left = "" if state.eta_seconds is None else f", about {math.ceil(state.eta_seconds / 60)} min left"
            if state.status == "waiting":
                lines.append(f"{short_name(run_id)} waits. {state.message}")
            elif state.status in ACTIVE:
                lines.append(f"{short_name(run_id)}: {state.status}, step {state.step:,}{left}.")
    return RunsNow(lines, len(queue), runs.queue_seconds())


def checks_table(checks: Sequence[Check]) -> str:
    """Return what `bertviz-lab doctor` says of the machine."""
    return render("workshop/checks.html", ENGLISH, checks=checks)


def notes_of(measured: Measured) -> str:
    """Return a lesson's answer, why the other choices are wrong, what was measured, and links to what shows it."""
    names = ("lesson", "answer", "paragraphs", "control", "steps")
    return render("workshop/notes.html", measured.say, **{name: getattr(measured, name) for name in names})


def key_page(sentence: str, say: Language) -> str:
    """Return the page that asks for the leader's key."""
    return render("workshop/key.html", say, **_document(say("For the leader"), say), sentence=sentence)


def screen_page(name: str, address: str, say: Language = ENGLISH) -> str:
    """Return the whole screen, which needs no key; `address` is where participants open the lab."""
    shown = {"address": say.address(address), "choices": _CHOICES, "qr_code": qr_code}
    return render("workshop/screen.html", say, **_document(name, say, "room/screen"), **shown)


def screen(room: Room, say: Language = ENGLISH) -> News:
    """Return what changes on the screen, which shows nothing that participants may not see."""
    texts = {"present": say("{present} here", present=room.present), "left": ""}
    if room.plan is not None:
        texts["left"] = _left(room.plan.left(room.now()), say)
    if not room.called:
        texts["title"] = say("Final exam") if room.exam else say("Join: scan the code, or type the address")
        if room.plan is not None and not room.plan.part.lesson:
            part = translated(room.plan.part, say)
            texts["question"] = part.say
            if room.plan.at:  # in the first part people join
                texts["title"] = part.title
        return News(texts=texts, shares={}, here=[])
    lesson = translated(LESSONS[room.called - 1], say)
    total = sum(room.counts(lesson.number).guesses.values())
    texts |= {
        "present": say("{present} here, {total} predicted", present=room.present, total=total),
        "title": say("Lesson {number}: {title}", number=lesson.number, title=lesson.title),
        "question": _question(lesson),
    }
    revealed = lesson.number in room.revealed
    for at, choice in enumerate(lesson.choices):
        texts[f"choice-{at}"] = f"{'✓ ' if revealed and not choice.why else ''}{_plain(choice.text)}"
    if not revealed:
        return News(texts=texts, shares={}, here=[])
    counts, shares = _guesses(room, lesson, "count-", say)
    return News(texts=texts | counts, shares=shares, here=[])


def _question(lesson: Lesson) -> str:
    return " ".join(filter(None, [_plain(lesson.question), lesson.example and f"“{lesson.example}”"]))


def _plain(text: str) -> str:
    return text.replace("`", "")


def _document(title: str, say: Language, live: str = "") -> dict[str, str]:
    """Return what every page needs; `live` is the address that its script polls."""
    return {"title": title, "live": live, "head": assets.head("workshop", say.code)}


def _guesses(room: Room, lesson: Lesson, prefix: str, say: Language) -> tuple[dict[str, str], dict[str, float]]:
    """Return how many predicted each choice."""
    guesses = room.counts(lesson.number).guesses
    total = sum(guesses.values())
    counts = {f"{prefix}{at}": guesses.get(at, 0) for at in range(len(lesson.choices))}
    texts = {name: say("{count} of {total}", count=count, total=total) for name, count in counts.items()}
    return texts, {name: count / max(1, total) for name, count in counts.items()}
