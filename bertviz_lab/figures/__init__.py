"""Figures: each module turns one analysis into a payload that a component of the page draws. Independent of torch.

In reading order: `payload` (how data is sent to the page), `plots` (numbers to Plotly figures), `charts` (a figure with
its table), `strips` (the tokens of a text with rows below them), `marking` (a text with marked spans), `documents`
(attention as a file); then `interpret/` and `training/`, a file for each analysis.
"""
