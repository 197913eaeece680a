"""The entry of the command line: parse, run one command, print its result, return the exit code."""

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Sequence

from bertviz_lab import strict_json
from bertviz_lab.cli import app, evaluation, export, interpretation, training
from bertviz_lab.cli.options import expand_home
from bertviz_lab.cli.result import INTERRUPTED, Result, file_error, notice
from bertviz_lab.errors import InputError

_DESCRIPTION = """Train a small BERT on your own text and look inside it. Progress goes to stderr, results to stdout.

`bertviz-lab app` opens the page; `bertviz-lab fill-mask --model wiki-mini "She won a gold [MASK]."` asks a model that
comes with it.
"""
_BAD_INPUT = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0, 2 for bad input, 130 after Ctrl-C."""
    try:
        return _run(expand_home(command_parser().parse_args(arguments)))
    except InputError as error:
        notice(f"bertviz-lab: {error}")
        return _BAD_INPUT
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # as `bertviz-lab predict ... | head` breaks it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left is not flushed at the exit
        return 0
    except Exception as error:
        if not (sentence := file_error(error)):
            raise
        notice(f"bertviz-lab: {sentence}")
        return _BAD_INPUT


def _run(options: argparse.Namespace) -> int:
    result = options.run(options)
    if isinstance(result, int):
        return result
    for note in result.notes:
        notice(note)
    if not result.silent and (options.json or result.text):
        print(strict_json.dumps(result.body, ensure_ascii=False) if options.json else result.text, flush=True)
    return result.code


def command_parser() -> argparse.ArgumentParser:
    """Return the parser of `bertviz-lab COMMAND`; the chosen command's function is in `run`."""
    parser = argparse.ArgumentParser(prog="bertviz-lab", description=_DESCRIPTION)
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(
        name: str, run: Callable[..., Result | int], *, json: bool = True, model: bool = True
    ) -> argparse.ArgumentParser:
        sub = subparsers.add_parser(name, help=run.__doc__, description=run.__doc__)
        sub.set_defaults(run=run)
        if json:
            sub.add_argument("--json", action="store_true", help="Print one JSON document")
        if model:
            sub.add_argument("--model", required=True, help="Folder, shipped model or hub id")
        return sub

    for group in (training, evaluation, interpretation, export, app):
        group.add_commands(command)
    return parser


def run_and_exit() -> None:
    """Run the command of `sys.argv` and end the process with its exit code."""
    warnings.formatwarning = lambda message, *_, **__: f"Note: {message}\n"  # for people, not for programmers
    code = main()
    if "TORCHELASTIC_RUN_ID" in os.environ:  # under a launcher PyTorch's threads may abort a process at its end
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
