"""Figures: turn the result of an analysis into a payload that a component of the page draws. Independent of torch.

What is drawn of a model and a text is the result of `interpret` as JSON (`payload.figure`): words and pictures are made
in the page, by `ui/components/figures`, for the lab, published pages and notebooks alike. `results` has those that
have to be prepared, `attention` weights as codes and files.
"""
