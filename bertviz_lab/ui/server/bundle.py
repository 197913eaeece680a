"""One script and one style sheet for all islands of the page, served once under names that tell their content.

A page visit would otherwise carry each island's script and rules as often as the island occurs. A browser keeps the two
files for a year; another version of the lab has other names. Their addresses are relative, so they hold behind a
prefix, in a frame and without a network.
"""

import gzip
import hashlib
import json
import re
from collections import defaultdict
from functools import cache
from importlib import resources

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from bertviz_lab.ui.components.assemble import ISLAND_TOOLS, PLOTLY, Assembly, source
from bertviz_lab.ui.components.attention.attention_grid import ATTENTION_GRID
from bertviz_lab.ui.components.attention.heads_beside import HEADS_BESIDE
from bertviz_lab.ui.components.charts.chart import CHART
from bertviz_lab.ui.components.charts.data_charts import DATA_CHARTS
from bertviz_lab.ui.components.charts.loss_chart import LOSS_CHART
from bertviz_lab.ui.components.data.data_preview import DATA_PREVIEW
from bertviz_lab.ui.components.data.example_list import EXAMPLE_LIST
from bertviz_lab.ui.components.data.health_cards import HEALTH_CARDS
from bertviz_lab.ui.components.facts import FACTS
from bertviz_lab.ui.components.notice import NOTICE
from bertviz_lab.ui.components.runs.recipe_cards import RECIPE_CARDS
from bertviz_lab.ui.components.runs.run_compare import RUN_COMPARE
from bertviz_lab.ui.components.runs.run_strip import RUN_STRIP
from bertviz_lab.ui.components.tokens.fill_mask_bars import FILL_MASK_BARS
from bertviz_lab.ui.components.tokens.marked_text import MARKED_TEXT
from bertviz_lab.ui.components.tokens.token_strip import TOKEN_STRIP
from bertviz_lab.ui.components.tokens.word_split import WORD_SPLIT
from bertviz_lab.ui.languages import ENGLISH, languages, script_texts
from bertviz_lab.ui.server.questions import ARRAYS_ROUTE, WIRE
from bertviz_lab.ui.view import View
from bertviz_lab.ui.views import VIEWS
from bertviz_lab.ui.views.dynamics.scrubber import SCRUBBER

EXPLORE = Assembly("explore", ("client/explore.js",), ())
RUNS = Assembly("runs-workspace", ("client/runs.js",), ())
LEARN = Assembly(
    "lessons",
    tuple(f"views/lessons/{name}.js" for name in ("words", "memory", "lesson", "lessons")),
    ("views/lessons/lessons.css",),
)
LESSON_BAR = Assembly(
    "lesson-bar",
    tuple(f"views/lessons/{name}.js" for name in ("words", "memory", "bar", "room")),
    ("views/lessons/bar.css",),
)
PROGRESS = Assembly("progress", ("client/progress.js",), ())

ISLANDS: tuple[Assembly, ...] = (
    WIRE, EXPLORE, RUNS, PROGRESS, LEARN, LESSON_BAR,
    ATTENTION_GRID, CHART, DATA_CHARTS, DATA_PREVIEW, EXAMPLE_LIST, FACTS, FILL_MASK_BARS, HEADS_BESIDE, HEALTH_CARDS,
    LOSS_CHART, MARKED_TEXT, NOTICE, RECIPE_CARDS, RUN_COMPARE, RUN_STRIP,
    SCRUBBER, TOKEN_STRIP, WORD_SPLIT,
)  # fmt: skip

#: A function of the tools, written as one or as a constant.
_FUNCTION = re.compile(r"^(?:(?:async )?function (\w+)|const (\w+) = (?:async )?\()", re.MULTILINE)
_FOLDER = "lab-static"
_EVERYWHERE = ("shared.css", "client/workspace.css", "client/explore.css")
_MEDIA = {"js": "text/javascript", "css": "text/css"}
_FOREVER = "public, max-age=31536000, immutable"


