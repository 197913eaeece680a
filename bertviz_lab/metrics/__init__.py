"""Metrics: labels and predictions in, scores out.

`classification` (one label or several, calibration), `regression`, `retrieval`, `entities` (F1 of spans), `squad`
(EM, F1); `names` (what metrics are called, and how their values are written).

What is a mean over nothing (a class that never occurs, a report on no examples) is 0, never a warning; the count
beside it says so.
"""

from bertviz_lab.metrics.classification import (
    Calibration,
    CalibrationBin,
    ClassificationReport,
    ClassScores,
    MultiLabelReport,
    calibration,
    choose_thresholds,
    classification_report,
    multi_label_report,
)
from bertviz_lab.metrics.entities import EntityReport, entity_report, entity_spans, marks_entities
from bertviz_lab.metrics.regression import regression_scores
from bertviz_lab.metrics.retrieval import cosine_ranks, retrieval_scores
from bertviz_lab.metrics.squad import answer_f1, answer_scores, exact_match, normalize_answer

__all__ = [
    "Calibration",
    "CalibrationBin",
    "ClassScores",
    "ClassificationReport",
    "EntityReport",
    "MultiLabelReport",
    "answer_f1",
    "answer_scores",
    "calibration",
    "choose_thresholds",
    "classification_report",
    "cosine_ranks",
    "entity_report",
    "entity_spans",
    "exact_match",
    "marks_entities",
    "multi_label_report",
    "normalize_answer",
    "regression_scores",
    "retrieval_scores",
]
