"""Labelled examples: files in, batches of one task out.

In reading order: `examples` (what an example is), `reading` (any file to examples), `split` (held-out examples),
`task_report` (what the examples are like), `features` and `qa_windows` (examples to token ids), `batches`,
`answer_spans` (logits to answers), `example_files`.
"""
