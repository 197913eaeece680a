"""Collect what the course says from the code, and bring the catalogues up to date with it.

Run as `python -m docs.make_catalogue [CODE]`: new texts come in without a translation, and those that are
gone leave. With a code, such as `fr`, a catalogue for that language is made where there is none.
"""

import ast
import re
import sys
from collections.abc import Iterator
from functools import partial
from itertools import chain
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po

from bertviz_lab.ui.languages import translated
from bertviz_lab.ui.lessons import LESSONS
from bertviz_lab.ui.lessons.exam.task import PROSE
from bertviz_lab.ui.workshop.plans import PLANS

_PAGE = Path(__file__).parents[1] / "bertviz_lab" / "ui"
FOLDER = _PAGE / "languages"
#: The calls whose first argument is a text, in Python; in a script and in a template.
_SAYING = ("say", "Message")
_IN_TEXT = {".js": re.compile(r"\bgettext\('([^'\\\n]+)'"), ".html": re.compile(r'\bsay\("([^"]+)"')}
_WIDTH = 118


def collected() -> Catalog:
    """Return all texts of the course: of lessons, exam and plans in their order, then those of the page."""
    catalog = Catalog(project="BertViz Lab")

    def collect(text: str, place: str, comment: str = "") -> str:
        catalog.add(text, locations=[(place, 0)], auto_comments=[comment] if comment else [])
        return text

    for lesson in LESSONS:
        collect_lesson = partial(collect, place="bertviz_lab/ui/lessons", comment=f"Lesson {lesson.number}")
        translated(lesson, collect_lesson)
        for cell in chain.from_iterable(lesson.table):
            if any(map(str.isalpha, cell)):
                collect_lesson(cell)
    for prose in PROSE.values():
        of_exam = partial(collect, place="bertviz_lab/ui/lessons/exam/texts.toml")
        translated((prose, *prose.choices.values()), of_exam)
    translated(PLANS, partial(collect, place="bertviz_lab/ui/workshop/plans.toml"))
    for path in sorted(path for path in _PAGE.rglob("*") if path.suffix in (".py", *_IN_TEXT)):
        for text in _texts_of(path) if "vendor" not in path.parts else ():
            collect(text, f"bertviz_lab/{path.relative_to(_PAGE.parent).as_posix()}")
    return catalog


def update(path: Path) -> None:
    """Bring a catalog up to date, or create it."""
    catalog = Catalog(path.stem, project="BertViz Lab", fuzzy=False)
    if path.is_file():
        with path.open("rb") as file:
            catalog = read_po(file, locale=path.stem)
    catalog.update(collected(), no_fuzzy_matching=True, update_creation_date=False)
    for message in catalog:
        message.flags.discard("python-format")  # "15% of" is none
    with path.open("wb") as file:
        write_po(file, catalog, width=_WIDTH, ignore_obsolete=True, include_lineno=False)


def _texts_of(path: Path) -> Iterator[str]:
    if path.suffix in _IN_TEXT:
        yield from _IN_TEXT[path.suffix].findall(path.read_text(encoding="utf-8"))
        return
    calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    for call in sorted(calls, key=lambda call: call.lineno):
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        text = call.args[0] if name in _SAYING and call.args else None
        if isinstance(text, ast.Constant) and isinstance(text.value, str) and text.value:
            yield text.value


if __name__ == "__main__":
    for place in {*FOLDER.glob("*.po"), *(FOLDER / f"{code}.po" for code in sys.argv[1:])}:
        update(place)
