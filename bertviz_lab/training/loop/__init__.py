"""The training loop: it knows steps, time and gradients, and no task.

In reading order: `loop` (the loop itself), `window` (metrics between two reports), `optim` (AdamW, Muon, parameter
groups, the learning-rate schedule), `hardware` (device, precision, processes), `memory` (the memory estimate),
`throughput` (tokens per second, measured).
"""
