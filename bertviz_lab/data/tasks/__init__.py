"""Task data: labelled files in, batches of one task and answers out.

In reading order: `examples` (one example of each task, and its file in a run), `loading` (files to examples),
`unlabelled_inputs` (files to predict on), `split` (training and held-out examples), `task_report` (their health),
`features` and `qa_windows` (examples to token ids), `batches`, `answer_spans` (logits to answers), `glue` (which files
of a folder are those of a benchmark's tasks).
"""
