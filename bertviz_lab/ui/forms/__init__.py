"""Train: the forms of pretraining, fine-tuning and batch prediction, made of Gradio's components.

In reading order: `pretrain` and `finetune` (the forms), `training_view` (what the page needs of one), `options`
(settings in groups), `controls` (a setting to a component and back), `form` and `task_form` (what a corpus or a data
set recommends), `texts` (corpora to choose), `forecast` (time, memory), `batch_prediction` (a file in, a table out),
`evaluation` (a model on minimal pairs or GLUE).
"""
