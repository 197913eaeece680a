"""The models that a visitor can pick, and one place that opens each of them once."""

import contextlib
import dataclasses
import json
import re
import time
from functools import partial
from pathlib import Path

from bertviz_lab.config import shipped_models
from bertviz_lab.confined import Confinement, Workers
from bertviz_lab.errors import InputError
from bertviz_lab.jobs import Runs
from bertviz_lab.jobs.new_run import is_run_id, short_name
from bertviz_lab.tokenization.tokenizer import try_tokenizer
from bertviz_lab.training.checkpoints.checkpoint_manager import latest_checkpoint
from bertviz_lab.training.runs.run_folder import ACTIVE
from bertviz_lab.ui.lazy import Checkpoint, checkpoints, interpret
from bertviz_lab.ui.server.visitors import NOBODY, Visitor
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.state.hub import Hub, NotDownloadedError, refuse_large
from bertviz_lab.ui.state.lru_cache import LruCache

#: In place of the second model's name in a comparison: the same model before training.
BEFORE = "before"
#: Before the name of a model: the same with random weights. `client/explore.js` has it, too.
RANDOMIZED = "random:"
#: What a training starts from unless it goes on with a model.
RANDOM = "random"

_TRIAL_SECONDS = 20.0  # of computing, for a stranger's tokenizer to split texts of the worst shapes
_LONGEST_HUB_ID = 96
_HUB_ID = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)?")
_NO_MODEL = "No model comes with this copy of the lab yet: press Train your own, it takes two minutes."


