"""Runs: `events` (typed; a line of text for each, final scores), `run_folder` (config, state and log on disk),
`snapshot_reader` (a model at any step), `summary` (a run in one line; its name, tags and note), `notifier` (webhook
and command at the end of a run), `reference_curves` (runs of the lab that a run is compared with)."""
