"""Fine-tuning: a model and labelled examples in, a model for one task and its scores out.

In reading order: `finetune` (a run from files to model), `task_data` (its examples), `setup` (what all trials share),
`trials` and `trial` (seeds and grids), `objective` (the loss of a step), `scoring` (predictions to scores), `predict`
(new texts).
"""
