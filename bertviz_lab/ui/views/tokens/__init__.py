"""Tokens: what the tokenizer makes of a text, and what the masking of masked language modelling makes of its tokens."""
