"""Pretraining: masked language modeling with or without sentence pairs, and replaced-token detection.

In reading order: `pretrain` (from text to model; its card), `prepare` and `corpus_cache` (text to token ids), `setup`
(objective, data, memory and first model of a run), `curriculum` (the phases of a run and their batches),
`objective` (the losses of a step), `distillation`, `replaced_tokens` (ELECTRA), `evaluate` (held-out scores),
`probe_scorer` (minimal pairs).
"""
