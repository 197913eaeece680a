"""Runs: the strip that follows one, the table that compares several, and the recipes to start one with."""
