"""Task data: examples in, batches of one task and answers out.

In reading order: `unlabeled_inputs` (files to predict on), `split` (training and held-out examples), `task_report`
(their health), `near_duplicates`, `corrections` (of labels, as a person decided), `corrected_files` (files with them),
`question_answering` (passages to windows, logits to answers), `batches` (examples to token ids to tensors), `glue`
(which files of a folder are those of a benchmark's tasks).
"""
