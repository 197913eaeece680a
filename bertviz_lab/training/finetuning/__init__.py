"""Fine-tuning: a model and labeled examples in, a model for one task and its scores out.

In reading order: `finetune` (a run from files to model), `task_data` (its examples, and a look at them beforehand),
`tasks` (head, loss, predictions and scores of each task), `setup` (what all trials share), `trials` (seeds, grids,
early stopping) and `trial` (one of them), `lora`, `predictions`, `predict` (new texts; `evaluate`), `retrieval` (scores
of a search), `glue` (a model on all tasks of a benchmark), `card`.
"""
