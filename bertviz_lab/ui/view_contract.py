"""How a tab is joined to the page: what it shows of the chosen model, and its parts that are folded away."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import gradio as gr
from gradio.components import Component

from bertviz_lab.ui.error_handling import in_order
from bertviz_lab.ui.rpc import Rpc

#: For every event of the page: not an endpoint, and no grey veil over what it changes.
QUIET: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden", "show_progress_on": []}
#: The same for events that come faster than they are answered: of many the last one counts.
TYPING: dict[str, Any] = QUIET | {"trigger_mode": "always_last"}


class CollapsedView:
    """A part of a tab that is folded away: drawn when it is opened, and again after whatever it follows."""

    def __init__(
        self,
        direct: Rpc,
        name: str,
        accordion: gr.Accordion,
        draw: Callable[..., Any],
        inputs: Sequence[Component],
        output: Any,
        *,
        slow: bool = False,
        files: bool = False,
    ):
        """`draw(*inputs)` gives the value, or the values, of `output`; `name` stands in links to the part; `slow` is
        one that can take seconds, and `files` one whose inputs hold uploads: it goes by Gradio's queue, which checks
        them.

        To be made inside the page, after its parts.
        """
        self.name, self.accordion = name, accordion
        self.is_open = gr.Checkbox(bool(accordion.open), visible=False)
        self._direct, self._draw, self._output = direct, in_order(draw), output
        self._inputs, self._slow, self._files = [self.is_open, *inputs], slow, files
        self.follow(accordion.expand(None, None, self.is_open, js="() => true", **QUIET))
        accordion.collapse(None, None, self.is_open, js="() => false", **QUIET)

    def follow(self, *events: Any) -> None:
        """Draw again after each of these events, while it is open."""
        for event in events:
            if self._files:
                event.then(self._draw_open, self._inputs, self._output, **TYPING)
            else:
                self._direct.ask(event.then, self._draw, self._inputs, self._output, guarded=True, slow=self._slow)

    def _draw_open(self, is_open: bool, *inputs: Any) -> Any:
        return self._draw(*inputs) if is_open else gr.skip()


@dataclass(frozen=True)
class Tab:
    """A tab that shows something about the chosen model.

    `follow_model(model, *inputs)` answers with one value for each of `outputs`; it is called when the page opens
    and whenever the model changes, and after it the open ones of `parts` are drawn again. `fields` are what a link to
    the tab fills in, by the names that stand in its address; a link to a part of it opens that part too.
    """

    id: str
    follow_model: Callable[..., Any]
    inputs: list[Component]
    outputs: list[Component]
    parts: Sequence[CollapsedView] = ()
    fields: Mapping[str, Component] = field(default_factory=dict)
    second: gr.Dropdown | None = None  # where another model is chosen to stand beside the first
    others: gr.HTML | None = None  # chips that choose a model: (what stands on it, the model)
