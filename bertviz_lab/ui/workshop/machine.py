"""What `bertviz-lab doctor` checks before a workshop: whether this machine can carry the page, and for how many.

Each check is measured here and now; a failed one says what to do. Nothing is downloaded and nothing is kept.
"""

import importlib.metadata
import os
import platform
import shutil
import socket
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psutil

from bertviz_lab.config import SHIPPED, BertConfig, PretrainConfig, shipped_models
from bertviz_lab.config.cores import available_cores
from bertviz_lab.data.corpora.reading_notes import pluralized
from bertviz_lab.errors import InputError
from bertviz_lab.ui.lazy import checkpoints, interpret
from bertviz_lab.ui.settings import LOCAL_HOSTS

Outcome = Literal["ok", "warning", "failed"]

_GIGABYTE = 10**9
_PAGE_BYTES = 1.5 * _GIGABYTE  # of memory: the page with the shipped models open
_RUN_BYTES = 1.5 * _GIGABYTE  # of memory: a training run of the default size
_VISITOR_BYTES = 10**7  # of memory: what the server keeps for a browser
_RUN_DISK = 2 * 10**8  # a run of the default size with its checkpoints
#: Seconds in which a sentence with a masked token should be answered; a room notices more.
_QUICK = 0.2
_PACKAGES = ("torch", "transformers", "tokenizers", "gradio", "plotly", "accelerate")


@dataclass(frozen=True)
class Check:
    """The outcome of one check."""

    name: str
    outcome: Outcome
    sentence: str


def examine_machine(host: str, port: int, runs_dir: Path, *, visitors: int, serving: bool = False) -> Iterator[Check]:
    """Yield all checks, each as soon as it is done. Raises `InputError` for numbers that cannot be.

    `host`, `port` and `runs_dir` are those of `bertviz-lab app`, `visitors` the people who will use the page at a time.
    Where a page is `serving` already, its port is not checked.
    """
    if not (1 <= visitors <= 10_000 and 1 <= port <= 65_535):
        raise InputError("--visitors must lie between 1 and 10,000, and --port between 1 and 65,535.")
    yield _packages()
    yield _cores(visitors)
    yield _memory(visitors)
    yield _disk(runs_dir, visitors)
    yield _temporary()
    if not serving:
        yield _port(host, port)
    yield _address(host, port)
    yield _models()
    yield _speed()
    yield _training()
    yield _browser()


def summary_of(checks: Sequence[Check]) -> tuple[bool, str]:
    """Return whether the machine is ready, and a sentence."""
    counts = Counter(check.outcome for check in checks)
    if counts["failed"] or counts["warning"]:
        return not counts["failed"], f"{counts['failed']} failed, {counts['warning']} warnings."
    return True, "This machine is ready."


def _packages() -> Check:
    missing, there = [], []
    for name in _PACKAGES:
        try:
            there.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            missing.append(name)
    if missing:
        return Check("Packages", "failed", f"{', '.join(missing)} not installed: pip install -r requirements.txt.")
    system = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    return Check("Packages", "ok", f"{system}, {', '.join(there)}.")


