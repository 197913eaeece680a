"""Figures: turn the result of an analysis into a payload that a component of the page draws. Independent of torch.

In reading order: `payload` (how data is sent to the page), `plots` (numbers to Plotly figures), `charts` (a figure with
its table), `strips` (a text with rows below its tokens, or with marked spans); then `interpret/` and `training/`.
"""
