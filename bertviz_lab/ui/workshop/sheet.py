"""The parts that the leader's page and the screen are made of: plain HTML, whose numbers a small script keeps fresh.

An element with `data-told` shows the text of that name, one with `data-share` is as wide as the share of that name; the
script asks the address in `data-live` for both (`leader.js`).
"""

import html
from collections.abc import Iterable

from bertviz_lab.ui.languages import Language, languages
from bertviz_lab.ui.lessons.lesson import Lesson
from bertviz_lab.ui.server import assets
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
