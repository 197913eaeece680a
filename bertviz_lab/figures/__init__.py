"""Figures: each module turns one analysis into a payload that a component of the page draws. Independent of torch."""
