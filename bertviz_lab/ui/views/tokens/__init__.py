"""Tokens: what the tokenizer makes of a text, and what the masking of masked language modeling makes of its tokens."""
