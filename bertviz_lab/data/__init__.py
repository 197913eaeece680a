"""Data: files in, batches out.

In reading order: `corpora` (files to documents to sentences), `pretraining` (sentences to masked batches), `tasks`
(labelled files to examples to batches), `batches` (of either) and `prefetch` (made ahead of time), `samples` (texts and
examples that ship), `probes` (minimal pairs).
"""
