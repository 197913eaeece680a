"""Labeled files to examples: one reader per format; format, columns and task are inferred, and each can be given.

In reading order: `read` (the entry point), `reading` (what was understood, as a value), `raw` (options, the rows of a
file, and which were dropped or repaired), `registry` (finds files, asks each reader whether a file is its own),
`text_files` (encoding, lines); the readers `tables`, `records` (JSON), `annotations` (records of tools and chats,
Rasa), `binary_tables` (Parquet, Arrow, workbooks), `conll` (with the BIO schemes, and tables with a word a row),
`questions` (SQuAD and its relatives) and `spans` (entities as character spans); `columns` (texts and labels of a
table), `labels` (the cells of a label column, the labels of held-out examples), `related_texts` (pairs and triplets
for embeddings).
"""
