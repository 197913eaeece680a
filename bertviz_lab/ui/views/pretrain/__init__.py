"""Pretrain: choose a text, see whether it is fit, choose a model, a recipe and a time, and train."""
