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
from typing import Any, Literal

from bertviz_lab.config.options import parse_duration
from bertviz_lab.errors import InputError

KILOBYTE, MEGABYTE, GIGABYTE = 10**3, 10**6, 10**9
HOUR, DAY = 3600.0, 86_400.0

Kind = Literal["count", "bytes", "seconds", "hub"]

#: Ids and owners on the hub that a shared page may download from, unless its owner names others.
KNOWN_MODELS = "google/*, google-bert/*, prajjwal1/bert-*, sentence-transformers/*, bert-base-*, bert-large-*"


def _limit(
    local: Any, shared: Any, kind: Kind, help: str, reason: str, *, option: bool = False, least: float | None = None
) -> Any:
    """A limit; `option` makes it one of the command line, too, and `least` allows that value."""
    meta = {"local": local, "shared": shared, "kind": kind, "help": help, "reason": reason}
    return dataclasses.field(default=local, metadata=meta | {"option": option, "least": least})


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
    visitors: int = _limit(
        200, 200, "count", "browsers at a time", "the server keeps the state of each, and as many questions wait"
    )
    session_seconds: float = _limit(
        7 * DAY, 12 * HOUR, "seconds", "time after which a visitor has to log in again", "a day at a shared machine"
    )
    upload_bytes: int = _limit(
        500 * MEGABYTE,
        50 * MEGABYTE,
        "bytes",
        "size of one uploaded file",
        "a book has 1 MB, Wikipedia's 50 MB train for hours",
        option=True,
    )
    upload_space: int = _limit(
        20 * GIGABYTE,
        2 * GIGABYTE,
        "bytes",
        "disk for the uploads of all visitors",
        "40 files of the largest size; they are deleted after an hour",
    )

    # ---- questions
    question_gflops: int = _limit(
        200_000,
        1_000,
        "count",
        "billions of floating-point operations of one question",
        "a long question keeps a place that others wait for",
    )
    worker_bytes: int = _limit(
        6 * GIGABYTE,
        2 * GIGABYTE,
        "bytes",
        "memory of a process that reads a visitor's file",
        "two such processes run at a time next to the page",
    )
    worker_seconds: float = _limit(
        600.0,
        60.0,
        "seconds",
        "CPU time of a process that reads a visitor's file",
        "two workers read the files of all visitors",
    )

    # ---- models
    hub: str = _limit(
        "open",
        KNOWN_MODELS,
        "hub",
        "models of the Hugging Face hub: off, open, or ids with * for any text",
        "a stranger's model is a stranger's file",
        option=True,
    )
    hub_space: int = _limit(
        100 * GIGABYTE,
        10 * GIGABYTE,
        "bytes",
        "disk for models that the page downloads; the oldest go first",
        "ten models of the largest size",
    )
    model_bytes: int = _limit(
        4 * GIGABYTE, GIGABYTE, "bytes", "weights of a model that may be opened", "bert-base has 440 MB"
    )

    # ---- training runs
    runs_per_visitor: int = _limit(
        200,
        3,
        "count",
        "runs of one visitor that train or wait; 0 turns training off",
        "one to watch, two to compare with",
        option=True,
        least=0,
    )
    run_seconds: float = _limit(
        30 * DAY, HOUR, "seconds", "time budget of one run", "others wait for its place", option=True
    )
    run_parameters: int = _limit(
        2_000_000_000,
        30_000_000,
        "count",
        "parameters of a model that is trained",
        "admits the preset small with BERT's vocabulary, not medium",
        option=True,
    )
    run_bytes: int = _limit(
        1_000 * GIGABYTE,
        8 * GIGABYTE,
        "bytes",
        "memory of the process of one run",
        "a free Space has 16 GB, of which the page needs its part",
    )
    runs_space: int = _limit(
        10_000 * GIGABYTE,
        20 * GIGABYTE,
        "bytes",
        "disk for all runs; ended ones of the largest share go first",
        "a free Space has a disk of 50 GB",
    )
    run_age: float = _limit(
        3650 * DAY, 7 * DAY, "seconds", "age at which an ended run is deleted", "a course comes back after a week"
    )

    # ---- what follows

    @property
    def upload_seconds(self) -> float:
        """The age at which an upload is deleted."""
        return HOUR

    @property
    def request_bytes(self) -> int:
        """The size of a request that is no upload: twenty times the longest text that is answered."""
        return MEGABYTE

    @property
    def questions_waiting(self) -> int:
        """The questions of one visitor that may wait: on a shared page as many as there are panels."""
        return 8 if self.shared else 64

    @property
    def waiting_in_all(self) -> int:
        """The questions of all visitors that may wait."""
        return self.visitors

    @property
    def question(self) -> QuestionLimits:
        """What one question about a model may take; the memory is that of its attention."""
        return QuestionLimits(512 if self.shared else 2048, self.worker_bytes / 2, 1e9 * self.question_gflops)

    @property
    def predicted_texts(self) -> int:
        """The texts of a file in batch inference, of 10 kB each at the most."""
        return self.upload_bytes // (10 * KILOBYTE)

    @property
    def labelled_bytes(self) -> int:
        """The text in a visitor's labeled files, unpacked."""
        return 2 * self.upload_bytes

    @property
    def results_bytes(self) -> int:
        """The predictions of a run that are read to be shown."""
        return self.upload_bytes

    @property
    def open_model_bytes(self) -> int:
        """The weights of all models that are kept open."""
        return max(self.model_bytes, 2 * GIGABYTE)

    @property
    def training(self) -> bool:
        """Whether visitors may train."""
        return self.runs_per_visitor > 0

    @property
    def runs_per_address(self) -> int:
        """The runs of one network address that train or wait: a classroom may be behind it."""
        return 10 * self.runs_per_visitor if self.shared else self.runs_waiting

    @property
    def runs_waiting(self) -> int:
        """The runs of all visitors that wait: one in five visitors has one."""
        return max(1, self.visitors // 5) if self.shared else self.visitors

    @property
    def run_steps(self) -> int:
        """The steps of one run: ten for each second of its time budget."""
        return int(10 * self.run_seconds)

    @property
    def run_examples(self) -> int:
        """The labelled examples over all epochs of one run: 500 for each second of its time budget."""
        return int(500 * self.run_seconds)

    def __post_init__(self) -> None:
        for field in limit_fields():
            value, kind, least = getattr(self, field.name), field.metadata["kind"], field.metadata["least"]
            if kind != "hub" and not (value > 0 or value == least):
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
    """All limits; the metadata of each has `local`, `shared`, `kind`, `help`, `reason` and `option`."""
    return [field for field in dataclasses.fields(Limits) if field.metadata]


def flag_of(name: str) -> str:
    """The option of `bertviz-lab app` that sets a common limit."""
    return "--" + name.replace("_", "-")


def variable_of(name: str) -> str:
    """The environment variable that sets a limit."""
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
    """The ids in the limit `hub`."""
    return [name for name in re.split(r"[\s,]+", hub) if name]


def words_of(kind: Kind, value: Any) -> str:
    """A limit as people read it: "50 MB", "1 h", "20,000"."""
    if kind == "bytes":
        for unit, size in (("GB", GIGABYTE), ("MB", MEGABYTE), ("kB", KILOBYTE)):
            if value >= size:
                return f"{value / size:,.10g} {unit}"
        return f"{value} bytes"
    if kind == "seconds":
        for unit, seconds in (("days", DAY), ("h", HOUR), ("min", 60.0)):
            if value >= seconds:
                return f"{value / seconds:,.10g} {unit}"
        return f"{value:.3g} s"
    return f"{value:,}" if kind == "count" else str(value)


_HUB_NAME = re.compile(r"[\w.*-]+(/[\w.*-]+)?")
_SIZE = re.compile(r"([\d.]+)\s*(k|m|g)?b?", re.IGNORECASE)


def _read(name: str, kind: Kind, text: str) -> Any:
    """A limit from what an owner wrote. Raises `InputError` naming the limit."""
    stripped = text.strip()
    if kind == "hub":
        return stripped.lower() if stripped.lower() in ("off", "open") else stripped
    if kind == "seconds":
        try:
            return parse_duration(stripped)
        except InputError as error:
            raise InputError(f"{name}: {error}") from None
    if kind == "bytes":
        match = _SIZE.fullmatch(stripped)
        if not match:
            raise InputError(f"{name} must be a size such as 50MB or 2GB, not {text!r}.")
        unit = {"k": KILOBYTE, "m": MEGABYTE, "g": GIGABYTE}.get((match[2] or "").lower(), 1)
        try:
            return int(float(match[1]) * unit)
        except ValueError:
            raise InputError(f"{name} must be a size such as 50MB or 2GB, not {text!r}.") from None
    if not stripped.replace("_", "").replace(",", "").isdecimal():
        raise InputError(f"{name} must be a whole number, not {text!r}.")
    return int(stripped.replace("_", "").replace(",", ""))
