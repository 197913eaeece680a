"""Labeled files to examples: one reader per format; format, columns and task are inferred, and each can be given.

In reading order: `read` (the entry point), `reading` (what was understood, as a value), `options`, `registry` (finds
files, asks each reader whether a file is its own), `text_files` (encoding, lines), `raw` (the rows of a file, and which
were dropped or repaired); the readers `tables`, `records` (JSON, Parquet), `conll` (with the BIO schemes), `questions`
(SQuAD and its relatives), `spans` (entities as character spans) and `word_tables` (a word a row); `columns` (texts and
labels of a table), `labels` and `label_sets` (the cells of a label column), `related_texts` (pairs and triplets for
embeddings), `held_out` (what other splits have in common with training).
"""
