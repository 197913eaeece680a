"""Labelled examples: files in, examples of one task out, and what a person should know about them before training.

In reading order: `examples` (what an example is), `reading` (any file to examples, with the chapters it needs),
`splitting` (a part held out), `report` (what the examples are like); `windows` and `answers` are for questions.
"""
