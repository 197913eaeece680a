"""Labeled files to examples: one reader per format; format, columns and task are inferred, and each can be given.

In reading order: `read` (the entry point), `options`, `registry` (finds files, asks the readers), `text_files`
(encoding, lines), `raw` (the rows of a file, and which were dropped); the readers `tables`, `records` (JSON, Parquet),
`conll` (with the BIO schemes) and `questions` (SQuAD); `columns` (texts and labels of a table), `labels` and
`label_sets` (the cells of a label column), `related_texts` (pairs and triplets for embeddings), `held_out` (what other
splits have in common with training).
"""
