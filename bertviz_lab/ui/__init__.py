"""The page: the only part of the lab, with `app.py`, that knows Gradio.

In reading order: `app` and `page.html` (the four workspaces and their parts), `view` and `views/` (a view is a folder:
its questions, its drawing, its explanation), `client/` (what all views share in the browser), `components/` (drawings:
each gets a payload and shows it), `guard/` (what each request passes first), `server/` (between browser and Python),
`operations/` (for the owner of a server), `state/` (what is kept for all visitors), `forms` (what Train is asked),
`lazy` (what brings torch), `templates` (pages made of HTML), `lessons/` (the texts of Learn), `workshop/` (its leader
and their room), `languages/` (both in other languages), `settings`, `theme`.
"""

import os

# Read when Gradio is imported. No usage reports; and no summary of past events rebuilt at every event, which makes
# a busy page ten times slower.
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("GRADIO_ANALYTICS_CACHE_FREQUENCY", "1000000")
# Which proxies are believed is decided by the guard, not by the server under it.
os.environ["FORWARDED_ALLOW_IPS"] = ""
