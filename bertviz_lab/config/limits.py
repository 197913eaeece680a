"""What visitors may use of the machine: one declaration feeds the command line, the environment, the page and the docs.

Two modes: *local*, a person at their own machine, and *shared*, a workshop or a Space that strangers reach. Each has
its defaults. The owner changes the common ones by an option of `bertviz-lab app`, and any of them by a file
(`--limits limits.toml`) or an environment variable. What follows from another limit is a property, not an option.
"""

import dataclasses
import difflib
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from bertviz_lab.config.options import parse_duration
from bertviz_lab.errors import InputError

KILOBYTE, MEGABYTE, GIGABYTE = 10**3, 10**6, 10**9
HOUR, DAY = 3600.0, 86_400.0

Kind = Literal["count", "bytes", "seconds", "hub"]

#: Ids and owners on the hub that a shared page may download from, unless its owner names others.
KNOWN_MODELS = "google/*, google-bert/*, prajjwal1/bert-*, sentence-transformers/*, bert-base-*, bert-large-*"


def _limit(local: Any, shared: Any, kind: Kind, help: str, *, option: bool = False) -> Any:
    """Return a limit; `option` makes it one of the command line, too."""
    meta = {"local": local, "shared": shared, "kind": kind, "help": help, "option": option}
    return dataclasses.field(default=local, metadata=meta)


@dataclass(frozen=True)
class QuestionLimits:
    """What one question about a model may take; without numbers, whatever it needs."""

    tokens: float = math.inf
    memory_bytes: float = math.inf
    operations: float = math.inf  # multiplications and additions


