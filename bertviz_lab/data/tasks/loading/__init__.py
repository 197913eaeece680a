"""Files to task data: format, columns and task are inferred, and each can be given.

In reading order: `read_task` (the entry point), `read_options`, `load_files` (finds files, detects formats),
`text_file` (encoding, lines), `raw_data` (what a file holds, and what was dropped of it); the formats `tables`,
`records` (JSON, Parquet), `conll` (with the BIO schemes) and `squad`; `columns` (what they mean),
`label_columns/` (classes, several labels, numbers), `held_out` (what other splits have in common with training),
`related_texts` (pairs and triplets for embeddings).
"""
