"""Figures of one model and one text."""
