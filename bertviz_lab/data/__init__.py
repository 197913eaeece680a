"""Text in, batches out: documents, sentences, sentence pairs, masking, tensors."""
