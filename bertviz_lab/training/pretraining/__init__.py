"""Pretraining: masked language modelling with or without sentence pairs, and replaced-token detection.

In reading order: `pretrain` (a run from text to model), `prepare` and `corpus_cache` (text to token ids), `setup`
(objective, data and model of a run), `phases` (short sequences and few layers first), `curriculum` (the batches of each
phase), `objective` (the losses of a step), `distillation` (those of a student), `replaced_tokens` (ELECTRA's),
`evaluate` (held-out scores), `probe_scorer` (minimal pairs).
"""
