"""What a pretraining and a fine-tuning share: the folder, the processes, and what the run resumes from."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic

from bertviz_lab.training.checkpoints.checkpoint_manager import CheckpointManager, SavedCheckpoint
from bertviz_lab.training.loop.hardware import broadcast_object, choose_hardware, start_accelerator
from bertviz_lab.training.loop.trackers import track
from bertviz_lab.training.loop.training_state import read_training_state
from bertviz_lab.training.runs.events import Event, RunStarted
from bertviz_lab.training.runs.run_folder import ConfigT, require_no_other_files, with_chosen_precision, write_config


class TrainingRun(Generic[ConfigT]):
    """A run in its folder; a subclass has its `events`."""

    def __init__(self, config: ConfigT, folder: str | Path, resume: bool, should_stop: Callable[[], bool]) -> None:
        self.config, self.folder, self.resume, self.should_stop = config, Path(folder), resume, should_stop
        self.accelerator = start_accelerator()
        self.checkpoints = CheckpointManager(self.folder / "checkpoints", config.keep_checkpoints)
        self.saved: SavedCheckpoint | None = None  # that the run resumes from
        self.state: Mapping[str, Any] = {}  # the training state in it

    def events(self) -> Iterator[Event]:
        """Run from the files to the model."""
        raise NotImplementedError

    def tracked_events(self) -> Iterator[Event]:
        """Run, and send the metrics to the tracker of the settings."""
        yield from track(self.events(), self.config, self.folder)

    def open_folder(self, prepared: Path) -> None:
        """Create the folder and write the settings; the main process does this.

        `prepared` marks the data as prepared. A new run removes it, or a later resume would find those of an earlier
        run. Raises `InputError` where files would be overwritten.
        """
        if not self.resume:
            require_no_other_files(self.folder)
            prepared.unlink(missing_ok=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.resume:
            self.config = with_chosen_precision(self.config, self.folder)
        write_config(self.folder, self.config)

    def share(self) -> None:
        """Give all processes the settings and the checkpoint that the main one has found."""
        self.config, self.saved = broadcast_object(self.accelerator, (self.config, self.saved))
        self.state = read_training_state(self.saved.path) if self.saved else {}

    def choose_hardware(self) -> None:
        """Choose device and precision, which a resumed run keeps: in another it would not be the same run."""
        self.hardware = choose_hardware(
            self.state.get("precision", self.config.precision), self.config.threads, self.accelerator
        )
        self.config = replace(self.config, precision=self.hardware.precision)
        if self.hardware.is_main:
            write_config(self.folder, self.config)

    def started(self, **facts: Any) -> RunStarted:
        """Return the event of the start, with further `facts` about the run."""
        device, precision, threads = str(self.hardware.device), self.hardware.precision, self.hardware.threads
        return RunStarted(run=self.folder.name, device=device, precision=precision, threads=threads, **facts)
