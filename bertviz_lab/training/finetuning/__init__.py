"""Fine-tuning: a model and labeled examples in, a model for one task and its scores out.

In reading order: `finetune` (a run from files to model), `task_data` (its examples, and a look at them beforehand),
`tasks` (head, loss, predictions and scores of each task), `setup` (the trials of a run: seeds, grids, early stopping,
and what they share) and `trial` (one of them), `example_dynamics` (what it predicts as it learns), `label_check`
(which labels all this doubts), `lora`, `predict` (new texts; `evaluate`), `glue` (a model on all tasks of a
benchmark), `card`.
"""
