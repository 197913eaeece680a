"""Labelled files: their format, columns and task are recognised, and each can be given.

In reading order: `read_task` (the way in), `read_options`, `load_files`, `text_file`, `file_formats`, `raw_rows` (what
a file holds), one module a format (`tables`, `records`, `conll`, `squad`), `columns` and `column_names`, `labels`,
`bio_tags`, `table_examples`, `drop_report`, `unlabelled_inputs`.
"""
