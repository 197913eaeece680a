"""What a run's panel asks: which run it shows, what that is, its curves, and the results of a fine-tuning.

Train shows the same. `results` answers about a fine-tuning from its report and its held-out examples.
"""

import dataclasses
import re
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from bertviz_lab.config import FinetuneConfig, PretrainConfig, RunConfig
from bertviz_lab.config.finetune import RANDOM, TASKS
from bertviz_lab.config.options import options_of
from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import Payload, facts_payload
from bertviz_lab.figures.training.curves import live_payload, replay_payload
from bertviz_lab.figures.training.data import gained_payload
from bertviz_lab.figures.training.runs import learning_payload
from bertviz_lab.jobs.retention import deleted_at
from bertviz_lab.tokenization.added_pieces import NewPiece
from bertviz_lab.training.checkpoints.atomic_io import read_object
from bertviz_lab.training.runs.reference_curves import references_for
from bertviz_lab.training.runs.run_folder import ACTIVE
from bertviz_lab.ui.lazy import checkpoints
from bertviz_lab.ui.server.visitors import Visitor
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.state.models import newest_model
from bertviz_lab.ui.view import Word, questions
from bertviz_lab.ui.views.pretrain.run_settings import INHERITED, INHERITED_FROM_TEACHER
from bertviz_lab.ui.views.run import results
from bertviz_lab.ui.views.runs.view import (
    card_score,
    may_publish,
    message_for,
    model_path,
    newest,
    publication_payload,
    task_name,
)

_KINDS: dict[str, type[RunConfig]] = {"pretrain": PretrainConfig, "finetune": FinetuneConfig}
#: Settings that are no words for a person: they name files of this machine, or repeat another.
_UNTOLD = ("corpus", "train", "eval", "test", "out")
#: Settings with words of the files that a run was trained on, such as the names of columns, or sentences.
_OWNERS = ("text_field", "text_a", "text_b", "label", "delimiter", "without")

_NEW_MODEL = "Random initialization"  # the group of the settings of a fine-tuning from random weights

#: The charts of the results of a task besides the first, `results.confusion`; other tasks have that alone.
_CHARTS = {
    "classification": ("labels", "calibration", "slices"),
    "multilabel": ("slices",),
    "tokens": ("labels", "slices"),
}


def current(state: AppState, visitor: Visitor, kind: Literal["", "pretrain", "finetune"]) -> str:
    """Return the run to show at first: the newest, in Train the visitor's newest of this kind, else a shipped one."""
    run_id = newest(state, visitor, _KINDS[kind]) if kind else next(iter(state.models.visible_runs(visitor)), "")
    shipped = ((name, state.summary(name).objective) for name in state.models.shipped())
    right = (name for name, of in shipped if of and (not kind or (of in TASKS) == (kind == "finetune")))
    return run_id or next(right, "")


def about(state: AppState, visitor: Visitor, run_id: Word) -> dict[str, Any]:
    """Return what a run, or a shipped model, is, and what can be done with it."""
    is_shipped = run_id in state.models.shipped()
    objective = state.summary(run_id).objective if is_shipped or state.models.is_run(run_id) else ""
    shipped = {"id": run_id, "name": run_id, "shipped": True, "status": "shipped", "task": task_name(objective)}
    shipped |= {"snapshots": state.snapshots.has_snapshots(run_id), "pretraining": objective not in ("", *TASKS)}
    shipped |= {"tags": [], "note": "", "active": False, "can_stop": False, "can_resume": False, "results": ""}
    shipped |= {"charts": (), "saved": True, "mine": False, "deleted_at": None, "gained": False}
    if is_shipped:
        kind = "pretraining" if shipped["pretraining"] else "fine-tuning"
        said = f"You have no {kind} run yet: this is how {run_id}, which ships with the lab, was trained."
        return shipped | {"said": said}
    folder, run, notes = state.runs.folder(run_id), state.runs.state(run_id), state.runs.notes(run_id)
    active, mine = run.status in ACTIVE, state.models.owns(visitor, run_id)
    saved = newest_model(folder) is not None
    tuned = state.is_kind(run_id, FinetuneConfig)
    return shipped | {
        "name": state.runs.name(run_id),
        "shipped": False,
        "status": run.status,
        "tags": notes.tags if mine else (),
        "note": notes.note if mine else "",
        "active": active,
        "can_stop": active and mine,
        "can_resume": run.status in ("stopped", "failed") and mine and state.settings.limits.training,
        "can_push": saved and mine and may_publish(state),
        "saved": saved,
        "mine": mine,
        "deleted_at": deleted_at(run, state.settings.limits),
        "said": _where_its_model_is(state, run_id, active) if saved else "",
        "results": str(results.report_version(folder)) if tuned else "",
        "charts": _CHARTS.get(objective, ()),
        "gained": mine and bool(_gained(folder)),
    }


def _where_its_model_is(state: AppState, run_id: str, active: bool) -> str:
    name, path = state.runs.name(run_id), model_path(state, run_id)
    if active:
        return f"The newest checkpoint of {name} can be opened in Explore; it is updated during training."
    return f"The model of {name} can be opened in Explore.{f' It is in {path}.' if path else ''}"


