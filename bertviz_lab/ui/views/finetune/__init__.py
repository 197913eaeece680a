"""Fine-tune: choose labeled examples, see how they were read, choose a model, and fine-tune it."""
