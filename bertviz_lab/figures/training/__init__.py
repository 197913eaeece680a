"""Figures of training data, runs and results."""
