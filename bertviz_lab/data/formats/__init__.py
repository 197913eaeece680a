"""Labeled files to examples: one reader per format; format, columns and task are inferred, and each can be given.

In reading order: `read` (the entry point), `reading` (what was understood, as a value), `raw` (options, a file as lines
and as rows, and which were dropped or repaired), `registry` (finds files, asks each reader whether a file is its own);
the readers `tables`, `records` (JSON), `annotations` (records of tools and chats, Rasa), `binary_tables` (Parquet,
Arrow, workbooks), `words` (a label for each word) and `questions` (SQuAD and its relatives); `columns` (texts and
labels of a table, by the `column_profile` of each), `labels` (the cells of a label column, the labels of held-out
examples), `related_texts` (pairs and triplets for embeddings).
"""
