"""Evaluate a model on minimal pairs, per phenomenon, or fine-tune it on each task of GLUE."""