def script() -> str:
    """The tools once, a function for each island, and `Lab.push`, which the page calls for each place of one."""
    arguments = "element, props, trigger, server, watch"
    island_tools = "\n".join(source(name) for name in ISLAND_TOOLS)
    shared = ", ".join(found[1] or found[2] for found in _FUNCTION.finditer(island_tools))
    islands = ",\n".join(
        f"{island.name!r}({arguments}, page) {{\nconst {{ {shared} }} = shared({arguments});\n{island.script()}\n}}"
        for island in ISLANDS
    )
    views = ",\n".join(f"{view.id!r}(panel, body, page) {{\n{text}\n}}" for view, text in files_of_views("view.js"))
    arrays = [f"{view.id}.{name}" for view in VIEWS for name, asked in view.questions.items() if asked.arrays]
    known = [{"id": v.id, "title": v.title, "gloss": v.gloss, "workspace": v.workspace} for v in VIEWS]
    return f"""(() => {{
'use strict';
const KNOWN_VIEWS = {json.dumps(known)};
const WITH_ARRAYS = new Set({json.dumps(arrays)});
const ARRAYS_ROUTE = '{ARRAYS_ROUTE}';
const PLOTLY = '{_FOLDER}/{_name(source(PLOTLY), "plotly", "js")}';
{_texts_of_course()}
{source("tools.js")}
{source("client/page.js")}
{source("client/panel.js")}
{source("client/workspace.js")}
function shared({arguments}) {{
{island_tools}
return {{ {shared} }};
}}
const EXPLANATIONS = {json.dumps(dict((view.id, text) for view, text in files_of_views("explanation.html")))};
const ISLANDS = {{
{islands}
}};
const VIEWS = {{
{views}
}};
/** Draw an island into `element`, a `gr.HTML`'s; Gradio lends its script the rest, and a panel its own `page`. */
function mount(name, {arguments}, own = page) {{
  element.classList.add('lab-island', `lab-island-${{name}}`);
  ISLANDS[name]({arguments}, own);
}}
// Gradio puts script and style sheet into the head and waits for neither. Places that came before the script stand in
// line in `Lab`; all wait for the rules, because colours and widths that a view measures without them are wrong.
const sheet = document.querySelector('link[href*="{_FOLDER}/"]');
const styled = new Promise((resolve) => {{
  if (!sheet || sheet.sheet) resolve();
  else sheet.addEventListener('load', resolve);
  setTimeout(resolve, 5000); // the rules may fail to come
}});
const waiting = window.Lab ?? [];
window.Lab = {{ page, push: (place) => styled.then(() => mount(...place)) }};
waiting.forEach(window.Lab.push);
}})();
"""


def styles() -> str:
    """The rules of each sheet once: what all share, then what a view adds, then nested under the islands that use it.

    `:is(#lab, ...)` gives them the weight of an id, so that rules of the page for bare elements do not come through;
    those of an island weigh two, because it may stand in a view, whose rules are for what is around it.
    """
    users = defaultdict(list)
    for island in ISLANDS:
        for sheet in island.sheets:
            users[sheet].append(f".lab-island-{island.name}")
    rules = [f":is(#lab, .lab-island) {{\n{source(name)}\n}}" for name in _EVERYWHERE]
    rules += [f":is(#lab, .lab-view-{view.id}) {{\n{text}\n}}" for view, text in files_of_views("view.css")]
    rules += [f":is(#lab#lab, {', '.join(names)}) {{\n{source(sheet)}\n}}" for sheet, names in users.items()]
    return "\n".join(rules)


def files_of_views(name: str) -> list[tuple[View, str]]:
    """The views that have a file of that name, each with its text."""
    files = [(view, resources.files("bertviz_lab.ui.views") / view.id / name) for view in VIEWS]
    return [(view, file.read_text(encoding="utf-8")) for view, file in files if file.is_file()]


def _texts_of_course() -> str:
    """What scripts say of the course in each language, and what the languages are called."""
    return f"const LANGUAGES = {json.dumps(languages())};\nconst TEXTS = {json.dumps(script_texts())};"


@cache
def _files() -> dict[str, tuple[str, bytes, bytes]]:
    """By name: the media type, the content, and the same compressed."""
    alone = f"const PLOTLY = '';\n{_texts_of_course()}\n{source('tools.js')}\n{source('workshop/leader.js')}"
    texts = (
        ("lab", "js", script()),
        ("lab", "css", styles()),
        ("workshop", "js", f"(async () => {{\n'use strict';\n{alone}\n}})();\n"),
        ("workshop", "css", f"#page {{\n{source('shared.css')}\n{source('workshop/leader.css')}\n}}\n"),
        ("plotly", "js", source(PLOTLY)),
    )
    return {
        _name(text, stem, ending): (_MEDIA[ending], text.encode(), gzip.compress(text.encode(), mtime=0))
        for stem, ending, text in texts
    }


def _name(text: str, stem: str, ending: str) -> str:
    """The name under which a text is served: another text has another one."""
    return f"{stem}.{hashlib.sha256(text.encode()).hexdigest()[:12]}.{ending}"


def head(stem: str = "lab", language: str = ENGLISH.code) -> str:
    """The lines of a document's head that load script and rules: those of the page, or of a workshop's own pages.

    `language` is that of the course, unless the address asks for another one.
    """
    code, rules = (name for name in _files() if name.startswith(f"{stem}."))
    sheet = f'<link rel="stylesheet" href="{_FOLDER}/{rules}">'
    return f'<script src="{_FOLDER}/{code}" data-language="{language}"></script>{sheet}'


def route() -> Route:
    """What serves the files, for Gradio's `launch(app_kwargs={"routes": ...})`."""

    async def asset(request: Request) -> Response:
        known = _files().get(request.path_params["name"])
        if known is None:
            return PlainTextResponse("There is no such file.", status_code=404)
        media, content, compressed = known
        headers = {"Cache-Control": _FOREVER, "Vary": "Accept-Encoding", "X-Content-Type-Options": "nosniff"}
        if "gzip" in request.headers.get("accept-encoding", ""):
            return Response(compressed, media_type=media, headers={**headers, "Content-Encoding": "gzip"})
        return Response(content, media_type=media, headers=headers)

    return Route(f"/{_FOLDER}/{{name}}", asset)
