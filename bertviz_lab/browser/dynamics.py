"""The training dynamics of a published model, recorded: what each of some snapshots of its run makes of a few texts.

A snapshot has as many weights as the model, so a page carries what the lab would answer and not the snapshots.
"""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bertviz_lab.errors import InputError
from bertviz_lab.training.checkpoints.snapshots import list_snapshots, snapshot_files
from bertviz_lab.training.runs.run_folder import SHIPPED_LOG
from bertviz_lab.training.runs.snapshot_reader import open_snapshots
from bertviz_lab.ui.server.visitors import NOBODY
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views.dynamics import view


def snapshots_folder(model: Path) -> Path | None:
    """Return the folder with the snapshots of a model, two or more: its own where it ships with them, or its run's."""
    places = (model, model.parent, model.parent.parent)  # DIR, RUN/model, RUN/checkpoints/step-00000100
    return next((place for place in places if len(list_snapshots(place / "snapshots")) > 1), None)


def recorded_dynamics(model: Path, name: str, most: int, scratch: Path) -> list[dict[str, Any]]:
    """Return how the scrubber begins for each example, {"example": [text A, text B, words], "opening": payload}.

    The payloads have the frames of `most` snapshots, the first and the last among them, evenly spaced in between.
    `scratch` is an empty folder. Raises `InputError` where the model has no snapshots.
    """
    source = snapshots_folder(model)
    if source is None:
        raise InputError(f"{name} has no snapshots: publish the model in its run's folder, or leave out --snapshots.")
    steps = _evenly(open_snapshots(source, name).steps(), most)
    _lay_out(source, model, steps, scratch / "shipped" / name)
    state = AppState(Settings(runs_dir=scratch / "runs", checkpoints=scratch / "shipped"))
    return [_recorded(state, name, *example) for example in view.examples(state, NOBODY, name)]


def _evenly(steps: Sequence[int], most: int) -> list[int]:
    """Return `most` of some steps, the first and the last among them."""
    last = len(steps) - 1
    return [steps[place] for place in sorted({round(turn * last / (most - 1)) for turn in range(most)})]


def _lay_out(source: Path, model: Path, steps: Sequence[int], folder: Path) -> None:
    """Copy a model and some snapshots into a folder as that of a model that ships: the page answers about it.

    What a run was trained on stays behind, so examples are those of the lab and no text of the run's owner.
    """
    (folder / "snapshots").mkdir(parents=True)
    log = next(path for path in (source / SHIPPED_LOG, source / "events.jsonl") if path.is_file())
    shutil.copy(log, folder / SHIPPED_LOG)
    for path in model.iterdir():
        if path.is_file() and path.name != SHIPPED_LOG:
            shutil.copy(path, folder)
    snapshots = source / "snapshots"
    chosen = [file for step, path in list_snapshots(snapshots) if step in steps for file in snapshot_files(path)]
    for path in (*snapshots.glob("*.json"), *chosen):
        shutil.copy(path, folder / "snapshots")


def _recorded(state: AppState, name: str, text_a: str, text_b: str, words: str) -> dict[str, Any]:
    opening = json.loads(view.opening(state, name, text_a, text_b, words))
    frames = {step: json.loads(view.frame(state, **opening["question"], step=step)) for step in opening["steps"]}
    return {"example": [text_a, text_b, words], "opening": opening | {"first": None, "frames": frames}}
