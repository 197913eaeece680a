"""Checkpoints: a model as a Hugging Face folder, saved atomically.

In reading order: `checkpoint` (load, save, export), `sentence_transformers_files` (of sentence embeddings),
`model_card`, `checkpoint_manager` (rotation, checksums), `training_state` (what a resumed run needs), `atomic_io`
(atomic writes, locks), `snapshots` and `snapshot_reader` (fp16 weights at log-spaced steps).
"""