@dataclass(frozen=True)
class Limits:
    """The limits of one page. Raises `InputError` for a value that cannot work."""

    shared: bool = False  # the mode: strangers can reach the page

    # ---- requests and visitors
    visitors: int = _limit(200, 200, "count", "browsers at a time")
    session_seconds: float = _limit(7 * DAY, 12 * HOUR, "seconds", "time after which a visitor has to log in again")
    upload_bytes: int = _limit(500 * MEGABYTE, 50 * MEGABYTE, "bytes", "size of one uploaded file", option=True)
    upload_space: int = _limit(20 * GIGABYTE, 2 * GIGABYTE, "bytes", "disk for the uploads of all visitors")
    upload_seconds: ClassVar[float] = HOUR  # age at which an upload is deleted
    request_bytes: ClassVar[int] = MEGABYTE  # of a request that is no upload

    # ---- questions
    question_gflops: int = _limit(200_000, 1_000, "count", "billions of floating-point operations of one question")
    worker_bytes: int = _limit(6 * GIGABYTE, 2 * GIGABYTE, "bytes", "memory of a process that reads a visitor's file")
    worker_seconds: float = _limit(600.0, 60.0, "seconds", "CPU time of a process that reads a visitor's file")

    # ---- models
    hub: str = _limit(
        "open", KNOWN_MODELS, "hub", "Hugging Face models: off, open, or ids with * for any text", option=True
    )
    hub_space: int = _limit(100 * GIGABYTE, 10 * GIGABYTE, "bytes", "disk for downloaded models; the oldest go first")
    model_bytes: int = _limit(4 * GIGABYTE, GIGABYTE, "bytes", "weights of a model that may be opened")

    # ---- training runs
    runs_per_visitor: int = _limit(200, 3, "count", "runs of a visitor that train or wait; 0: no training", option=True)
    run_seconds: float = _limit(30 * DAY, HOUR, "seconds", "time budget of one run", option=True)
    run_parameters: int = _limit(2 * 10**9, 30 * 10**6, "count", "parameters of a model that is trained", option=True)
    run_bytes: int = _limit(1_000 * GIGABYTE, 8 * GIGABYTE, "bytes", "memory of the process of one run")
    runs_space: int = _limit(
        10_000 * GIGABYTE, 20 * GIGABYTE, "bytes", "disk for all runs; the largest share goes first"
    )
    run_age: float = _limit(3650 * DAY, 7 * DAY, "seconds", "age at which an ended run is deleted")

    # ---- what follows

    @property
    def questions_waiting(self) -> int:
        """Return the questions of one visitor that may wait: on a shared page as many as there are panels."""
        return 8 if self.shared else 64

    @property
    def question(self) -> QuestionLimits:
        """Return what one question about a model may take; the memory is that of its attention."""
        return QuestionLimits(512 if self.shared else 2048, self.worker_bytes / 2, 1e9 * self.question_gflops)

    @property
    def predicted_texts(self) -> int:
        """Return the texts of a file in batch inference, of 10 kB each at the most."""
        return self.upload_bytes // (10 * KILOBYTE)

    @property
    def labelled_bytes(self) -> int:
        """Return the text in a visitor's labeled files, unpacked."""
        return 2 * self.upload_bytes

    @property
    def open_model_bytes(self) -> int:
        """Return the weights of all models that are kept open."""
        return max(self.model_bytes, 2 * GIGABYTE)

    @property
    def training(self) -> bool:
        """Return whether visitors may train."""
        return self.runs_per_visitor > 0

    @property
    def runs_per_address(self) -> int:
        """Return the runs of one network address that train or wait: a classroom may be behind it."""
        return 10 * self.runs_per_visitor if self.shared else self.runs_waiting

    @property
    def runs_waiting(self) -> int:
        """Return the runs of all visitors that wait: one in five visitors has one."""
        return max(1, self.visitors // 5) if self.shared else self.visitors

    @property
    def run_steps(self) -> int:
        """Return the steps of one run: ten for each second of its time budget."""
        return int(10 * self.run_seconds)

    @property
    def run_examples(self) -> int:
        """Return the labelled examples over all epochs of one run: 500 for each second of its time budget."""
        return int(500 * self.run_seconds)

    def __post_init__(self) -> None:
        for field in limit_fields():
            value, kind = getattr(self, field.name), field.metadata["kind"]
            if kind != "hub" and not (value > 0 or (value == 0 and field.name == "runs_per_visitor")):
                raise InputError(f"{field.name} must be above 0, not {value}.")
            if kind == "hub" and not all(_HUB_NAME.fullmatch(name) for name in hub_names(value)):
                raise InputError(f"{field.name} must be off, open, or ids such as google/*, not {value!r}.")

    @classmethod
    def of(
        cls, *, shared: bool, given: Mapping[str, str] | None = None, environment: Mapping[str, str] | None = None
    ) -> "Limits":
        """Return the limits of a mode with what the owner changed: `given` counts more than the environment.

        Both hold texts: `given` by the name of the limit, `environment` by the name of its variable.
        """
        values: dict[str, Any] = {}
        for field in limit_fields():
            text = (given or {}).get(field.name) or (environment or {}).get(variable_of(field.name))
            default = field.metadata["shared" if shared else "local"]
            values[field.name] = _read(field.name, field.metadata["kind"], text) if text else default
        return cls(shared, **values)


def limit_fields() -> list[dataclasses.Field[Any]]:
    """Return all limits; the metadata of each has `local`, `shared`, `kind`, `help` and `option`."""
    return [field for field in dataclasses.fields(Limits) if field.metadata]


def variable_of(name: str) -> str:
    """Return the environment variable that sets a limit."""
    return "BERTVIZ_LAB_" + name.upper()


def read_limits_file(path: Path) -> dict[str, str]:
    """Return the limits in a TOML file, for `Limits.of`. Raises `InputError` for a name that is none."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"--limits: {path} cannot be read: {error}.") from error
    names = [field.name for field in limit_fields()]
    for name in values:
        if name not in names:
            nearest = difflib.get_close_matches(name, names, n=1) or names
            raise InputError(f"--limits: there is no limit {name!r} in {path}; there is for example {nearest[0]}.")
    return {name: str(value) for name, value in values.items()}


def hub_names(hub: str) -> list[str]:
    """Return the ids in the limit `hub`."""
    return [name for name in re.split(r"[\s,]+", hub) if name]


_WORDS: dict[Kind, tuple[tuple[str, float], ...]] = {
    "bytes": (("GB", GIGABYTE), ("MB", MEGABYTE), ("kB", KILOBYTE)),
    "seconds": (("days", DAY), ("h", HOUR), ("min", 60.0)),
}


def words_of(kind: Kind, value: Any) -> str:
    """Return a limit as people read it: "50 MB", "1 h", "20,000"."""
    for unit, size in _WORDS.get(kind, ()):
        if value >= size:
            return f"{value / size:,.10g} {unit}"
    if kind == "seconds":
        return f"{value:.3g} s"
    return f"{value} bytes" if kind == "bytes" else f"{value:,}" if kind == "count" else str(value)


_HUB_NAME = re.compile(r"[\w.*-]+(/[\w.*-]+)?")
_SIZE = re.compile(r"(\d+\.?\d*|\.\d+)\s*([kmg]?)b?", re.IGNORECASE)
_UNITS = {"": 1, "k": KILOBYTE, "m": MEGABYTE, "g": GIGABYTE}


def _read(name: str, kind: Kind, text: str) -> Any:
    """Return a limit from what an owner wrote. Raises `InputError` naming the limit."""
    stripped = text.strip()
    if kind == "hub":
        return stripped.lower() if stripped.lower() in ("off", "open") else stripped
    if kind == "seconds":
        try:
            return parse_duration(stripped)
        except InputError as error:
            raise InputError(f"{name}: {error}") from None
    if kind == "bytes":
        if match := _SIZE.fullmatch(stripped):
            return int(float(match[1]) * _UNITS[match[2].lower()])
        raise InputError(f"{name} must be a size such as 50MB or 2GB, not {text!r}.")
    digits = stripped.replace("_", "").replace(",", "")
    if not digits.isdecimal():
        raise InputError(f"{name} must be a whole number, not {text!r}.")
    return int(digits)
