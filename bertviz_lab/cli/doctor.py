"""The command that checks a machine before a workshop: `doctor`."""

import argparse
import dataclasses
import sys
from pathlib import Path

from bertviz_lab.cli.options import AddCommand
from bertviz_lab.cli.result import Result


def add_commands(command: AddCommand) -> None:
    """Add `doctor`."""
    doctor = command("doctor", doctor_command, model=False)
    doctor.add_argument("--visitors", type=int, default=30, help="People who will use the page at a time (default: 30)")
    doctor.add_argument("--host", default="0.0.0.0", help="Address that the page will listen at (default: 0.0.0.0)")
    doctor.add_argument("--port", type=int, default=7860, help="Port of the page (default: 7860)")
    doctor.add_argument(
        "--runs-dir", type=Path, default=Path("runs"), help="Folder that will hold the runs (default: runs)"
    )


def doctor_command(options: argparse.Namespace) -> Result:
    """Check before a workshop whether this machine can carry the page."""
    from bertviz_lab.ui.workshop.machine import examine_machine, summary_of

    checks = []
    for check in examine_machine(options.host, options.port, options.runs_dir, visitors=options.visitors):
        checks.append(check)
        print(f"{check.outcome:8} {check.name:16} {check.sentence}", file=sys.stderr if options.json else sys.stdout)
    ready, text = summary_of(checks)
    return Result({"ready": ready, "checks": [dataclasses.asdict(check) for check in checks]}, text, int(not ready))
