"""Sentence embeddings: one vector per text, near to those of texts that belong to it (Reimers and Gurevych 2019).

In reading order: `vectors` (hidden states to a vector), `losses` (in-batch negatives, cosine), `ranking` (vectors to
predictions and scores), `retrieval_file` (questions with candidates to score a model on).
"""
