"""Data: files in, batches out.

In reading order: `documents` (documents and sentences), `samples` (texts and examples that ship), `corpora` (files to
documents), `pretraining` (sentences to masked batches), `examples` (one of each task), `formats` (labeled files to
examples), `tasks` (examples to batches), `batches` (of either, made ahead of time), `loaders` (batches in one call),
`probes` (minimal pairs).
"""
