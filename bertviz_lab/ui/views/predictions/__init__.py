"""Predictions: masked tokens, the next sentence, or the task that a model was fine-tuned for."""
