"""Checkpoints: a model as a Hugging Face folder, saved atomically.

In reading order: `checkpoint` (load, save), `pickled_weights` (older files), `foreign_folders` (models in other forms),
`sentence_transformers_files` (of sentence embeddings), `onnx_export` (a new folder for others, ONNX graphs),
`model_card` (what all cards share), `hub_upload`, `checkpoint_manager` (rotation, checksums), `atomic_io` (atomic
writes, locks), `snapshots` (fp16 weights over a run).
"""