def curves(state: AppState, run_id: Word) -> Payload:
    """Return the payload of the curves: a run is followed, the log of a shipped model is replayed."""
    if run_id not in state.models.shipped():
        config, objective = state.runs.config(run_id), state.summary(run_id).objective
        references = references_for(config) if isinstance(config, PretrainConfig) else None
        return live_payload(run_id, state.runs.name(run_id), objective=objective, references=references)
    rows = state.log_of(run_id)
    if not rows:
        raise InputError(f"{run_id} comes without a log of its training.")
    accuracy = card_score(state.settings.checkpoints / run_id, "mlm_accuracy")
    result = f"Held-out MLM accuracy: {accuracy:.1%} (model card)." if accuracy else ""
    return replay_payload(rows, f"How {run_id}, which comes with the lab, was trained", result=result)


def use(state: AppState, run_id: Word) -> str:
    """Return the lines of Python that use the model of a run, and the commands that export it and train it on."""
    from bertviz_lab.training.checkpoints.model_card import onnx_command, python_use  # torch takes seconds

    checkpoint = state.models.open(run_id)
    task = re.search(r"^pipeline_tag: *(\S+)", checkpoint.card, flags=re.MULTILINE)
    name = run_id if run_id in state.models.shipped() else state.runs.name(run_id)
    folder = model_path(state, run_id) or name  # of the download, unpacked
    lines = python_use(task[1] if task else "feature-extraction", folder)
    go_on = f"bertviz-lab pretrain --init-from {shlex.quote(folder)} --corpus FILE --out FOLDER"
    if not task or task[1] != "fill-mask":
        go_on = f"bertviz-lab finetune --model {shlex.quote(folder)} --train FILE --out FOLDER"
    return f"{lines}\n\n# In a terminal: write it as ONNX, or train it further\n{onnx_command(folder)}\n{go_on}"


def probes(state: AppState, run_id: Word) -> Payload | None:
    """Return the minimal-pair probes of a run; None where it was not asked any."""
    return learning_payload(state.log_of(run_id))


def gained(state: AppState, visitor: Visitor, run_id: Word) -> Payload:
    """Return the pieces that the vocabulary of a run has gained: words of its owner's text."""
    pieces = _gained(state.runs.folder(run_id)) if state.models.owns(visitor, run_id) else []
    if not pieces:
        raise InputError("The vocabulary of this run has no words added to it.")
    return gained_payload(pieces)


def _gained(folder: Path) -> list[NewPiece]:
    rows = read_object(folder / "report.json").get("added_vocabulary", [])
    return [NewPiece(row["piece"], tuple(row["parts"]), row["count"]) for row in rows]


def follow(
    state: AppState, visitor: Visitor, run_id: Word, start: Annotated[int, Field(ge=0, lt=2**63)]
) -> dict[str, Any] | None:
    """Return a run's events after `start` bytes of its log, and its state; None for a run that is gone."""
    try:
        rows, end = state.runs.events(run_id, start)
        run = state.runs.state(run_id)
    except (InputError, ValueError):
        return None
    for row in rows:
        row.pop("path", None)  # a folder of this machine
        if row.get("message"):
            row["message"] = message_for(state, visitor, run_id, row["message"])
        if row.get("notes") and not state.models.owns(visitor, run_id):
            row["notes"] = ()
    message = message_for(state, visitor, run_id, run.message)
    return {"rows": rows, "next": end, "state": {"status": run.status, "message": message}}


def settings(state: AppState, visitor: Visitor, run_id: Word) -> str:
    """Return the settings of a run; nobody else learns what its owner's files are like."""
    if run_id in state.models.shipped():
        raise InputError("The recipe of a shipped model is on its model card.")
    config = state.runs.config(run_id)
    untold = {*_UNTOLD, *_overridden(config), *(() if state.models.owns(visitor, run_id) else _OWNERS)}
    shown = {f.metadata["label"]: getattr(config, f.name) for f in dataclasses.fields(config) if f.name not in untold}
    return facts_payload(
        (label, setting_words(state, value)) for label, value in shown.items() if value not in (None, "", ())
    )


def publish(state: AppState, visitor: Visitor, run_id: Word, repo: Word, public: bool, dry_run: bool) -> Payload:
    """Send the newest model of a run to the hub, or in a dry run list its files. Raises `InputError`.

    The token is this machine's: the page neither asks for it nor shows it.
    """
    from bertviz_lab.training.checkpoints.hub_upload import push_to_hub

    state.models.require_owner(visitor, run_id, "can publish its model")
    if not may_publish(state):
        raise InputError("This page sends nothing to the hub: download the model, and use bertviz-lab push.")
    model = checkpoints.load_checkpoint(state.models.locate(run_id)[0])
    return publication_payload(push_to_hub(model, repo.strip(), private=not public, dry_run=dry_run))


def _overridden(config: RunConfig) -> Iterable[str]:
    """Return the settings of a new model that the model which a run starts from overrides."""
    if isinstance(config, FinetuneConfig):
        is_new = config.model == RANDOM
        return () if is_new else [f.name for f in options_of(FinetuneConfig) if f.metadata["group"] == _NEW_MODEL]
    assert isinstance(config, PretrainConfig)
    return INHERITED if config.init_from else INHERITED_FROM_TEACHER if config.teacher else ()


def setting_words(state: AppState, value: Any) -> str:
    """Return a setting's value for people; a model to start from by its name."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str) and Path(value).is_absolute():  # a model to start from: its folder is nobody's business
        parent = Path(value).parent.name
        return state.runs.name(parent) if state.models.is_run(parent) else Path(value).name
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


QUESTIONS = questions(current, about, curves, use, probes, gained, follow, settings, slow=[publish]) | questions(
    *(results.summary, results.trials, results.confusion, results.examples, results.table, results.labels),
    *(results.calibration, results.slices, results.texts),
    slow=[results.attribution, results.attention],
    arrays=[results.attention],
)
