"""Pretraining data: sentences in, masked batches out.

In reading order: `tokenized_corpus` (sentences on disk, and as ids), `split` (training and held-out text),
`sentence_pairs` (NSP and SOP examples), `masking` (80/10/10), `batches`, `streaming` (text that is read while it is
trained on).
"""
