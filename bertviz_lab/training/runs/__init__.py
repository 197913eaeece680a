"""Runs: `events` (typed), `run_folder` (config, state and log on disk), `snapshot_reader` (a model at any step),
`console` (one line per event, final scores), `summary` (a run in one line; its name, tags and note)."""
