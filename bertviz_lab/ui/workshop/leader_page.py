"""The leader's page: the room as it is now, the plans, checks of the machine, and the lessons with their answers."""

import contextlib
import html
from collections.abc import Sequence

from bertviz_lab.config.limits import words_of
from bertviz_lab.errors import InputError
from bertviz_lab.jobs import Runs
from bertviz_lab.jobs.new_run import short_name
from bertviz_lab.training.runs.run_folder import ACTIVE
from bertviz_lab.ui.languages import ENGLISH, Language, translated
from bertviz_lab.ui.lessons import LESSONS, Lesson
from bertviz_lab.ui.lessons.handout import marked
from bertviz_lab.ui.lessons.measuring import Measured
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.workshop.address import qr_code
from bertviz_lab.ui.workshop.machine import Check, addresses_of_machine
from bertviz_lab.ui.workshop.plans import IN_EACH_LESSON, PLANS, Part, Plan, shared_runs
from bertviz_lab.ui.workshop.room import Room
from bertviz_lab.ui.workshop.sheet import document, guess_bars, guess_values, other_languages, slot

#: Participants that the plans reckon with until more are there.
EXPECTED = 30


def leader_page(settings: Settings, address: str, room: Room | None, say: Language = ENGLISH) -> str:
    """Return the whole page; `address` is where participants open the lab. Without a room its parts are left out."""
    title = settings.workshop or say("For leaders")
    links = {"handout": say("Handout"), "leader/handout": say("Handout with answers")}
    if room is not None:
        links = {"room": say("Screen for the projector")} | links
    shown = "".join(
        f'<a class="plain" href="{say.address(to)}" target="_blank">{words}</a>' for to, words in links.items()
    )
    body = (
        f'<header class="bar"><h1>{html.escape(title)}</h1><nav class="line push">{shown}'
        f'<button type="button" class="plain" onclick="print()">{say("Print this page")}</button>'
        f"{other_languages('leader', say)}</nav></header>"
        f"{_board(address, say) if room is not None else ''}{_plans(settings, max(EXPECTED, len(room or ())), say)}"
        f"{_preflight(say) if is_for_owner(settings) else ''}{_lessons(address, say)}"
    )
    return document(title, body, say, live="leader/board" if room is not None else "")


def is_for_owner(settings: Settings) -> bool:
    """Return whether only who runs the machine opens the page: with a leader's key, or locally."""
    return bool(settings.workshop) or not settings.shared


# ---- the room


def _board(address: str, say: Language) -> str:
    others = [other for other in addresses_of_machine() if other not in address]
    further = say("This machine has other addresses too: {addresses}.", addresses=", ".join(others)) if others else ""
    rows = "".join(_row(lesson, say) for lesson in translated(LESSONS, say))
    question = say("Forget all predictions and all progress of this room?")
    reset = _button(say("Reset the room"), "reset", more=f'data-question="{html.escape(question)}"')
    said = slot("said", attributes=' role="status" class="quiet"')
    fifth, kept = say.address(f"{address}5"), say("Predictions are counted without names, kept in memory only, and "
                                                   "lost when this server stops.")  # fmt: skip
    table = _table((say("Lesson"), say("There now"), say("Seen"), say("Predictions"), say("For everyone")), rows)
    region = f'class="wide" tabindex="0" role="region" aria-label="{say("The room by lesson")}"'
    return f"""<section class="join"><div>{qr_code(say.address(address))}</div><div>
<h2>{say("Participants open")} <b class="mono">{html.escape(say.address(address))}</b></h2>
<p class="quiet">{html.escape(say("Lesson 5 is at {address}, and so on.", address=fifth))} {further} {kept}</p>
<p>{slot("present", "b")}</p><div class="act">{reset}{said}</div></div></section>
<section><h2>{say("The room")}</h2><div {region}>{table}</div></section>
<section><h2>{say("Training runs")}</h2>{slot("runs", "p", ' class="lines" lang="en"')}</section>"""


