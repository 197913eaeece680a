"""The training loop: it knows steps, time and gradients, but no task.

In reading order: `loop` (the training loop), `schedule` (learning rate), `optim` (AdamW, Muon, parameter groups),
`hardware` (device, precision, processes, gradient clipping), `metric_window` (metrics between two reports, divergence),
`evaluation` (evaluation mode, counts of correct labels), `training_state` (what a resumed run needs), `trackers`
(TensorBoard and others), `sharding` (FSDP2), `compilation` (torch.compile), `clock` (training time, stop requests),
`memory` (the memory of a run by its shapes), `throughput` (tokens per second, measured), `longer_positions` (position
embeddings beyond the trained length), `progressive_stacking` (layers that join later), `wider_model` (a trained model
made wider).
"""
