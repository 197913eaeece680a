"""Checkpoints: a model as a Hugging Face folder, saved atomically.

In reading order: `checkpoint` (load, save), `architectures` (which class it is), `pickled_weights` (older files),
`sentence_transformers_files` (of sentence embeddings), `onnx_export`, `export` (a new folder for others), `model_card`
(what all cards share), `hub_upload`, `checkpoint_manager` (rotation, checksums), `atomic_io` (atomic writes, locks),
`snapshots` (fp16 weights at log-spaced steps).
"""
