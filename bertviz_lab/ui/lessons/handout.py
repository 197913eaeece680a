"""The sheet that is handed out: the questions, and for leaders the measured answers on pages of their own."""

import html
import re
from collections.abc import Sequence

from bertviz_lab.ui.languages import ENGLISH, Language, translated
from bertviz_lab.ui.lessons.lesson import Lesson
from bertviz_lab.ui.lessons.measuring import Measured

_RULES = """
@page { size: A4; margin: 12mm 13mm }
* { box-sizing: border-box }
body { max-width: 190mm; margin: 16px auto; padding: 0 16px; font: 9pt/1.33 system-ui, "Segoe UI", Roboto, sans-serif;
  color: #1e293b; background: #fff }
header { display: flex; justify-content: space-between; align-items: baseline; gap: 12px;
  border-bottom: 1.5px solid #3730a3; margin-bottom: 7px; padding-bottom: 3px }
h1 { font-size: 15pt; margin: 0 }
h2 { font-size: 10.4pt; margin: 0 0 2px }
p { margin: 0 0 3px }
.lead { margin-bottom: 8px }
.columns { columns: 2; column-gap: 9mm }
.columns section { break-inside: avoid; margin-bottom: 8px }
.quiet { color: #475569 }
.number { display: inline-block; min-width: 1.55em; margin-right: 4px; border-radius: 4px; text-align: center;
  color: #fff; background: #3730a3; -webkit-print-color-adjust: exact; print-color-adjust: exact }
ul { list-style: none; margin: 2px 0 0; padding: 0 }
li { padding-left: 1.6em; text-indent: -1.6em }
li::before { content: "☐"; display: inline-block; width: 1.6em; text-indent: 0 }
li.right::before { content: "☑" }
code { font: 0.92em ui-monospace, Menlo, Consolas, monospace }
.formula { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 0.88em; white-space: pre-wrap }
.answers { break-before: page; font-size: 8.3pt; line-height: 1.28 }
.name { border-bottom: 1px solid #94a3b8; min-width: 60mm; display: inline-block }
button { font: inherit; padding: 6px 14px; border: 1px solid #3730a3; border-radius: 6px; color: #3730a3;
  background: none; cursor: pointer }
@media screen { .answers { margin-top: 40px } }
@media print { body { margin: 0; padding: 0; max-width: none } button { display: none } }
@media (max-width: 640px) { .columns { columns: 1 } header { flex-wrap: wrap } }
"""


def handout_page(
    lessons: Sequence[Lesson], measured: Sequence[Measured], address: str = "", say: Language = ENGLISH
) -> str:
    """Return a standalone page that works offline; the English one fits on six pages of A4.

    `measured` are the lessons whose answers follow; without any it is the participants' sheet. `address` is where the
    page of the lab is found, "" if unknown.
    """
    first = say.address(f"{address}?lesson=1")
    where = f" {marked(say('Open `{address}` and follow along.', address=first))}" if address else ""
    length = say("About {minutes} minutes in all.", minutes=sum(lesson.minutes for lesson in lessons))
    questions = "".join(_question(translated(lesson, say)) for lesson in lessons)
    answers = "".join(map(_answer, measured))
    if answers:
        head = f"<h1>{say('Answers')}</h1><span class='quiet'>{say('measured on the models of this page')}</span>"
        columns = f"<div class='columns'>{answers}</div>"
        answers = f"<article class='answers'><header>{head}</header>{columns}</article>"
    return f"""<!doctype html>
<html lang="{say.code}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>BertViz Lab: {say("the lessons")}</title><style>{_RULES}</style></head><body>
<main><header><h1>{say("How BERT reads: the lessons")}</h1>
<span>{say("Name")} <span class="name">&nbsp;</span></span></header>
<p class="lead quiet">{length}{where} {say("Predict first, tick what you expect, then look.")}
<button onclick="print()">{say("Print")}</button></p>
<div class="columns">{questions}</div></main>{answers}
</body></html>"""


def _question(lesson: Lesson) -> str:
    choices = "".join(f"<li>{marked(choice.text)}</li>" for choice in lesson.choices)
    example = f'<p lang="en"><i>{marked(lesson.example)}</i></p>' if lesson.example else ""
    return (
        f"<section>{_title(lesson)}<p class='quiet'>{marked(lesson.idea)}</p>{example}"
        f"<p><b>{marked(lesson.question)}</b></p>"
        f"<ul>{choices}</ul></section>"
    )


def _answer(measured: Measured) -> str:
    lesson = measured.lesson
    right = "" if measured.answer is None else lesson.choices[measured.answer].text
    choice = f"<ul><li class='right'>{marked(right)}</li></ul>" if right else ""
    told = "".join(f"<p>{marked(text)}</p>" for text in measured.paragraphs)
    return (
        f"<section>{_title(lesson)}{choice}{told}<p class='formula'>{html.escape(lesson.formula)}</p>"
        f"<p class='quiet'>{html.escape(lesson.source)}</p></section>"
    )


def _title(lesson: Lesson) -> str:
    return f"<h2><span class='number'>{lesson.number}</span>{html.escape(lesson.title)}</h2>"


def marked(text: str) -> str:
    """Escape a text for a page; backticks become code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", html.escape(text))
