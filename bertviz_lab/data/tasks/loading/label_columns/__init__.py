"""Columns of labels.

In reading order: `labels` (classes or regression targets, their names and order), `multi_label` (several labels of one
text), `label_cells` (what a cell says: one label, several, or a number).
"""
