"""The command that shows how labeled files are read: `inspect`."""

import argparse

from bertviz_lab.cli.options import AddCommand, add_options, given_options
from bertviz_lab.cli.result import Result
from bertviz_lab.config import FinetuneConfig
from bertviz_lab.config.finetune import READING, TASKS


def add_commands(command: AddCommand) -> None:
    """Add `inspect`."""
    inspect = command("inspect", inspect_command, model=False)
    inspect.add_argument("files", nargs="+", metavar="FILE", help="Labeled file, folder or zip")
    inspect.add_argument("--task", choices=("auto", *TASKS), default="auto", help="Task (default: auto)")
    add_options(inspect, FinetuneConfig, READING)


def inspect_command(options: argparse.Namespace) -> Result:
    """Show how labeled files are read: format, columns, labels, dropped and repaired rows."""
    from bertviz_lab.data.formats.read import read_task
    from bertviz_lab.data.formats.reading import Reading
    from bertviz_lab.training.finetuning.task_data import resolve_file

    files = [resolve_file(name) for name in options.files]
    reading = Reading.of(read_task(files, options.task, **given_options(options, READING)))
    return Result(reading.to_dict(), "\n".join(reading.lines()))
