"""The commands that train a model, `pretrain` and `finetune`, and that show how labeled files are read, `inspect`."""

import argparse
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from bertviz_lab.cli.options import AddCommand, add_notify_options, add_options, given_options
from bertviz_lab.cli.result import INTERRUPTED, Result, notice
from bertviz_lab.config import FinetuneConfig, PretrainConfig, RunConfig
from bertviz_lab.config.finetune import READING, TASKS, require_no_overridden_setting
from bertviz_lab.errors import InputError
from bertviz_lab.metrics.names import NAMES, format_deviation, named_score
from bertviz_lab.strict_json import nan_for_null
from bertviz_lab.training import run_training, stop_on_signals


def add_commands(command: AddCommand) -> None:
    """Add `pretrain` and `finetune`, whose options are the fields of the configs, and `inspect`."""
    commands = {"pretrain": (pretrain_command, PretrainConfig), "finetune": (finetune_command, FinetuneConfig)}
    for name, (run, kind) in commands.items():
        training = command(name, run, model=False)
        training.add_argument("--out", required=True, help="Folder for the run")
        training.add_argument("--resume", action="store_true", help="Resume the run in --out")
        add_options(training, kind)
        add_notify_options(training)
    inspect = command("inspect", inspect_command, model=False)
    inspect.add_argument("files", nargs="+", metavar="FILE", help="Labeled file, folder or zip")
    inspect.add_argument("--task", choices=("auto", *TASKS), default="auto", help="Task (default: auto)")
    add_options(inspect, FinetuneConfig, READING)


def pretrain_command(options: argparse.Namespace) -> Result:
    """Pretrain a BERT from scratch; Ctrl-C saves a checkpoint and stops."""
    return _train(options, PretrainConfig, PretrainConfig.of_recipe)


def finetune_command(options: argparse.Namespace) -> Result:
    """Fine-tune a model on labeled examples: classes, numbers, token labels, answers to questions or embeddings."""
    require_no_overridden_setting(vars(options))
    return _train(options, FinetuneConfig, FinetuneConfig)


def _train(options: argparse.Namespace, kind: type[RunConfig], settings: Callable[..., RunConfig]) -> Result:
    """Start or resume a run; `settings` supplies the defaults."""
    from bertviz_lab.training.checkpoints.checkpoint_manager import latest_checkpoint
    from bertviz_lab.training.loop.hardware import start_accelerator
    from bertviz_lab.training.runs import run_folder
    from bertviz_lab.training.runs.events import Event, RunFinished, final_scores, format_event
    from bertviz_lab.training.runs.notifier import Notifier

    if not options.out:
        raise InputError("--out is empty; name a folder for the run.")
    notifier, folder = Notifier(options.notify, options.notify_command), Path(options.out)
    given = given_options(options, [f.name for f in dataclasses.fields(kind)])
    resume = options.resume and (folder / "config.json").is_file()
    if resume:
        earlier = run_folder.read_config(folder)
        if not isinstance(earlier, kind):
            raise InputError(f"{folder} holds a run of another kind; name another folder.")
        if "time_budget" in given and (steps := getattr(earlier, "steps", None)):
            started = f"{folder} was started with --steps {steps}"
            raise InputError(f"{started}: more --steps extend it, a time budget does not.")
        config = earlier.resumed_with(**given)
    else:
        config = settings(**given)
        if (folder / "events.jsonl").exists() and not run_folder.discard_failed_run(folder):
            raise InputError(f"{folder} holds a run already; add --resume to resume it, or name another folder.")
        if latest_checkpoint(folder) is not None or next(folder.glob("*model*"), None):
            raise InputError(f"{folder} holds a model already, which would be overwritten; name another folder.")
        run_folder.require_no_other_files(folder)
    stop = stop_on_signals()
    finished: RunFinished | None = None
    accelerator = start_accelerator()
    main = accelerator.is_main_process
    events: Iterable[Event] = run_training(config, folder, resume=resume, should_stop=stop.is_set, require_sure=True)
    if main:
        events = notifier.watch(run_folder.record(events, folder), folder)
    for event in events:
        if main and (line := format_event(event)):
            notice(line)
        if isinstance(event, RunFinished):
            finished = event
    assert finished is not None
    accelerator.state.destroy_process_group()
    rows, _ = run_folder.read_log(folder)
    body = {"run": str(folder), **dataclasses.asdict(finished), **final_scores(folder, rows)}
    saved = "\n".join([*_seed_lines(body), f"Your model is in {finished.path}"])
    text = saved if finished.path else "Stopped before the first checkpoint; resume with --resume"
    return Result(body, text, INTERRUPTED if stop.is_set() else 0, silent=not main)


def _seed_lines(results: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line on the scores of several seeds, for each setting and on each split."""
    for split, scored in (("validation", results), ("test", results.get("test"))):
        for family in nan_for_null((scored or {}).get("families") or []):
            spread = {name: format_deviation(name, value) for name, value in family["deviation"].items()}
            scores = [f"{named_score(n, mean)} ± {spread[n]}" for n, mean in family["mean"].items() if n in NAMES]
            setting = f" ({family['name']})" if family["name"] else ""
            yield f"{split}, {family['count']} seeds{setting}, mean ± standard deviation: {', '.join(scores)}"


def inspect_command(options: argparse.Namespace) -> Result:
    """Show how labeled files are read: format, columns, labels, dropped and repaired rows."""
    from bertviz_lab.data.formats.read import read_task
    from bertviz_lab.data.formats.reading import Reading
    from bertviz_lab.training.finetuning.task_data import resolve_file

    files = [resolve_file(name) for name in options.files]
    reading = Reading.of(read_task(files, options.task, **given_options(options, READING)))
    return Result(reading.to_dict(), "\n".join(reading.lines()))
