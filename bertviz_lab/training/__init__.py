"""Training: text or labelled files in, a stream of events and a folder with a model out.

In reading order: `loop` (steps, time and gradients, whatever is trained), `pretraining` (masked words and sentence
pairs), `finetuning` (labelled tasks), `checkpoints` (what is saved), `runs` (events, the folder of a run, who listens).
"""
