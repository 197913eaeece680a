"""The drawings of the page, and each of them as a page of its own that works offline.

A drawing is an ES module whose default export `(root, payload, options)` draws into an element and returns the function
that shows the next payload. Panels make them by name (`client/panel.js`).
"""

import base64
import json
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from markupsafe import Markup
from pydantic import TypeAdapter

from bertviz_lab.errors import InputError
from bertviz_lab.ui.languages import ENGLISH
from bertviz_lab.ui.templates import render

#: Plotly for charts with axes.
PLOTLY = "vendor/plotly-cartesian.min.js"
_FIGURES = "components/figures/index.js"
_PAYLOAD = '"the payload goes here"'
_IMPORT = re.compile(r"""^(?:import|\}) .*?from 'lab/([^']+)';$""", re.MULTILINE)


@dataclass(frozen=True)
class Drawing:
    """A drawing: its module and style sheets below `bertviz_lab/ui`, and whether a page of its own carries Plotly."""

    module: str
    sheets: tuple[str, ...]
    needs_plotly: bool = False


@cache
def source(name: str) -> str:
    """Return the text of a file below `bertviz_lab/ui`."""
    return resources.files("bertviz_lab.ui").joinpath(name).read_text(encoding="utf-8")


DRAWINGS = TypeAdapter(dict[str, Drawing]).validate_python(tomllib.loads(source("components/drawings.toml")))


def with_imports(names: Iterable[str], generated: Iterable[str] = ()) -> list[str]:
    """Return the names of modules and of all that they import statically, without the `generated` ones."""
    found: dict[str, None] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found and name not in generated:
            found[name] = None
            waiting.extend(_IMPORT.findall(source(name)))
    return sorted(found)


def standalone_page(kind: str, label: str, payload: str = _PAYLOAD) -> str:
    """Return a page that shows one drawing and loads nothing.

    Without a payload it has the mark `"the payload goes here"` in its place, which a browser replaces. Its modules are
    `data:` URLs in an import map, which work from `file://` too. Raises `InputError` for an unknown drawing.
    """
    if kind not in DRAWINGS:
        raise InputError(f"There is no drawing {kind!r}.")
    parts = page_parts((kind,))
    values = {"kind": kind, "label": label, "payload": Markup(payload)}
    of_kind = {"rules": parts["rules"][kind], "module": parts["modules"][kind]}
    return render("components/standalone.html", ENGLISH, **values, **parts | of_kind)


@cache
def page_parts(kinds: tuple[str, ...]) -> dict[str, Any]:
    """Return what a page of some drawings carries: `modules` and `rules` by kind, and Plotly where one needs it."""
    drawings = {kind: DRAWINGS[kind] for kind in kinds}
    imports = {
        f"lab/{name}": f"data:text/javascript;base64,{base64.b64encode(source(name).encode()).decode()}"
        for name in with_imports([_FIGURES, *(drawing.module for drawing in drawings.values())])
    }
    needs_plotly = any(drawing.needs_plotly for drawing in drawings.values())
    return {
        "import_map": Markup(json.dumps({"imports": imports})),
        "shared": Markup(source("components/shared.css").replace(".dark &", "&.dark")),
        "modules": {kind: drawing.module for kind, drawing in drawings.items()},
        "rules": {kind: Markup("\n".join(map(source, drawing.sheets))) for kind, drawing in drawings.items()},
        "plotly": Markup(f"<script>{source(PLOTLY)}</script>" if needs_plotly else ""),
    }