def _row(lesson: Lesson, say: Language) -> str:
    number = lesson.number
    labels = say("Call: lesson {number}", number=number), say("Reveal: lesson {number}", number=number)
    call, reveal = (f'aria-label="{html.escape(label)}"' for label in labels)
    bars = guess_bars((f"<span>{marked(choice.text)}</span>" for choice in lesson.choices), f"guess-{number}-")
    return (
        f'<tr><th scope="row"><a href="#lesson-{number}">{number}. {html.escape(lesson.title)}</a> '
        f"{slot(f'called-{number}', 'b')}</th><td>{slot(f'at-{number}')}</td><td>{slot(f'done-{number}')}</td>"
        f'<td><details><summary>{slot(f"guessed-{number}")}</summary>{bars}</details></td><td><div class="act">'
        f"{_button(say('Call'), 'call', number, call)}{_button(say('Reveal'), 'reveal', number, reveal)}"
        f"{slot(f'revealed-{number}', attributes=' class=quiet')}</div></td></tr>"
    )


def _button(words: str, act: str, lesson: int = 0, more: str = "") -> str:
    return f'<button type="button" class="plain" data-act="{act}" data-lesson="{lesson}" {more}>{words}</button>'


def board(room: Room, runs: Sequence[str], say: Language = ENGLISH) -> tuple[dict[str, str], dict[str, float]]:
    """Return the texts and the shares of the page that change; `runs` has a line for each run under way."""
    texts = {
        "present": say(
            "{present} here now, {all} since the start or the last reset.", present=room.present, all=len(room)
        ),
        "said": say.translate(room.outcome),
        "runs": "\n".join(runs) or "No run trains or waits.",
    }
    shares: dict[str, float] = {}
    for lesson in LESSONS:
        number, counts = lesson.number, room.counts(lesson.number)
        bars, widths = guess_values(room, lesson, f"guess-{number}-", say)
        shares |= widths
        texts |= bars | {
            f"at-{number}": f"{counts.at}",
            f"done-{number}": f"{counts.done}",
            f"guessed-{number}": f"{sum(counts.guesses.values())}",
            f"called-{number}": say("everyone was called here") if room.called == number else "",
            f"revealed-{number}": say("revealed") if number in room.revealed else "",
        }
    return texts, shares


def run_lines(runs: Runs) -> list[str]:
    """Return a line for each run that trains or waits: those that train, then the queue in its order."""
    queue, lines = runs.queue(), []
    for run_id in (*(run_id for run_id in runs.ids() if run_id not in queue), *queue):
        with contextlib.suppress(InputError):  # it was deleted meanwhile
            state = runs.state(run_id)
            left = "" if state.eta_seconds is None else f", {words_of('seconds', max(1.0, state.eta_seconds))} left"
            if state.status == "waiting":
                lines.append(f"{short_name(run_id)} waits. {state.message}")
            elif state.status in ACTIVE:
                lines.append(f"{short_name(run_id)}: {state.status}, step {state.step:,}{left}.")
    return lines


# ---- the plans


def _plans(settings: Settings, people: int, say: Language) -> str:
    plans = "".join(_plan(plan, settings, people, say) for plan in translated(PLANS, say))
    return f"<section><h2>{say('Plans')}</h2><p>{say.translate(IN_EACH_LESSON)}</p>{plans}</section>"


def _plan(plan: Plan, settings: Settings, people: int, say: Language) -> str:
    rows = "".join(
        f'<tr><th scope="row">{start}–{start + part.minutes}</th><td><b>{html.escape(title_of(part, say))}</b></td>'
        f"<td>{marked(part.text or say(LESSONS[part.lesson - 1].question))}</td></tr>"
        for start, part in plan.timed()
    )
    goals = "".join(f"<li>{html.escape(goal)}</li>" for goal in plan.goals)
    shares = "".join(f"<p>{_shared(plan, at, settings, people, say)}</p>" for at in range(len(plan.training())))
    names = say("Minute"), say("Part"), say("What the leader does")
    return (
        f'<details class="fold"><summary>{say("{minutes} minutes", minutes=plan.minutes)}</summary>'
        f"<p>{say('After it participants can:')}</p><ul>{goals}</ul>{_table(names, rows)}{shares}</details>"
    )


def title_of(part: Part, say: Language = ENGLISH) -> str:
    """Return what a part is called; a title of its own is translated already."""
    lesson = LESSONS[part.lesson - 1]
    return part.title or say("Lesson {number}: {title}", number=lesson.number, title=say(lesson.title))


