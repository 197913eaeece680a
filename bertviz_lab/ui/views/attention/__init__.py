"""Attention: every head of a model at once, one in detail, and the difference between two sets of weights."""
