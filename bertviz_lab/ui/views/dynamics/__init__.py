"""Training dynamics: a training run through its snapshots, with one slider."""
