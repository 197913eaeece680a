"""Which parts of the input and of the model a prediction depends on.

In reading order: `attribution` (to tokens, by gradients and by occlusion, and to heads by ablation), `patching`
(activation patching), `decomposition` (a logit as the sum of what each component adds to it) and `flow` (attention,
value zeroing, norms and ALTI, layer by layer and together).
"""