class Models:
    """Lists, finds and opens models; safe to use from many threads.

    A model is named by a string: the name of one that ships, the id of a run, a folder, or a hub id.
    """

    def __init__(self, settings: Settings, runs: Runs, workers: Workers) -> None:
        self.settings = settings
        self.runs = runs
        self.hub = Hub(settings.limits)
        self._workers = workers
        # By folder and what lies in it. Switching among small models opens none of them again.
        self.opened = LruCache(settings.limits.open_model_bytes, weigh=bytes_of, small_stay=True)

    def shipped(self) -> tuple[str, ...]:
        """Return models that come with the lab, the one that the page begins with first."""
        return shipped_models(self.settings.checkpoints)

    def visible_runs(self, visitor: Visitor) -> tuple[str, ...]:
        """Return runs that a visitor is shown, the newest first: on a shared page those that their browser started."""
        return tuple(id for id in self.runs.ids() if not self.settings.shared or self.has_started(visitor, id))

    def has_started(self, visitor: Visitor, run_id: str) -> bool:
        return visitor.owner != "" and self.runs.visitor(run_id)[1] == visitor.owner

    def owns(self, visitor: Visitor, run_id: str) -> bool:
        """Return whether a visitor may change and download a run, and see what was typed or uploaded for it.

        On a shared page that is the browser that started it. A link to the run shows curves, training dynamics on texts
        that the visitor types, and the model's predictions.
        """
        return self.is_run(run_id) and (not self.settings.shared or self.has_started(visitor, run_id))

    def require_owner(self, visitor: Visitor, run_id: str, what: str) -> None:
        """Raise `InputError` unless the visitor owns a run; `what` is the owner's right, such as "can change it"."""
        self.runs.folder(run_id)
        if not self.owns(visitor, run_id):
            raise InputError(f"This run was started in another browser, which alone {what}.")

    def choices(self, visitor: Visitor) -> list[tuple[str, str]]:
        """Return (name, label) of all that the picker offers: what the visitor trained, then what ships."""
        choices = []
        for run_id in self.visible_runs(visitor):
            state = self.runs.state(run_id)
            step = f", step {state.step:,}" if state.step and state.status != "finished" else ""
            choices.append((run_id, f"{self.runs.name(run_id)} ({state.status}{step})"))
        return choices + [(name, f"{name} (comes with the lab)") for name in self.shipped()]

    def starts(self, visitor: Visitor) -> list[tuple[str, str]]:
        """Return (name, label) of what a training can start from: nothing, what ships, the visitor's ended runs."""
        choices = self.choices(visitor)
        shipped = [choice for choice in choices if not self.is_run(choice[0])]
        trained = [choice for choice in choices if self.is_run(choice[0]) and self._trained(choice[0])]
        return [(RANDOM, "no model (train from scratch)"), *shipped, *trained]

    def start_folder(self, name: str) -> Path:
        """Return the folder of a model to start from, never a typed folder or hub id. Raises `InputError`."""
        if name in self.shipped():
            return self.settings.checkpoints / name
        folder = self._trained(name) if self.is_run(name) else None
        if folder is None:
            raise InputError("The model to start from is not there; choose another one from the list.")
        return folder

    def _trained(self, run_id: str) -> Path | None:
        """Return the model of a run that has ended; one that is under way removes its older checkpoints meanwhile."""
        folder = self.runs.folder(run_id) / "model"
        return folder if _weights(folder) and self.runs.state(run_id).status not in ACTIVE else None

    def default(self) -> str:
        """Return the model to begin with: one that ships, else the newest that everybody may see, else ""."""
        trained = (run_id for run_id in self.visible_runs(NOBODY) if newest_model(self.runs.folder(run_id)))
        return next(iter(self.shipped()), "") or next(trained, "")

    def is_task_model(self, model: str) -> bool:
        """Return whether a model was fine-tuned for a task, by its head. Raises as `locate`."""
        folder, _ = self.locate(model)
        try:
            (architecture, *_) = json.loads((folder / "config.json").read_text(encoding="utf-8"))["architectures"]
        except (OSError, ValueError, KeyError, TypeError):
            return False
        return str(architecture).endswith(("SequenceClassification", "TokenClassification", "QuestionAnswering"))

    def known_folder(self, name: str) -> Path | None:
        """Return the folder of a run or of a shipped model; None for others, such as one that somebody typed."""
        if name in self.shipped():
            return self.settings.checkpoints / name
        return self.runs.folder(name) if self.is_run(name) else None

    def is_run(self, model: str) -> bool:
        try:
            self.runs.folder(model)
        except (InputError, OSError, ValueError):
            return False
        return True

    def locate(self, model: str) -> tuple[Path, str]:
        """Return folder and short name of a model; "" is the default. Raises `InputError` for one that is not there.

        `RANDOMIZED` and a name is the same model with random weights, the control of what is found in it.
        """
        model = model.strip().removeprefix(RANDOMIZED) or self.default()
        if not model:
            raise InputError(_NO_MODEL)
        if model in self.shipped():
            return self.settings.checkpoints / model, model
        if self.is_run(model):
            folder = newest_model(self.runs.folder(model))
            if folder is None:
                active = self.runs.state(model).status in ACTIVE
                reason = "is saved soon after training begins." if active else "was not saved before it ended."
                raise InputError(f"{self.runs.name(model)} has no model yet: the first one {reason}")
            return folder, self.runs.name(model)
        if is_run_id(model):  # a secret, which no hub is told
            raise InputError(f"The run {short_name(model)} is no longer here.")
        return self._locate_elsewhere(model)

    def download(self, model: str) -> None:
        """Download a model of the hub, where the name is that of one. Raises `InputError`."""
        try:
            self.locate(model)
        except NotDownloadedError:
            self.hub.download(model.strip().removeprefix(RANDOMIZED))

    def version(self, model: str) -> str:
        """Return a value that changes when the files behind a name do. Raises as `locate`."""
        folder, _ = self.locate(model)
        return f"{folder} {_signature(folder)} {model.strip().startswith(RANDOMIZED)}"

    def open(self, model: str = "") -> Checkpoint:
        """Return a model, opened once and again only when its files have changed. Raises `InputError`."""
        folder, name = self.locate(model)
        try:
            trained = self.open_folder(folder, name)
            if not model.strip().startswith(RANDOMIZED):
                return trained
            title = f"{name} with random weights"
            return self.opened.get(
                (folder, _signature(folder), RANDOMIZED),
                lambda: dataclasses.replace(interpret.untrained(trained), name=title),
            )
        except InputError:
            if folder.is_dir():
                raise
            return self.open(model)  # the run has saved newer ones meanwhile and removed this one

    def open_folder(self, folder: Path, name: str) -> Checkpoint:
        """Return a model in a folder that the page itself knows of, never one that somebody typed. Raises as `open`."""
        signature, limits = _signature(folder), self.settings.limits

        def load() -> Checkpoint:
            refuse_large(name, sum(path.stat().st_size for path in _weights(folder)), limits.model_bytes)
            if not any(folder.is_relative_to(known) for known in (self.settings.checkpoints, self.runs.root)):
                checkpoints.refuse_foreign(folder)
                self._try_tokenizer(folder)
            self.opened.discard(lambda key: key[0] == folder or not key[0].is_dir())  # older ones, and removed ones
            return dataclasses.replace(_load(folder, limits.model_bytes), name=name, limits=limits.question)

        return self.opened.get((folder, signature), load)

    def open_comparison(self, checkpoint: Checkpoint, name: str) -> Checkpoint:
        """Open the model that is compared with `checkpoint`: one by its name, or `BEFORE`. Raises as `open`."""
        return interpret.untrained(checkpoint) if name in (BEFORE, "") else self.open(name)

    def comparison_version(self, name: str) -> str:
        """Return what changes when the files of the second model do; "" for `BEFORE`, which changes with the first."""
        return "" if name in (BEFORE, "") else self.version(name)

    def _locate_elsewhere(self, model: str) -> tuple[Path, str]:
        """Find a folder or a hub model; on a shared page the hub alone, to reveal no folders."""
        folder = None if self.settings.shared else _typed_folder(model)
        if folder is not None:
            # The folder of a run, or the one above a model, is near enough to be understood.
            inside = None if (folder / "config.json").is_file() and _weights(folder) else newest_model(folder)
            return inside or folder, folder.name
        if len(model) > _LONGEST_HUB_ID or not _HUB_ID.fullmatch(model) or ".." in model:
            known = ", ".join(self.shipped()) or "none yet"
            raise InputError(
                f"There is no model {model[:80]!r}: choose one from the list, or type the id of a BERT on the "
                f"Hugging Face hub{'' if self.settings.shared else ' or a folder'} (with the lab come: {known})."
            )
        return self.hub.folder(model), model

    def _try_tokenizer(self, folder: Path) -> None:
        """Let a confined process use a stranger's tokenizer first. Raises `InputError` where that fails."""
        subject = ("The tokenizer of this model", "load")
        limits = Confinement(self.settings.limits.worker_bytes, _TRIAL_SECONDS, subject=subject)
        try:
            self._workers.run(partial(try_tokenizer, folder), limits)
        except RuntimeError as error:
            raise InputError("The tokenizer of this model cannot be used: it is damaged.") from error


