"""Runs: their typed events, their folder on disk, and the consumers of events.

In reading order: `events`, `run_folder` (config, state and log on disk), `console` (one line per event, final scores),
`trackers` (TensorBoard and others), `summary` (a run in one line), `notes` (its name, tags and note).
"""
