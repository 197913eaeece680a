"""Figures of training data, runs and results.

In reading order: `data` (a corpus, labeled examples); `panels` and `curves` (learning curves), `runs` (several side by
side, and their probes), `finetuning` (scores and trials), `label_check` (doubted labels, dataset map); `dynamics`
(training dynamics), `ablation_study`.
"""
