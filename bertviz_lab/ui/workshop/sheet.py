"""The screen for a projector, and the parts that it and the leader's page are made of: HTML that a script keeps fresh.

An element with `data-told` shows the text of that name, one with `data-share` is as wide as the share of that name; the
script asks the address in `data-live` for both (`leader.js`).
"""

import html
from collections.abc import Iterable

from bertviz_lab.ui.languages import ENGLISH, Language, languages, translated
from bertviz_lab.ui.lessons import LESSONS
from bertviz_lab.ui.lessons.lesson import Lesson
from bertviz_lab.ui.server import assets
from bertviz_lab.ui.workshop.address import qr_code
from bertviz_lab.ui.workshop.room import Room


def document(title: str, body: str, say: Language, live: str = "") -> str:
    """Return a whole page; `live` is the address that its script polls."""
    files = assets.head("workshop", say.code)
    asked = f' data-live="{say.address(live)}"' if live else ""
    return f"""<!doctype html>
<html lang="{say.code}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{html.escape(title)}</title>{files}</head>
<body id="page"{asked}><main class="lab">{body}</main></body></html>"""


def other_languages(path: str, say: Language) -> str:
    """Return links to the same page in the other languages."""
    others = ((code, name) for code, name in languages().items() if code != say.code)
    return "".join(f'<a class="plain" lang="{code}" href="{path}?lang={code}">{name}</a>' for code, name in others)


def slot(name: str, tag: str = "span", attributes: str = "") -> str:
    """Return an element whose text is kept fresh under that name."""
    return f'<{tag} data-told="{name}"{attributes}></{tag}>'


def guess_bars(choices: Iterable[str], prefix: str) -> str:
    """Return bars of how many predicted each choice, given as HTML; they are kept fresh."""
    return "".join(
        f'<div class="bar-row">{choice}<span class="track" aria-hidden="true">'
        f'<span class="fill" data-share="{prefix}{at}"></span></span>{slot(f"{prefix}{at}", attributes=" class=share")}'
        "</div>"
        for at, choice in enumerate(choices)
    )


def guess_values(room: Room, lesson: Lesson, prefix: str, say: Language) -> tuple[dict[str, str], dict[str, float]]:
    """Return the texts and the shares of `guess_bars`."""
    guesses = room.counts(lesson.number).guesses
    total = sum(guesses.values())
    counts = [guesses.get(at, 0) for at in range(len(lesson.choices))]
    texts = {f"{prefix}{at}": say("{count} of {total}", count=count, total=total) for at, count in enumerate(counts)}
    return texts, {f"{prefix}{at}": count / max(1, total) for at, count in enumerate(counts)}


# ---- the screen, which shows nothing that participants may not see, and needs no key

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
