"""How every event of Gradio behaves on this page."""

from typing import Any

#: Not an endpoint, and no grey veil over what it changes.
QUIET: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden", "show_progress_on": []}
#: The same for events that come faster than they are answered: of many the last one counts.
TYPING: dict[str, Any] = QUIET | {"trigger_mode": "always_last"}
