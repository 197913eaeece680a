"""Runs: the table of a visitor's runs and the shipped models, where they are named, tagged, noted and deleted."""
