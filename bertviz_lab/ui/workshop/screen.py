"""The screen for a projector: how to join, the lesson to which everybody was called, and its revealed predictions.

It shows nothing that participants may not see, so it needs no key.
"""

import html

from bertviz_lab.ui.languages import ENGLISH, Language, translated
from bertviz_lab.ui.lessons import LESSONS
from bertviz_lab.ui.workshop.address import qr_code
from bertviz_lab.ui.workshop.room import Room
from bertviz_lab.ui.workshop.sheet import document, guess_bars, guess_values, slot

_CHOICES = max(len(lesson.choices) for lesson in LESSONS)


def screen_page(name: str, address: str, say: Language = ENGLISH) -> str:
    """Return the whole page; `address` is where participants open the lab."""
    address = say.address(address)
    rows = guess_bars((slot(f"choice-{at}") for at in range(_CHOICES)), "count-")
    body = (
        f'<header class="bar"><h1>{html.escape(name)}</h1></header><section class="join screen"><div>'
        f'{qr_code(address)}</div><div><p class="mono">{html.escape(address)}</p>{slot("present", "p", " class=quiet")}'
        f'</div></section><section class="screen">{slot("title", "h2")}{slot("question", "p")}{rows}</section>'
    )
    return document(name, body, say, live="room/screen")


def screen(room: Room, say: Language = ENGLISH) -> tuple[dict[str, str], dict[str, float]]:
    """Return the texts and the shares of the screen that change."""
    if not room.called:
        joining = say("Join: scan the code, or type the address")
        return {"present": say("{present} here", present=room.present), "title": joining}, {}
    lesson = translated(LESSONS[room.called - 1], say)
    total = sum(room.counts(lesson.number).guesses.values())
    texts = {
        "present": say("{present} here, {total} predicted", present=room.present, total=total),
        "title": say("Lesson {number}: {title}", number=lesson.number, title=lesson.title),
        "question": lesson.question.replace("`", ""),
    }
    texts |= {f"choice-{at}": choice.text.replace("`", "") for at, choice in enumerate(lesson.choices)}
    if lesson.number not in room.revealed:
        return texts, {}
    counts, shares = guess_values(room, lesson, "count-", say)
    return texts | counts, shares
