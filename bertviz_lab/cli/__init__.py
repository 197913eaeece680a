"""The command line: one module per group of commands, and the only part that prints.

Read `main.py` first: it parses, runs a command and prints its `result.py`. The groups are `training.py` (pretrain,
finetune, inspect), `evaluation.py` (evaluate, predict, encode), `interpretation.py` (fill-mask,
next-sentence, attention, tokenize), `export.py` (export, push, runs) and `app.py` (app, doctor). `options.py` turns the
fields of a config into flags.
"""
