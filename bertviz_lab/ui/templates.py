"""Pages and parts of pages from Jinja templates below `bertviz_lab/ui`: those of a workshop, and the handout."""

import re
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from bertviz_lab.ui.languages import Language


def render(template: str, say: Language, **values: Any) -> str:
    """Return a template filled with `values`, which are escaped; it calls `say` for each of its own texts."""
    return _environment().get_template(template).render(say=say, **values)


@cache
def _environment() -> Environment:
    loader = FileSystemLoader(Path(__file__).parent)
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["marked"] = _marked
    return environment


def _marked(text: str) -> Markup:
    """Escape a text; backticks become code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))