def _typed_folder(model: str) -> Path | None:
    try:
        folder = Path(model).expanduser()
        return folder if folder.is_dir() else None
    except (OSError, ValueError, RuntimeError):  # too long for a path, a null byte, no such home
        return None


def newest_model(run_folder: Path) -> Path | None:
    """Return the newest model that a run has saved, None before the first one."""
    if (run_folder / "examples").is_dir() and _weights(run_folder / "model"):
        return run_folder / "model"  # the best of a fine-tuning, whatever its later trials have saved
    folders = (run_folder / "model", latest_checkpoint(run_folder))
    saved = (folder for folder in folders if folder and _weights(folder))
    return max(saved, key=lambda folder: _signature(folder)[0], default=None)


def saved_at(run_folder: Path) -> int:
    """Return when the newest model of a run was saved, in nanoseconds of Unix time; 0 before the first one."""
    folder = newest_model(run_folder)
    return _signature(folder)[0] if folder else 0


def bytes_of(checkpoint: Checkpoint) -> int:
    """Return the bytes of the weights of an open model."""
    return sum(parameter.nbytes for parameter in checkpoint.model.parameters())


def _weights(folder: Path) -> list[Path]:
    return list(folder.glob("*.safetensors")) or list(folder.glob("pytorch_model*.bin"))


def _signature(folder: Path) -> tuple[int, int]:
    """Return a value that changes whenever a run has saved a new model in the folder."""
    stats = [path.stat() for path in (*_weights(folder), folder / "config.json") if path.is_file()]
    return max((s.st_mtime_ns for s in stats), default=0), sum(s.st_size for s in stats)


def _load(folder: Path, most_bytes: int) -> Checkpoint:
    """Load a folder; a running training may swap it in the middle, so a failure is tried once more."""
    with contextlib.suppress(InputError, OSError):
        return checkpoints.load_checkpoint(folder, most_bytes=most_bytes, quiet=True)
    time.sleep(0.3)
    try:
        return checkpoints.load_checkpoint(folder, most_bytes=most_bytes, quiet=True)
    except OSError as error:
        raise InputError(f"The model could not be read: {error.strerror or error}.") from error
