"""Fine-tuning: a model and labeled examples in, a model for one task and its scores out.

In reading order: `finetune` (a run from files to model), `task_data` (its examples), `setup` (what all trials share),
`trials` (seeds and grids) and `trial` (one of them: loss, validation, checkpoints), `early_stopping`, `lora`,
`predictions/` and `scoring` (logits to predictions to scores), `embeddings/` (the same for vectors of texts), `predict`
(new texts), `evaluate`, `glue` (a model on all tasks of a benchmark), `examination` (of labeled files), `card`.
"""
