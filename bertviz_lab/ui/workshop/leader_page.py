"""The leader's page: the room as it is now, the plans, checks of the machine, and the lessons with their answers."""

import contextlib
import html
from collections.abc import Sequence

from bertviz_lab.config.limits import words_of
from bertviz_lab.doctor import Check, addresses_of_machine
from bertviz_lab.errors import InputError
from bertviz_lab.jobs import Runs
from bertviz_lab.jobs.run_names import short_name
from bertviz_lab.training.runs.run_folder import ACTIVE
from bertviz_lab.ui.lessons import LESSONS, Lesson
from bertviz_lab.ui.lessons.handout import marked
from bertviz_lab.ui.lessons.measuring import Measured
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.workshop.address import qr_code
from bertviz_lab.ui.workshop.plans import IN_EACH_LESSON, PLANS, Part, Plan, shared_runs
from bertviz_lab.ui.workshop.room import Room
from bertviz_lab.ui.workshop.sheet import action, document, guess_bars, guesses_told, told

#: Participants that the plans reckon with until more are there.
EXPECTED = 30


def leader_page(settings: Settings, address: str, room: Room | None) -> str:
    """The whole page; `address` is where participants open the lab. Without a room it has no parts that need one."""
    title = settings.workshop or "For leaders"
    links = {"handout": "Handout", "leader/handout": "Handout with answers"}
    if room is not None:
        links = {"room": "Screen for the projector"} | links
    shown = "".join(f'<a class="plain" href="{to}" target="_blank">{words}</a>' for to, words in links.items())
    body = (
        f'<header class="bar"><h1>{html.escape(title)}</h1><nav class="line push">{shown}'
        '<button type="button" class="plain" onclick="print()">Print this page</button></nav></header>'
        f"{_board(address) if room is not None else ''}{_plans(settings, max(EXPECTED, len(room or ())))}"
        f"{_preflight()}{_lessons(address)}"
    )
    return document(title, body, live="leader/board" if room is not None else "")


# ---- the room


def _board(address: str) -> str:
    others = [other for other in addresses_of_machine() if other not in address]
    further = f" This machine has other addresses too: {', '.join(others)}." if others else ""
    rows = "".join(_row(lesson) for lesson in LESSONS)
    reset = action("Reset the room", "reset", confirm="Forget all predictions and all progress of this room?")
    said = told("said", attributes=' role="status" class="quiet"')
    return f"""<section class="join"><div>{qr_code(address)}</div><div>
<h2>Participants open <b class="mono">{html.escape(address)}</b></h2>
<p class="quiet">Lesson 5 is at {html.escape(address)}5, and so on.{further} Predictions are counted without names, lie
in memory alone, and end with this server.</p>
<p>{told("present", "b")}</p><div class="act">{reset}{said}</div></div></section>
<section><h2>The room</h2><div class="wide" tabindex="0" role="region" aria-label="The room by lesson">
{_table(("Lesson", "At it", "Seen", "Predictions", "For everyone"), rows)}</div></section>
<section><h2>Training runs</h2>{told("runs", "p", ' class="lines"')}</section>"""


def _row(lesson: Lesson) -> str:
    number = lesson.number
    return (
        f'<tr><th scope="row"><a href="#lesson-{number}">{number}. {html.escape(lesson.title)}</a> '
        f"{told(f'called-{number}', 'b')}</th><td>{told(f'at-{number}')}</td><td>{told(f'done-{number}')}</td>"
        f"<td><details><summary>{told(f'guessed-{number}')}</summary>{guess_bars(lesson, f'guess-{number}-')}</details>"
        f'</td><td><div class="act">{action("Call", "call", number)}{action("Reveal", "reveal", number)}'
        f"{told(f'revealed-{number}', attributes=' class=quiet')}</div></td></tr>"
    )


def board(room: Room, runs: Sequence[str]) -> tuple[dict[str, str], dict[str, float]]:
    """The texts and the shares of the page that change; `runs` has a line for each run under way."""
    texts = {
        "present": f"{room.present} here now, {len(room)} since the start or the last reset.",
        "said": room.said,
        "runs": "\n".join(runs) or "No run trains or waits.",
    }
    shares: dict[str, float] = {}
    for lesson in LESSONS:
        number, counts = lesson.number, room.counts(lesson.number)
        bars, widths = guesses_told(room, lesson, f"guess-{number}-")
        texts |= bars
        shares |= widths
        texts |= {
            f"at-{number}": f"{counts.at}",
            f"done-{number}": f"{counts.done}",
            f"guessed-{number}": f"{sum(counts.guesses.values())}",
            f"called-{number}": "everyone was called here" if room.called == number else "",
            f"revealed-{number}": "revealed" if number in room.revealed else "",
        }
    return texts, shares


def run_lines(runs: Runs) -> list[str]:
    """A line for each run that trains or waits: those first that train, then in the order in which they start."""
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


