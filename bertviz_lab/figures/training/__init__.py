"""Figures of training data, runs and results.

In reading order: `health` (a corpus), `preview` and `task_data` (labelled examples); `panels` and `curves` (learning
curves), `runs` (several side by side), `probes`; `trials`, `finetuning` and `examples` (results of a fine-tuning);
`dynamics` and `snapshot_charts` (training dynamics), `ablation_study`.
"""
