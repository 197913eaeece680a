"""Embeddings: similarity of sentences, nearest neighbours of a word, and one word in two contexts."""
