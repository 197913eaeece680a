"""Parts of the page that stand among Gradio's components: each is a `gr.HTML` that our modules draw into."""

from collections.abc import Callable, Sequence
from typing import Any

import gradio as gr


def part(
    name: str,
    *,
    value: str = "",
    label: str,
    above: str = "",
    below: str = "",
    events: Sequence[str] = (),
    server_functions: Sequence[Callable[..., Any]] = (),
    **options: Any,
) -> gr.HTML:
    """Return a place for a part of `client/main.js` or a drawing; its value is a payload.

    `above` and `below` are HTML of ours, such as a heading: a component of its own costs a kilobyte a visit.

    The template is a fixed string that holds no `value`: Gradio evaluates templates, so what a person typed must never
    pass through one. `options` go to `gr.HTML` (`elem_id`, `visible`, `render` and so on).
    """
    quoted = " ".join(f"'{event}'" for event in events)  # Gradio finds events by their quoted names
    return gr.HTML(
        value=value,
        label=label,
        html_template=f'{above}<section class="lab lab-{name}"></section>{below}',
        js_on_load="import('lab/client/main.js').then((lab) => "
        f"lab.place('{name}', element, props, trigger, server, watch)) // {quoted}",
        apply_default_css=False,
        server_functions=list(server_functions),
        **options,
    )
