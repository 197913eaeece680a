"""Batch inference: a file of texts in, a table of predictions out, or the texts ranked by similarity to a query."""
