"""Fine-tuning: a model and labeled examples in, a model for one task and its scores out.

In reading order: `finetune` (a run from files to model), `task_data` (its examples, and a look at them beforehand),
`setup` (what all trials share), `trials` (seeds, grids, early stopping) and `trial` (one of them), `lora`,
`predictions` and `scoring` (logits to predictions to scores), `embeddings` (vectors of texts), `predict` (new texts;
`evaluate`), `glue` (a model on all tasks of a benchmark), `card`.
"""
