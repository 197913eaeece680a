"""Sentence embeddings: one vector per text, near to those of related texts (Reimers and Gurevych 2019).

In reading order: `vectors` (hidden states to a vector, and the losses), `ranking` (vectors to predictions and scores),
`retrieval_file` (questions with candidates to score a model on).
"""
