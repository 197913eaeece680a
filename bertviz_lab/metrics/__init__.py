"""Metrics: labels and predictions in, scores out.

`classification` (one label or several, calibration), `regression` (and retrieval), `entities` (F1 of spans), `squad`
(EM, F1); `names` (what metrics are called, and how their values are written).

What is a mean over nothing (a class that never occurs, a report on no examples) is 0, never a warning; the count
beside it says so.
"""
