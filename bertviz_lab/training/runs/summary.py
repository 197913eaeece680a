"""A run in one line: what it is trained on, how large its model is, and its main score, from the events of its log."""

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

#: For each objective what a run is judged by, the first that it has; other objectives are those of pretraining.
_MEASURES = {
    "classification": ("accuracy",),
    "multilabel": ("micro_f1",),
    "regression": ("spearman", "pearson"),
    "tokens": ("f1", "accuracy"),
    "qa": ("f1",),
    "embeddings": ("spearman", "mrr"),
    "rtd": ("rtd_f1",),
}
_PRETRAINING = ("mlm_accuracy",)
_RANDOM = "random weights"  # the trial that a run is compared with


@dataclass(frozen=True)
class RunSummary:
    """What a log says so far; "" or None for what it does not say yet.

    Attributes:
        objective: such as "mlm+nsp" or "classification".
        parameters: of the model.
        measure: the name of the score.
        score: that of the newest evaluation; of a fine-tuning with trials that have ended, the best trial's.
    """

    objective: str = ""
    parameters: int | None = None
    measure: str = ""
    score: float | None = None
    trial_done: bool = False

    def after(self, rows: Iterable[Mapping[str, Any]]) -> "RunSummary":
        """The summary with further events of the log."""
        summary = self
        for row in rows:
            kind = row.get("event")
            if kind == "RunStarted":
                summary = dataclasses.replace(
                    summary, objective=str(row.get("objective", "")), parameters=row.get("parameters")
                )
            elif kind == "EvalDone" and not summary.trial_done and row.get("step"):
                summary = summary._scored(row)
            elif kind == "TrialDone" and row.get("name") != _RANDOM:
                scored = summary._scored(row)
                if not summary.trial_done or (scored.score or 0.0) > (summary.score or 0.0):
                    summary = dataclasses.replace(scored, trial_done=True)
        return summary

    def _scored(self, row: Mapping[str, Any]) -> "RunSummary":
        for measure in _MEASURES.get(self.objective, _PRETRAINING):
            if isinstance(row.get(measure), (int, float)):
                return dataclasses.replace(self, measure=measure, score=float(row[measure]))
        return self
