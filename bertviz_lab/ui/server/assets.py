"""The page's modules, rules and texts, served once under a name that tells their content.

The browser imports the modules as they are (`import ... from 'lab/client/dom.js'`); an import map leads `lab/` to a
folder named by a hash of all files, which it keeps for a year. The address is relative, so it holds behind a prefix.
"""

import gzip
import hashlib
import html
import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from itertools import chain
from pathlib import Path

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bertviz_lab.ui.components.standalone import DRAWINGS, PLOTLY, source, with_imports
from bertviz_lab.ui.languages import ENGLISH, languages, script_texts
from bertviz_lab.ui.view import View
from bertviz_lab.ui.views import VIEWS

_FOLDER = "lab-static"
_ROOMS = ("client", "components", "views", "workshop")
_SITE = "site.js"
#: Who answers the page's questions; a published page has an engine of its own.
_ANSWERER = "export { answerer } from 'lab/client/answering.js';"
#: What the page imports as it opens; the browser fetches it while Gradio starts.
FIRST = (
    "client/main.js", "views/predictions/view.js", "views/attention/view.js",
    *(DRAWINGS[kind].module for kind in ("facts", "fill", "attention")),
)  # fmt: skip
#: Style sheets of all parts, of single parts, and of a workshop's pages.
_SHARED = ("components/shared.css", "client/workspace.css", "client/explore.css")
_PARTS = {
    "wire": "client/wire.css", "run": "components/runs/run_strip.css",
    "lessons": "views/lessons/lessons.css", "lesson-bar": "views/lessons/bar.css",
}  # fmt: skip
_WORKSHOP = ("components/shared.css", "workshop/leader.css")
_BASE = b"<base href="  # in Gradio's page
_TYPES = {".css": "text/css", ".js": "text/javascript"}
#: Headers of files whose address changes with their content.
KEPT_FOR_A_YEAR = {"Cache-Control": "public, max-age=31536000, immutable"}


@dataclass(frozen=True)
class PageEngine:
    """An engine that a page offers to its visitors: the route of its files, and the addresses that the page needs."""

    route: Route
    modules: str  # the folder of its modules
    offer: str  # what it has, for client/answering.js


def site(views: Iterable[View] = VIEWS, answerer: str = _ANSWERER) -> str:
    """Return the module of what Python knows of the page: its views, drawings and languages, and who answers."""
    folder = resources.files("bertviz_lab.ui.views")
    entries = []
    for view in views:
        file = folder / view.id / "explanation.html"
        explanation = file.read_text(encoding="utf-8") if file.is_file() else ""
        about = {"id": view.id, "title": view.title, "gloss": view.gloss, "workspace": view.workspace}
        entries.append(about | {"slot": view.slot, "explanation": explanation})
    values = {
        "VIEWS": entries,
        "DRAWINGS": {kind: drawing.module for kind, drawing in DRAWINGS.items()},
        "LANGUAGES": dict(languages()),
        "TEXTS": {code: dict(texts) for code, texts in script_texts().items()},
    }
    constants = (f"export const {name} = {json.dumps(value)};\n" for name, value in values.items())
    return "".join([f"{answerer}\n", *constants])


def _styles() -> str:
    """Return the rules: of the page, of all its parts, of views, then of drawings, nested under what they are for.

    `:is(#lab, ...)` gives them the weight of an id, so that rules of the page for bare elements do not come through.
    Those of a drawing weigh two: it may be inside a view.
    """
    users = defaultdict(list)
    for kind, drawing in DRAWINGS.items():
        for sheet in drawing.sheets:
            users[sheet].append(f".lab-island-{kind}")
    for part, sheet in _PARTS.items():
        users[sheet].append(f".lab-island-{part}")
    rules = [source("page.css")]
    rules += [f":is(#lab, .lab-island) {{\n{source(name)}\n}}" for name in _SHARED]
    files = resources.files("bertviz_lab.ui.views")
    for view in VIEWS:
        if (files / view.id / "view.css").is_file():
            rules.append(f":is(#lab, .lab-view-{view.id}) {{\n{source(f'views/{view.id}/view.css')}\n}}")
    rules += [f":is(#lab#lab, {', '.join(names)}) {{\n{source(sheet)}\n}}" for sheet, names in users.items()]
    return "\n".join(rules)