def _table(header: Sequence[str], rows: str) -> str:
    names = "".join(f'<th scope="col">{name}</th>' for name in header)
    return f"<table><thead><tr>{names}</tr></thead><tbody>{rows}</tbody></table>"


def _shared(plan: Plan, at: int, settings: Settings, people: int, say: Language) -> str:
    start, end = plan.training()[at]
    seconds = settings.limits.run_seconds
    largest, starts = shared_runs(people, start, end, settings.max_runs, seconds)
    groups = (say("{group} at {minute}", group=group, minute=round(minute)) for group, minute in enumerate(starts, 1))
    sentence = say(
        "minutes {start} to {end}: {people} people in {groups} groups of up to {largest}, a run each (at most {time} "
        "each, {places} at a time). Starting minutes: group {starts}. A run that ends early lets the next begin.",
        **{"start": start, "end": end, "people": people, "groups": len(starts), "largest": largest},
        **{"places": settings.max_runs, "time": say.number(words_of("seconds", seconds)), "starts": ", ".join(groups)},
    )
    return f"<b>{say('Who trains when')}</b>, {sentence}"


def _preflight(say: Language) -> str:
    return f"""<section><h2>{say("Checks of this machine")}</h2>
<p>{say("Before participants come: the checks take about half a minute and compute on all cores.")}</p>
<button type="button" class="plain" data-fill="checks" data-from="leader/checks">{say("Run the checks")}</button>
<div role="status" id="checks" lang="en"></div></section>"""


def checks_table(checks: Sequence[Check]) -> str:
    """Return what `bertviz-lab doctor` says of the machine."""
    rows = "".join(
        f'<tr class="{check.outcome}"><th scope="row">{html.escape(check.name)}</th><td><b>{check.outcome}</b></td>'
        f"<td>{html.escape(check.sentence)}</td></tr>"
        for check in checks
    )
    return f"<table>{rows}</table>"


# ---- the lessons


def _lessons(address: str, say: Language) -> str:
    advice = say(
        "{lessons} lessons, {minutes} minutes in all; the first eight make an hour of their own. Each lesson stands "
        "alone. Let everybody predict and say why before anybody reveals; wrong predictions are worth discussing "
        "most. The answers are measured on this page now.",
        lessons=len(LESSONS),
        minutes=sum(lesson.minutes for lesson in LESSONS),
    )
    rows = "".join(
        _lesson(lesson, say.address(f"{address}{lesson.number}"), say) for lesson in translated(LESSONS, say)
    )
    return f"<section><h2>{say('Lessons with their answers')}</h2><p>{advice}</p></section>{rows}"


def _lesson(lesson: Lesson, address: str, say: Language) -> str:
    length, notes = say("{minutes} minutes", minutes=lesson.minutes), say.address(f"leader/notes/{lesson.number}")
    return (
        f'<section class="row" id="lesson-{lesson.number}"><h3>{lesson.number}. {html.escape(lesson.title)} '
        f'<span class="quiet">{length}, {lesson.model}</span></h3><p>{marked(lesson.question)}</p>'
        f'<details class="fold"><summary>{html.escape(address)}</summary>{qr_code(address)}</details>'
        f'<div data-load="{notes}"><p class="quiet">{say("Measuring …")}</p></div></section>'
    )


def notes_of(measured: Measured) -> str:
    """Return a lesson's answer, why the other choices are wrong, what was measured, and links to what shows it."""
    lesson, say = measured.lesson, measured.say
    choices = "".join(
        f'<li class="right">{marked(choice.text)} ✓</li>'
        if at == measured.answer
        else f'<li>{marked(choice.text)} <span class="quiet">{marked(choice.why)}</span></li>'
        for at, choice in enumerate(lesson.choices)
    )
    said = "".join(f"<p>{marked(text)}</p>" for text in measured.paragraphs)
    links = "".join(
        f'<li><a href="./{html.escape(say.address(step.place.address(lesson.model)))}" target="_blank">'
        f"{html.escape(say.translate(step.place.name))}</a>: {marked(step.text)}</li>"
        for step in measured.steps
    )
    return f'<ul class="answers">{choices}</ul>{said}<ul class="small quiet">{links}</ul>'
