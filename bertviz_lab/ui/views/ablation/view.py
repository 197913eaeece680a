"""What the ablation study asks: its cards, how far their runs are, and what came of one."""

from typing import Annotated, Any

from pydantic import Field

from bertviz_lab.figures.payload import Payload
from bertviz_lab.ui.server.visitors import Visitor
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.view import RunIds, View, Word, question
from bertviz_lab.ui.views.ablation import study

#: Steps of a run, or its seed; None for those that were queued last.
Planned = Annotated[int | None, Field(ge=0, le=2**31)]
#: What a person predicts of each measure.
Predicted = Annotated[dict[Word, Word], Field(max_length=20)]


def cards(state: AppState, visitor: Visitor, steps: Planned, seed: Planned) -> Payload:
    """Return the cards, for runs of so many steps from a seed."""
    newest = study.newest_set(state, visitor)
    return study.cards(state, visitor, newest[0] if steps is None else steps, newest[1] if seed is None else seed)


def progress(state: AppState, visitor: Visitor, runs: RunIds) -> dict[str, Any]:
    """Return how far some runs are."""
    return study.progress(state, visitor, runs)


def train(
    state: AppState, visitor: Visitor, names: Annotated[list[Word], Field(max_length=50)], steps: Planned, seed: Planned
) -> list[str]:
    """Queue the full recipe and the named ablations; returns the ids of the new runs."""
    return study.queue(state, visitor, names, steps, seed)


def reveal(state: AppState, name: Word, whole: Word, run: Word, predicted: Predicted) -> dict[str, Any]:
    """Return what came of an ablation, next to what was predicted."""
    return study.reveal(state, name, whole, run, predicted)


ABLATION = View(
    "ablation",
    "Ablation study",
    "What does each part of BERT's recipe contribute? Remove one, predict the effect, and test it.",
    "runs",
    {"cards": question(cards), "progress": question(progress), "reveal": question(reveal), "train": question(train)},
)
