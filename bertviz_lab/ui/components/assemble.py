"""Joins the JavaScript and CSS files of a component into the two strings that `gr.HTML` takes.

The files lie beside this one as package data. Gradio runs `js_on_load` as the body of one function with the
arguments `element, props, trigger, server, watch`; joining files by plain text makes their top-level functions
private to that component, without a bundler.
"""

from collections.abc import Callable, Sequence
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


def component(
    name: str,
    *,
    value: str,
    label: str,
    chapters: Sequence[str],
    sheets: Sequence[str],
    server_functions: Sequence[Callable[..., Any]] = (),
    **options: Any,
) -> gr.HTML:
    """A `gr.HTML` whose whole inside is drawn by its script.

    The template is a fixed string that holds no `value`: Gradio evaluates templates, so what a person typed
    must never pass through one. `options` go to `gr.HTML` (`elem_id`, `visible`, `render` and so on).
    """
    return gr.HTML(
        value=value,
        label=label,
        html_template=f'<section class="lab lab-{name}"></section>',
        css_template=styles(sheets),
        js_on_load=script(chapters),
        apply_default_css=False,
        server_functions=list(server_functions) or None,
        **options,
    )