def _plans(settings: Settings, people: int) -> str:
    plans = "".join(_plan(plan, settings, people) for plan in PLANS)
    return f"<section><h2>Plans</h2><p>{IN_EACH_LESSON}</p>{plans}</section>"


def _plan(plan: Plan, settings: Settings, people: int) -> str:
    rows = "".join(
        f'<tr><th scope="row">{start}–{start + part.minutes}</th><td><b>{html.escape(title_of(part))}</b></td>'
        f"<td>{marked(part.text or LESSONS[part.lesson - 1].question)}</td></tr>"
        for start, part in plan.timed()
    )
    goals = "".join(f"<li>{html.escape(goal)}</li>" for goal in plan.goals)
    shares = "".join(f"<p>{_shared(plan, at, settings, people)}</p>" for at in range(len(plan.training())))
    return (
        f'<details class="fold"><summary>{plan.minutes} minutes</summary><p>After it participants can:</p>'
        f"<ul>{goals}</ul>{_table(('Minute', 'Part', 'What the leader does'), rows)}{shares}</details>"
    )


def title_of(part: Part) -> str:
    """What a part is called."""
    return part.title or f"Lesson {part.lesson}: {LESSONS[part.lesson - 1].title}"


def _table(header: Sequence[str], rows: str) -> str:
    names = "".join(f'<th scope="col">{name}</th>' for name in header)
    return f"<table><thead><tr>{names}</tr></thead><tbody>{rows}</tbody></table>"


def _shared(plan: Plan, at: int, settings: Settings, people: int) -> str:
    """Who trains when."""
    start, end = plan.training()[at]
    seconds = settings.limits.run_seconds
    shared = shared_runs(people, start, end, settings.max_runs, seconds)
    groups = ", ".join(f"{number} at {minute:.0f}" for number, minute in enumerate(shared.starts, 1))
    most = f"at most {words_of('seconds', seconds)} each, {settings.max_runs} at a time"
    return (
        f"<b>Who trains when</b>, minutes {start} to {end}: {people} people in {shared.groups} groups of up to "
        f"{shared.largest}, a run each ({most}). By minute: group {groups}. A run that ends early lets the next begin."
    )


def _preflight() -> str:
    return """<section><h2>Checks of this machine</h2>
<p>Before participants come: they take about half a minute and compute on all cores.</p>
<button type="button" class="plain" data-fill="checks" data-from="leader/checks">Run the checks</button>
<div role="status" id="checks"></div></section>"""


def checks_table(checks: Sequence[Check]) -> str:
    """What `bertviz-lab doctor` says of the machine."""
    rows = "".join(
        f'<tr class="{check.outcome}"><th scope="row">{html.escape(check.name)}</th><td><b>{check.outcome}</b></td>'
        f"<td>{html.escape(check.sentence)}</td></tr>"
        for check in checks
    )
    return f"<table>{rows}</table>"


# ---- the lessons


def _lessons(address: str) -> str:
    minutes = sum(lesson.minutes for lesson in LESSONS)
    rows = "".join(
        f'<section class="row" id="lesson-{lesson.number}"><h3>{lesson.number}. {html.escape(lesson.title)} '
        f'<span class="quiet">{lesson.minutes} minutes, {lesson.model}</span></h3><p>{marked(lesson.question)}</p>'
        f'<details class="fold"><summary>{html.escape(address)}{lesson.number}</summary>'
        f'{qr_code(f"{address}{lesson.number}")}</details><div data-load="leader/notes/{lesson.number}">'
        '<p class="quiet">Measuring …</p></div></section>'
        for lesson in LESSONS
    )
    return (
        f"<section><h2>Lessons with their answers</h2><p>{len(LESSONS)} lessons, {minutes} minutes in all; the first "
        "eight make an hour of their own. Each works alone. Let everybody predict and say why before anybody reveals; "
        "wrong predictions are worth discussing most. The answers are measured on this page now.</p></section>" + rows
    )


def notes_of(measured: Measured) -> str:
    """A lesson's answer, why the other choices are wrong, what was measured, and links to what shows it."""
    lesson = measured.lesson
    choices = "".join(
        f'<li class="right">{marked(choice.text)} ✓</li>'
        if at == measured.answer
        else f'<li>{marked(choice.text)} <span class="quiet">{marked(choice.why)}</span></li>'
        for at, choice in enumerate(lesson.choices)
    )
    said = "".join(f"<p>{marked(text)}</p>" for text in measured.paragraphs)
    links = "".join(
        f'<li><a href="./{html.escape(step.place.address(lesson.model))}" target="_blank">'
        f"{html.escape(step.place.name)}</a>: {marked(step.text)}</li>"
        for step in measured.steps
    )
    return f'<ul class="answers">{choices}</ul>{said}<ul class="small quiet">{links}</ul>'