def _cores(visitors: int) -> Check:
    cores = available_cores()
    busy = psutil.cpu_percent(interval=0.5) / 100 * (psutil.cpu_count() or 1)
    runs = pluralized(max(1, cores // 2), "training run<s>")
    sentence = f"{pluralized(cores, 'core<s>')}, {busy:.1f} of them busy now; {runs} at a time."
    if busy > 0.5 * cores:
        return Check("Cores", "warning", f"{sentence} Stop what else is running.")
    if visitors > 20 * cores:
        return Check("Cores", "warning", f"{sentence} For {visitors} people plan runs in pairs or groups.")
    return Check("Cores", "ok", sentence)


def _memory(visitors: int) -> Check:
    from bertviz_lab.training.loop.memory import available_memory

    free, wanted = available_memory(), _PAGE_BYTES + _RUN_BYTES + visitors * _VISITOR_BYTES
    sentence = f"{free / _GIGABYTE:.1f} GB free; about {wanted / _GIGABYTE:.1f} GB for {visitors} visitors and one run."
    return Check("Memory", "ok" if free > wanted else "failed", sentence)


def _disk(runs_dir: Path, visitors: int) -> Check:
    folder = runs_dir.resolve()
    while not folder.is_dir():
        folder = folder.parent
    free, wanted = shutil.disk_usage(folder).free, visitors * _RUN_DISK
    sentence = (
        f"{free / _GIGABYTE:.1f} GB free at {runs_dir}; a run for each of {visitors} takes {wanted / _GIGABYTE:.1f} GB."
    )
    if not os.access(folder, os.W_OK):
        return Check("Disk", "failed", f"{runs_dir} cannot be written: choose another --runs-dir.")
    return Check("Disk", "ok" if free > wanted else "warning", sentence)


def _temporary() -> Check:
    try:
        with tempfile.TemporaryFile() as file:
            file.write(b"0" * 10**6)
    except OSError as error:
        return Check("Temporary files", "failed", f"{tempfile.gettempdir()} cannot be written: {error.strerror}.")
    return Check("Temporary files", "ok", f"Uploads go to {tempfile.gettempdir()}.")


def _port(host: str, port: int) -> Check:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError as error:
            return Check("Port", "failed", f"Port {port} at {host} cannot be used ({error.strerror}): choose another.")
    return Check("Port", "ok", f"Port {port} at {host} is free.")


def addresses_of_machine() -> list[str]:
    """Return the IPv4 addresses under which other machines may reach this one, the likeliest first."""
    found = [
        address.address
        for name, addresses in psutil.net_if_addrs().items()
        for address in addresses
        if address.family == socket.AF_INET
        and not address.address.startswith(("127.", "169.254."))
        and not name.startswith(("docker", "br-", "veth", "virbr"))
    ]
    return sorted(found, key=lambda text: not text.startswith(("192.168.", "10.", "172.")))


def _address(host: str, port: int) -> Check:
    if host in LOCAL_HOSTS:
        return Check("Address", "warning", f"{host} is for this machine alone; --host 0.0.0.0 admits a network.")
    found = addresses_of_machine()
    if not found:
        return Check("Address", "failed", "This machine has no network address: join the network of the room.")
    shown = ", ".join(f"http://{address}:{port}" for address in found)
    return Check("Address", "ok", f"Participants open {shown}. Try it from one of their machines: firewalls differ.")


def _models() -> Check:
    names = shipped_models()
    if not names:
        return Check("Models", "failed", f"No model lies in {SHIPPED}: install the package again.")
    try:
        for name in names:
            checkpoints.load_checkpoint(name)
    except InputError as error:
        return Check("Models", "failed", str(error))
    return Check("Models", "ok", f"{', '.join(names)} open without a network.")


def _speed() -> Check:
    name, seconds = next(iter(shipped_models()), ""), []
    try:
        checkpoint = checkpoints.load_checkpoint(name)
        for _ in range(6):
            start = time.perf_counter()
            interpret.fill_mask(checkpoint, "The capital of France is [MASK] .", 5)
            seconds.append(time.perf_counter() - start)
    except InputError as error:
        return Check("Answers", "failed", str(error))
    typical = sorted(seconds[1:])[2]
    sentence = f"{name} fills a masked token in {1000 * typical:.0f} ms."
    return Check("Answers", "ok" if typical < _QUICK else "warning", sentence)


def _training() -> Check:
    from bertviz_lab.training.loop.clock import tokens_per_second

    config = PretrainConfig(corpus=("a text",), preset="tiny")
    speed = tokens_per_second(BertConfig.preset("tiny", vocab_size=8192), config)
    million = 60 * speed / 1e6
    sentence = f"The tiny preset trains at about {speed:,.0f} tokens a second: {million:.1f} million in a minute."
    return Check("Training", "ok" if speed > 5000 else "warning", sentence)


def _browser() -> Check:
    names = ("chromium", "google-chrome", "chrome", "firefox", "microsoft-edge", "safari")
    there = [name for name in names if shutil.which(name)]
    if sys.platform == "darwin" and Path("/Applications/Safari.app").exists():
        there.append("safari")
    if there or sys.platform == "win32":
        return Check("Browser", "ok", f"{there[0] if there else 'A browser'} can show the page on this machine.")
    advice = "No browser here; participants need a current Firefox, Chromium, Edge or Safari."
    return Check("Browser", "warning", advice)
