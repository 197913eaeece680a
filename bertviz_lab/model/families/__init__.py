"""What the families that came after BERT compute otherwise, each part by its own name.

Read `positions` first: where a model learns of positions, with `rotary` (ModernBERT), `disentangled` (DeBERTa) and
`relative_bias` (MPNet); then `replaced_tokens` (ELECTRA). A setting of the configuration turns each on;
docs/families.md lists the settings of each family.
"""
