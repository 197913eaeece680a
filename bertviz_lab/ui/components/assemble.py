"""Joins the JavaScript and CSS files of a view into an island: a part of the page that draws itself.

The files lie beside this one and in the rooms below as package data. Joining files by plain text makes their top-level
functions private to one island, without a bundler; `ui/server/bundle.py` serves all islands as one script and one style
sheet.
"""

import html
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import gradio as gr

_TRIGGER = re.compile(r"\btrigger\('(\w+)'")
#: Plotly for charts with axes, of the version that plotly.py writes figures for.
PLOTLY = "vendor/plotly-cartesian.min.js"
_PLACE = '"the payload goes here"'
_NO_TITLE = "<title></title>"
#: What each island is given: its value, its colours, how it is saved. They share its arguments.
ISLAND_TOOLS = ("island.js", "picture.js")


@cache
def source(name: str) -> str:
    """The text of a file of this folder or its rooms (`tools.js`, `chart.js`), or of the page: `client/page.js`."""
    if "/" in name:
        return resources.files("bertviz_lab.ui").joinpath(name).read_text(encoding="utf-8")
    here = resources.files(__package__)
    (place,) = [room / name for room in (here, *here.iterdir()) if (room / name).is_file()]
    return place.read_text(encoding="utf-8")


@dataclass(frozen=True)
class Assembly:
    """What an island is made of: the name of its CSS class, and its chapters and style sheets in their order.

    A page of its own carries the chart library where there is `plot.js`, unless its charts come from a server only.
    """

    name: str
    chapters: tuple[str, ...]
    sheets: tuple[str, ...]
    charts_need_server: bool = False

    def script(self) -> str:
        """Its chapters as one text, the body of a function of `element, props, trigger, server, watch`."""
        return "\n".join(f"// ---- {name}\n{source(name)}" for name in self.chapters)

    def events(self) -> list[str]:
        """The events that its script fires."""
        return sorted(set(_TRIGGER.findall(self.script())))

    def page(self, label: str, payload: str) -> str:
        """A page of its own that shows a payload and works offline."""
        return self.blank_page(label).replace(_PLACE, payload)

    def blank_page(self, label: str) -> str:
        """The same with a mark, `"the payload goes here"`, that a browser replaces."""
        return _page(self).replace(_NO_TITLE, f"<title>{html.escape(label)}</title>", 1)


@cache
def _page(assembly: Assembly) -> str:
    """A whole page with one view and nothing from outside; title and payload are to be put in their places.

    They are not part of what is cached: a label may be any text that a visitor sends. The page lends the view's script
    what Gradio would: its element, its value, and listeners that nobody hears.
    """
    shared_rules = source("shared.css").replace(".dark &", "&.dark")
    rules = "\n".join(source(name) for name in assembly.sheets)
    page = "const page = { on() {}, select() {}, selected: null };"  # nothing to be linked with
    alone = f"const PLOTLY = ''; const TEXTS = {{}}; {page}"
    has_charts = "plot.js" in assembly.chapters and not assembly.charts_need_server
    charts = f"<script>{source(PLOTLY)}</script>" if has_charts else ""
    shared = "\n".join(source(name) for name in ("tools.js", *ISLAND_TOOLS))
    script = f"'use strict';\n{alone}\n{shared}\n{assembly.script()}"
    body = json.dumps(script).replace("</", "<\\/")  # no end tag inside a script
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
{_NO_TITLE}<style>
:root {{ color-scheme: light dark; font-family: system-ui, sans-serif }}
body {{ margin: 16px; background: #fff }}
#view {{ max-width: 1160px; margin: auto;
{shared_rules}
}}
#view#view {{
{rules}
}}
#view.dark {{ --body-text-color: #f1f5f9; --background-fill-primary: #0b0f19 }}
body:has(.dark) {{ background: #0b0f19 }}
</style></head><body><div id="view"><section class="lab lab-{assembly.name}"></section></div>
{charts}<script type="application/json" id="payload">{_PLACE}</script>
<script>
const view = document.getElementById('view');
const night = matchMedia('(prefers-color-scheme: dark)');
const paint = () => view.classList.toggle('dark', night.matches);
night.addEventListener('change', paint);
paint();
const value = document.getElementById('payload').textContent;
new Function('element', 'props', 'trigger', 'server', 'watch', {body})(
  view, {{ value, label: document.title }}, () => {{}}, null, () => {{}});
</script></body></html>"""


def component(
    assembly: Assembly,
    *,
    value: str,
    label: str,
    above: str = "",
    below: str = "",
    server_functions: Sequence[Callable[..., Any]] = (),
    **options: Any,
) -> gr.HTML:
    """A `gr.HTML` that asks the bundle to mount an island, which draws its whole inside.

    `above` and `below` are HTML of ours, such as a heading: a component of its own costs a kilobyte a visit.

    Gradio does not wait for the scripts of the page's head: places that ask before the bundle is there stand in line.
    The template is a fixed string that holds no `value`: Gradio evaluates templates, so what a person typed
    must never pass through one. `options` go to `gr.HTML` (`elem_id`, `visible`, `render` and so on).
    """

    def standalone_page(_: Any = None) -> str:  # Gradio hands over the list of arguments, here an empty one
        return assembly.blank_page(label)

    events = " ".join(f"'{event}'" for event in assembly.events())  # Gradio knows events by their quoted names
    return gr.HTML(
        value=value,
        label=label,
        html_template=f'{above}<section class="lab lab-{assembly.name}"></section>{below}',
        js_on_load=f"(window.Lab ??= []).push(['{assembly.name}', element, props, trigger, server, watch]) // {events}",
        apply_default_css=False,
        server_functions=[standalone_page, *server_functions],
        **options,
    )
