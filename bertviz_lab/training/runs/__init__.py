"""Runs: what happens in one as typed events, its folder, and who listens.

In reading order: `events`, `run_folder` (config, state and log on disk), `run` (either kind), `console`, `trackers`.
"""
