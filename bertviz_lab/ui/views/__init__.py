"""The views of the page, in the order of their panels. A view is a folder of this one and a table of `views.toml`.

`view.py` answers the view's `QUESTIONS`, `view.js` draws it with what `client/panel.js` gives it, `view.css` has its
rules, `explanation.html` says how it is computed. `explore` is the input bar that the views of that workspace share,
`lessons` the workspace Learn.

Answers ask the analyses through `ui/lazy`, which imports them when the first one is asked.
"""

import tomllib
from importlib import import_module, resources

from bertviz_lab.ui.view import View

_DECLARED = tomllib.loads((resources.files(__package__) / "views.toml").read_text(encoding="utf-8"))
VIEWS = tuple(
    View(id, **declared, questions=import_module(f"{__package__}.{id}.view").QUESTIONS)
    for id, declared in _DECLARED.items()
)
