"""Checkpoints: a model as a Hugging Face folder, saved whole or not at all.

In reading order: `checkpoint` (load and save), `checkpoint_manager` (rotation, checksums), `optimizer_state` (what a
resumed run needs), `atomic_io` (files that are replaced in one step), `snapshots` and `snapshot_reader` (16-bit weights
at log-spaced steps), `backfill_probes`, `model_card`, `export`.
"""
