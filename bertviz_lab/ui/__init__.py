"""The page: the only part of the lab, with `app.py`, that knows Gradio."""

import os

# Read when Gradio is imported. No usage reports; and no summary of past events rebuilt at every event, which makes
# a busy page ten times slower.
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("GRADIO_ANALYTICS_CACHE_FREQUENCY", "1000000")
