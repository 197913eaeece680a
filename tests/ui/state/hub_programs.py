"""Programs that use a page's `state`, each in a process of its own in which everything is imported already.

The library of the hub reads its settings once, as it is imported: this process is started with those of the tests
(`python -m tests.ui.state.hub_programs`), and each program runs in a copy of it. A line of standard input is a program
as JSON, {folder, code, shared, limits}; a line of the output is what came of it, {lines, error}.
"""

# ruff: noqa: T201 (what is printed is the answer)

import contextlib
import io
import json
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import huggingface_hub  # noqa: F401 (read here, before there are copies)

from bertviz_lab.config.limits import Limits
from bertviz_lab.errors import InputError
from bertviz_lab.training.checkpoints.checkpoint import load_checkpoint  # noqa: F401 (reads torch)
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views.explore.view import QUESTIONS

MODELS = {"SMALL": "somebody/small", "LARGER": "somebody/larger", "THIRD": "somebody/third"}


def tell(function: Callable[[str], Any], model: str) -> None:
    """Print what comes of a model: "done" with its name, or the error."""
    try:
        result = function(model)
        print("done", getattr(result, "name", ""))
    except InputError as error:
        print(type(error).__name__, error)


def run(folder: str, code: str, shared: bool, limits: dict[str, str]) -> None:
    """Run a program with `state`, `tell(function, model)` and `ask(question, **arguments)`."""
    here = Path(folder)
    given = Limits.of(shared=shared, given={"hub": "open"} | limits)
    state = AppState(Settings(runs_dir=here / "runs", checkpoints=here / "checkpoints", limits=given))

    def ask(name: str, **arguments: Any) -> Any:
        return QUESTIONS[name].ask(state, arguments)

    exec(code, {"state": state, "tell": tell, "ask": ask, "json": json, **MODELS})


def answer(program: dict[str, Any]) -> None:
    """Run a program, and print what came of it."""
    printed, error = io.StringIO(), ""
    try:
        with contextlib.redirect_stdout(printed):
            run(**program)
    except BaseException:
        error = traceback.format_exc()
    print(json.dumps({"lines": printed.getvalue().splitlines(), "error": error}), flush=True)


if __name__ == "__main__":
    for line in sys.stdin:
        copy = os.fork()
        if not copy:
            answer(json.loads(line))
            os._exit(0)
        _, status = os.waitpid(copy, 0)
        if status:
            print(json.dumps({"lines": [], "error": f"the process ended with {status}"}), flush=True)
