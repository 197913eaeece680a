"""The training loop: steps, time and gradients, independent of the task.

In reading order: `training_run` (what all runs share, and what a resumed one needs), `loop` (the training loop, its
metrics), `optim` (AdamW, Muon, gradient clipping, learning rate), `hardware` (device, precision, processes,
torch.compile), `evaluation` (evaluation mode, counts of correct labels), `trackers` (TensorBoard and others),
`sharding` (FSDP2), `clock` (training time, stop requests, tokens per second), `memory` (of a run by its shapes),
`growth` (more layers, positions, width).
"""
