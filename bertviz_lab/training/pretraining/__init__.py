"""Pretraining: masked language modelling with or without sentence pairs.

In reading order: `pretrain` (a run from text to model), `prepare` and `corpus_cache` (text to token ids), `curriculum`
(what is read when), `objective` (the losses of a step), `evaluate` (held-out scores), `probing` (minimal pairs).
"""
