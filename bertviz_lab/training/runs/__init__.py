"""Runs: their typed events and their folder on disk.

In reading order: `events`, `run_folder` (config, state and log on disk), `snapshot_reader` (a model at any step),
`console` (one line per event, final scores), `summary` (a run in one line), `notes` (its name, tags and note).
"""
