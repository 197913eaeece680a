"""Analyses that need more than one text: a corpus, labeled sentences, or what a run has kept.

In reading order: `corpus_index` (every head and neuron on up to 5,000 texts), `corpus_search` (from an example to the
heads that link it, from a neuron to tokens); `probing` (linear probes of labeled words, with control labels);
`tuned_lens` (fitted on a corpus, applied by `interpret.layers`); of a run `training_dynamics` (one text through its
snapshots), `training_influence` (the sentences that taught a prediction) and `results` (of a fine-tuning).
"""
