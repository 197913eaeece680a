"""Run: one run's curves, what can be done with it, and what a fine-tuning came to; Train shows the same.

`view` says what a run is and follows it, `results` answers about a fine-tuning from its report and its held-out
examples.
"""
