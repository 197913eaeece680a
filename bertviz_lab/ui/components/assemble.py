"""Joins the JavaScript and CSS files of a component into what `gr.HTML` takes, or into a page of its own.

The files lie beside this one as package data. Gradio runs `js_on_load` as the body of one function with the
arguments `element, props, trigger, server, watch`; joining files by plain text makes their top-level functions
private to that component, without a bundler.
"""

import html
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import gradio as gr


@cache
def source(name: str) -> str:
    """The text of one file of this folder, such as `shared.js`."""
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def script(chapters: Sequence[str]) -> str:
    """One function body out of the shared tools and a component's own chapters, in that order."""
    names = ["shared.js", *chapters]
    parts = [f"// ---- {name}\n{source(name)}" for name in names]
    return "'use strict';\n" + "\n".join(parts)


def styles(names: Sequence[str]) -> str:
    """The shared rules and a component's own; Gradio nests them all under the component's id."""
    return "\n".join(source(name) for name in ["shared.css", *names])


_PLACE = '"the payload goes here"'


@dataclass(frozen=True)
class Assembly:
    """What a component is made of: the name of its CSS class, and its chapters and style sheets in their order."""

    name: str
    chapters: tuple[str, ...]
    sheets: tuple[str, ...]

    def page(self, label: str, payload: str) -> str:
        """A page of its own that shows a payload and works offline."""
        return _page(self, label).replace(_PLACE, payload)


@cache
def _page(assembly: Assembly, label: str) -> str:
    """A whole page with one view and nothing from outside; its payload is to be put in place of `_PLACE`.

    It lends the view's script what Gradio would: its element, its value, and listeners that nobody hears.
    """
    rules = styles(assembly.sheets).replace(".dark &", "&.dark")
    body = json.dumps(script(assembly.chapters)).replace("</", "<\\/")  # no end tag inside a script
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{html.escape(label)}</title><style>
:root {{ color-scheme: light dark; font-family: system-ui, sans-serif }}
body {{ margin: 16px; background: #fff }}
#view {{ max-width: 1160px; margin: auto;
{rules}
}}
#view.dark {{ --body-text-color: #f1f5f9; --background-fill-primary: #0b0f19 }}
body:has(.dark) {{ background: #0b0f19 }}
</style></head><body><div id="view"><section class="lab lab-{assembly.name}"></section></div>
<script type="application/json" id="payload">{_PLACE}</script>
<script>
const view = document.getElementById('view');
const night = matchMedia('(prefers-color-scheme: dark)');
const paint = () => view.classList.toggle('dark', night.matches);
night.addEventListener('change', paint);
paint();
const value = document.getElementById('payload').textContent;
new Function('element', 'props', 'trigger', 'server', 'watch', {body})(
  view, {{ value, label: {json.dumps(label)} }}, () => {{}}, null, () => {{}});
</script></body></html>"""


def component(
    assembly: Assembly,
    *,
    value: str,
    label: str,
    server_functions: Sequence[Callable[..., Any]] = (),
    **options: Any,
) -> gr.HTML:
    """A `gr.HTML` whose whole inside is drawn by its script.

    The template is a fixed string that holds no `value`: Gradio evaluates templates, so what a person typed
    must never pass through one. `options` go to `gr.HTML` (`elem_id`, `visible`, `render` and so on).
    """

    def standalone_page(_: Any = None) -> str:  # Gradio hands over the list of arguments, here an empty one
        return _page(assembly, label)

    return gr.HTML(
        value=value,
        label=label,
        html_template=f'<section class="lab lab-{assembly.name}"></section>',
        css_template=styles(assembly.sheets),
        js_on_load=script(assembly.chapters),
        apply_default_css=False,
        server_functions=[standalone_page, *server_functions],
        **options,
    )
