"""The training loop: steps, time and gradients, independent of the task.

In reading order: `training_run` (what all runs share), `loop` (the training loop, its metrics), `optim` (AdamW,
gradient clipping, learning rate), `muon` (orthogonal updates of matrices), `hardware` (device, precision, processes,
torch.compile), `evaluation` (evaluation mode, counts of correct labels), `training_state` (what a resumed run needs),
`trackers` (TensorBoard and others), `sharding` (FSDP2), `clock` (training time, stop requests, tokens per second),
`memory` (of a run by its shapes), `growth` (more layers, positions, width).
"""
