"""The page: the only part of the lab, with `app.py`, that knows Gradio.

In reading order: `app` (the four workspaces put together), `view` and `views/` (a view is a folder: its questions, its
drawing, its explanation), `questions` (the line between scripts and Python), `client/` (what all views share in the
browser), `components/` (drawings: each gets a payload and shows it), `bundle` (all scripts and rules as two files).
Train is made of Gradio's components: `tabs/`, with `controls`, `options`, `form` and `task_form`; `page_events` joins
them. `models` and `app_state` keep what is open; `lessons/` are the texts of Learn; `api` the endpoints for programs.
"""

import os

# Read when Gradio is imported. No usage reports; and no summary of past events rebuilt at every event, which makes
# a busy page ten times slower.
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("GRADIO_ANALYTICS_CACHE_FREQUENCY", "1000000")
