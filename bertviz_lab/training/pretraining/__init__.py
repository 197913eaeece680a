"""Pretraining: masked language modeling with or without sentence pairs, and replaced-token detection.

In reading order: `pretrain` (a run from text to model), `prepare` and `corpus_cache` (text to token ids), `setup`
(objective and data of a run), `initial_model` (its model), `phases`
(causal-LM warm-up, few layers first), `curriculum` (the batches: short sequences first), `objective` (the losses of a
step), `distillation` (those of a student), `replaced_tokens` (ELECTRA's), `evaluate` (held-out scores), `probe_scorer`
(minimal pairs), `memory` (by the shapes of its steps), `card`.
"""
