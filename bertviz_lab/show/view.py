"""A picture as a page of its own."""

import html
from dataclasses import dataclass
from pathlib import Path

from bertviz_lab.ui.components.standalone import standalone_page

#: Where the notebook lets it, the frame is as high as what is drawn in it: charts come after the page has loaded.
_FIT = (
    "new this.contentWindow.ResizeObserver(() => {"
    " this.style.height = `${this.contentDocument.body.scrollHeight + 40}px`"
    " }).observe(this.contentDocument.body)"
)


@dataclass(frozen=True)
class View:
    """A picture as a page: shown by a notebook, or saved as a file that opens in any browser without a server."""

    page: str
    height: int = 640  # in pixels, of the frame in a notebook

    def _repr_html_(self) -> str:
        frame = f'width="100%" height="{self.height}" style="border: 0" onload="{_FIT}"'
        return f'<iframe {frame} srcdoc="{html.escape(self.page)}"></iframe>'

    def save(self, path: str | Path) -> Path:
        """Write the page to a file."""
        path = Path(path)
        path.write_text(self.page, encoding="utf-8")
        return path


def view(kind: str, label: str, payload: str, height: int) -> View:
    """Return the picture that a component of the page draws of a payload."""
    return View(standalone_page(kind, label, payload), height)


def chart(label: str, payload: str, height: int = 420) -> View:
    """Return the same for a chart with axes."""
    return view("chart", label, payload, height)
