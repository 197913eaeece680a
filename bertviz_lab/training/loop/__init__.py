"""The training loop: it knows steps, time and gradients, but no task.

In reading order: `loop` (the training loop), `schedule` (learning rate), `optim` (AdamW, Muon, parameter groups),
`hardware` (device, precision, processes, gradient clipping), `metric_window` (metrics between two reports, divergence),
`sharding` (FSDP2), `compilation` (torch.compile), `clock` (training time, stop requests), `memory` (the memory
estimate), `throughput` (tokens per second, measured), `longer_positions` (position embeddings beyond the trained
length), `progressive_stacking` (layers that join later), `wider_model` (a trained model made wider).
"""
