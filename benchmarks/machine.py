"""What a result was measured on and with which command, written beside it; tables in Markdown."""

import argparse
import json
import os
import platform
import re
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def machine() -> dict[str, Any]:
    """Processor, cores, Python, torch, date and commit."""
    cpuinfo, told = Path("/proc/cpuinfo"), {}
    if cpuinfo.is_file():
        first, _, _ = cpuinfo.read_text(encoding="utf-8").partition("\n\n")
        told = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in first.splitlines())}
    name = told.get("model name") or platform.processor() or platform.machine()
    if "cpu family" in told:  # generations share a name in virtual machines, and differ twofold in bf16
        name += f", family {told['cpu family']}, model {told['model']}"
    words = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    return {
        "processor": name,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "load_before": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "torch": version("torch"),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "commit": commit.strip(),
    }


def arguments(about: str | None) -> argparse.ArgumentParser:
    """The command line of a measurement that `report` reports, by the first line of its module's docstring."""
    parser = argparse.ArgumentParser(description=(about or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--keep", action="store_true", help="keep the result in benchmarks/results")
    parser.add_argument("--beside", action="store_true", help="with --keep: beside that of another processor")
    return parser


def report(
    name: str, results: dict[str, Any], table: Callable[[dict[str, Any]], str] | None = None, part: str = ""
) -> None:
    """Print a result, as its table unless `--json` is given, and keep it where `--keep` is given.

    `part` tells several results of one name apart, such as those of different models.
    """
    told = [word for word in sys.argv[1:] if word not in ("--keep", "--beside", "--json")]
    told = [Path(word).name if Path(word).is_absolute() else word for word in told]  # its place is one machine's
    command = " ".join([f"python -m benchmarks.{name}", *told])
    body = {"name": name, "command": command, "machine": machine(), **results}
    text = json.dumps(body, indent=2)
    print(text if table is None or "--json" in sys.argv else table(body))
    if "--keep" in sys.argv:
        RESULTS.mkdir(exist_ok=True)
        part = slug(body["machine"]["processor"]) if "--beside" in sys.argv else part
        stem = f"{name}-{part}" if part else name
        (RESULTS / f"{stem}.json").write_text(text + "\n", encoding="utf-8")


def kept_tasks(name: str, model: str, part: str = "") -> dict[str, Any]:
    """The tasks of a result that is kept, to which others are added; none where it is another model's."""
    path = RESULTS / f"{name}-{part}.json" if part else RESULTS / f"{name}.json"
    body = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return body["tasks"] if body.get("model") == model else {}


def slug(processor: str) -> str:
    """A processor's name as files have it."""
    return "-".join(re.findall(r"\w+", processor.lower()))


def peak_memory() -> int:
    """The most memory that this process has had, in bytes, pages of mapped files included."""
    # What `resource` says there begins with the peak of the process that started this one.
    if Path("/proc/self/status").is_file():
        return _peak_of("self")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def run_and_watch(command: Sequence[str]) -> int:
    """Run a command to its end and return the most memory that its process has had, in bytes; on Linux only."""
    process, peak = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL), 0
    while process.poll() is None:
        peak = max(peak, _peak_of(str(process.pid)))
        time.sleep(0.1)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return peak


def run_at_once(commands: Iterable[Sequence[str]]) -> None:
    """Run commands at the same time and wait for all; exits where one fails."""
    processes = [subprocess.Popen(command) for command in commands]
    if any([process.wait() for process in processes]):
        sys.exit("A training failed; its output is above.")


def in_process(benchmark: str, case: Sequence[Any], environment: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Run one `--case` of a benchmark in a process of its own, and return the JSON that it prints."""
    command = [sys.executable, "-m", f"benchmarks.{benchmark}", "--case", json.dumps(case)]
    surroundings = os.environ | (environment or {})
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=surroundings)
    return json.loads(done.stdout.splitlines()[-1])


def _peak_of(process: str) -> int:
    """Return the peak of a process by its number, 0 where it has just ended."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), 0)


def spread(values: Sequence[float]) -> dict[str, float]:
    """The smallest, the middle and the largest of some measurements."""
    return {"min": min(values), "median": statistics.median(values), "max": max(values)}


def mean_and_deviation(shares: Sequence[float]) -> str:
    """Return the mean and, of several, the standard deviation, in percent."""
    mean = f"{100 * statistics.fmean(shares):.1f}"
    return f"{mean} ± {100 * statistics.stdev(shares):.1f}" if len(shares) > 1 else mean


def beside_goals(unit: str, spreads: Mapping[str, Mapping[str, float]], goals: Mapping[str, float]) -> str:
    """Return a table of named spreads (`spread`), each with its goal if it has one."""
    rows = [
        [name, *(f"{at[key]:,.3g}" for key in ("min", "median", "max")), f"{goals[name]:,}" if name in goals else ""]
        for name, at in spreads.items()
    ]
    return markdown([unit, "min", "median", "max", "goal"], rows)


def markdown(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; the first column is text, the others are figures."""
    lines = [list(header), ["---"] + ["---:"] * (len(header) - 1), *([str(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