@cache
def files() -> dict[str, str]:
    """Return all that is served, by name."""
    ui = Path(__file__).parents[1]
    modules = (path.relative_to(ui).as_posix() for room in _ROOMS for path in sorted((ui / room).rglob("*.js")))
    texts = {name: source(name) for name in modules}
    workshop = "\n".join(source(name) for name in _WORKSHOP)
    return texts | {
        PLOTLY: source(PLOTLY),
        _SITE: site(),
        "lab.css": _styles(),
        "workshop.css": f"#page {{\n{workshop}\n}}\n",
    }


@cache
def folder() -> str:
    """Return the folder's address: other files have another one."""
    return f"{_FOLDER}/{digest(*chain(*sorted(files().items())))}"


def digest(*parts: str | bytes) -> str:
    """Return twelve digits of the hash of some content."""
    content = hashlib.sha256()
    for part in parts:
        content.update(part.encode() if isinstance(part, str) else part)
    return content.hexdigest()[:12]


def head(page: str = "lab", language: str = ENGLISH.code, engine: PageEngine | None = None) -> str:
    """Return what a document's head needs: the import map, the rules, and for a workshop's page its script."""
    first = ("workshop/leader.js",) if page == "workshop" else (*FIRST, "client/answering.js")
    imports = {"lab/": f"./{folder()}/"} | ({"lab/browser/": f"./{engine.modules}/"} if engine else {})
    lines = [
        f'<script type="importmap">{json.dumps({"imports": imports})}</script>',
        f'<meta name="lab-language" content="{html.escape(language)}">',
        *([f'<meta name="lab-engine" content="{engine.offer}">'] if engine else []),
        f'<link rel="stylesheet" href="{folder()}/{page}.css">',
        *(f'<link rel="modulepreload" href="{folder()}/{n}">' for n in [_SITE, *with_imports(first, [_SITE])]),
    ]
    if page == "workshop":
        lines.append("<script type=\"module\">import 'lab/workshop/leader.js';</script>")
    return "".join(lines)


def kept_file(request: Request, name: str, content: str | bytes) -> Response:
    """Return a file that a browser keeps for a year; a text is compressed where the browser takes that."""
    headers, body = KEPT_FOR_A_YEAR | {"Vary": "Accept-Encoding"}, content
    if isinstance(content, str) and "gzip" in request.headers.get("accept-encoding", ""):
        headers["Content-Encoding"], body = "gzip", _compressed(content)
    return Response(body, media_type=_TYPES.get(Path(name).suffix, "application/octet-stream"), headers=headers)


@lru_cache(256)
def _compressed(text: str) -> bytes:
    return gzip.compress(text.encode(), mtime=0)


def route() -> Route:
    """Return the route that serves the files."""

    async def asset(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in files() or request.path_params["hash"] != folder().split("/")[1]:
            return PlainTextResponse("There is no such file.", status_code=404)
        return kept_file(request, name, files()[name])

    return Route(f"/{_FOLDER}/{{hash}}/{{name:path}}", asset)


class PageHead:
    """Middleware that writes our head into Gradio's page.

    Gradio adds the `head` of `launch` by a script, when its own modules are loaded already: too late for an import map.
    """

    def __init__(self, app: ASGIApp, language: str, engine: PageEngine | None = None) -> None:
        self._app = app
        self._head = head(language=language, engine=engine).encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; pages are held back until they are complete."""
        start: Message | None = None
        body = b""

        async def write(message: Message) -> None:
            nonlocal start, body
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message["headers"])
                if headers.get("content-type", "").startswith("text/html"):
                    start = message
                    return
            elif message["type"] == "http.response.body" and start is not None:
                body += message.get("body", b"")
                if message.get("more_body"):
                    return
                place = body.find(b">", body.find(_BASE)) + 1 if _BASE in body else 0
                body = body[:place] + self._head + body[place:] if place else body
                MutableHeaders(raw=start["headers"])["content-length"] = str(len(body))
                await send(start)
                message = {"type": "http.response.body", "body": body}
            await send(message)

        await self._app(scope, receive, write if scope["type"] == "http" else send)
