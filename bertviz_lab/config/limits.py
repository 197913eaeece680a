"""What visitors may use of the machine: one declaration feeds the command line, the environment, the page and the docs.

Two modes: *local*, a person at their own machine, and *shared*, a workshop or a Space that strangers reach. Each has
its defaults; the owner changes any of them by an option of `bertviz-lab app` or by an environment variable.
"""

import dataclasses
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from bertviz_lab.config.options import parse_duration
from bertviz_lab.errors import InputError

KILOBYTE, MEGABYTE, GIGABYTE = 10**3, 10**6, 10**9
HOUR, DAY = 3600.0, 86_400.0

Kind = Literal["count", "bytes", "seconds", "switch", "hub", "names"]

#: Ids and owners on the hub that a shared page may download from, unless its owner names others.
KNOWN_MODELS = (
    "google/*",
    "google-bert/*",
    "prajjwal1/bert-*",
    "sentence-transformers/*",
    "bert-base-*",
    "bert-large-*",
)


def _limit(local: Any, shared: Any, kind: Kind, help: str) -> Any:
    return dataclasses.field(default=local, metadata={"local": local, "shared": shared, "kind": kind, "help": help})


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

    # ---- requests
    upload_bytes: int = _limit(200 * MEGABYTE, 50 * MEGABYTE, "bytes", "size of one uploaded file")
    upload_space: int = _limit(20 * GIGABYTE, 2 * GIGABYTE, "bytes", "disk for the uploads of all visitors")
    upload_seconds: float = _limit(HOUR, HOUR, "seconds", "age at which an upload is deleted")
    request_bytes: int = _limit(2 * MEGABYTE, MEGABYTE, "bytes", "size of a request that is no upload")
    session_seconds: float = _limit(7 * DAY, 12 * HOUR, "seconds", "time after which a visitor has to log in again")
    visitors: int = _limit(200, 200, "count", "browsers that the server keeps the state of at a time")

    # ---- questions
    question_tokens: int = _limit(2048, 512, "count", "tokens of a text that a model is asked about")
    question_bytes: int = _limit(8 * GIGABYTE, GIGABYTE, "bytes", "memory of the attention that a question is about")
    question_gflops: int = _limit(200_000, 1_000, "count", "billions of floating-point operations of one question")
    questions_waiting: int = _limit(64, 8, "count", "questions of one visitor that may wait")
    waiting_in_all: int = _limit(200, 200, "count", "questions of all visitors that may wait")
    predicted_texts: int = _limit(100_000, 5_000, "count", "texts of a file in batch inference")
    labelled_bytes: int = _limit(
        500 * MEGABYTE, 100 * MEGABYTE, "bytes", "text in a visitor's labelled files, unpacked"
    )
    results_bytes: int = _limit(
        500 * MEGABYTE, 50 * MEGABYTE, "bytes", "predictions of a run that are read to be shown"
    )
    worker_bytes: int = _limit(6 * GIGABYTE, 2 * GIGABYTE, "bytes", "memory of a process that reads a visitor's file")
    worker_seconds: float = _limit(600.0, 60.0, "seconds", "CPU time of a process that reads a visitor's file")

    # ---- models
    hub: str = _limit("open", "allowlist", "hub", "models of the Hugging Face hub: off, allowlist or open")
    hub_models: tuple[str, ...] = _limit(KNOWN_MODELS, KNOWN_MODELS, "names", "ids of that list; * is any text")
    hub_space: int = _limit(
        100 * GIGABYTE, 10 * GIGABYTE, "bytes", "disk for models that the page downloads; the oldest go first"
    )
    model_bytes: int = _limit(4 * GIGABYTE, GIGABYTE, "bytes", "weights of a model that may be opened")
    open_model_bytes: int = _limit(4 * GIGABYTE, 2 * GIGABYTE, "bytes", "weights of all models kept open")

    # ---- training runs
    training: bool = _limit(True, True, "switch", "whether visitors may train: on or off")
    runs_per_visitor: int = _limit(200, 3, "count", "runs of one visitor that train or wait")
    runs_waiting: int = _limit(200, 40, "count", "runs of all visitors that wait")
    run_steps: int = _limit(10_000_000, 20_000, "count", "steps of one run")
    run_seconds: float = _limit(30 * DAY, HOUR, "seconds", "time budget of one run")
    run_parameters: int = _limit(2_000_000_000, 30_000_000, "count", "parameters of a model that is trained")
    run_bytes: int = _limit(1_000 * GIGABYTE, 8 * GIGABYTE, "bytes", "memory of the process of one run")
    run_examples: int = _limit(1_000_000_000, 2_000_000, "count", "labelled examples over all epochs of one run")
    runs_space: int = _limit(10_000 * GIGABYTE, 20 * GIGABYTE, "bytes", "disk for all runs; the oldest ended go first")
    run_age: float = _limit(3650 * DAY, 7 * DAY, "seconds", "age at which an ended run is deleted")

    def __post_init__(self) -> None:
        for field in limit_fields():
            value, kind = getattr(self, field.name), field.metadata["kind"]
            if kind in ("count", "bytes", "seconds") and not value > 0:
                raise InputError(f"{flag_of(field.name)} must be above 0, not {value}.")
            if kind == "hub" and value not in ("off", "allowlist", "open"):
                raise InputError(f"{flag_of(field.name)} must be one of off, allowlist and open, not {value!r}.")

    @property
    def question(self) -> QuestionLimits:
        """What one question about a model may take."""
        return QuestionLimits(self.question_tokens, self.question_bytes, 1e9 * self.question_gflops)

    @classmethod
    def of(
        cls, *, shared: bool, given: Mapping[str, str] | None = None, environment: Mapping[str, str] | None = None
    ) -> "Limits":
        """The limits of a mode, with what the owner changed: an option counts more than an environment variable.

        Both hold texts: `given` by the name of the limit, `environment` by the name of its variable.
        """
        values: dict[str, Any] = {}
        for field in limit_fields():
            text = (given or {}).get(field.name) or (environment or {}).get(variable_of(field.name))
            default = field.metadata["shared" if shared else "local"]
            values[field.name] = _read(field.name, field.metadata["kind"], text) if text else default
        return cls(shared, **values)


def limit_fields() -> list[dataclasses.Field[Any]]:
    """All limits; the metadata of each has `local`, `shared`, `kind` and `help`."""
    return [field for field in dataclasses.fields(Limits) if field.metadata]


def flag_of(name: str) -> str:
    """The option of `bertviz-lab app` that sets a limit."""
    return "--" + name.replace("_", "-")


def variable_of(name: str) -> str:
    """The environment variable that sets a limit."""
    return "BERTVIZ_LAB_" + name.upper()


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
    if kind == "switch":
        return "on" if value else "off"
    return f"{value:,}" if kind == "count" else ", ".join(value) if kind == "names" else str(value)


_SIZE = re.compile(r"([\d.]+)\s*(k|m|g)?b?", re.IGNORECASE)


def _read(name: str, kind: Kind, text: str) -> Any:
    """A limit from what an owner wrote. Raises `InputError` naming the option."""
    stripped, flag = text.strip(), flag_of(name)
    if kind == "names":
        return tuple(part for part in re.split(r"[\s,]+", stripped) if part)
    if kind == "hub":
        return stripped.lower()
    if kind == "switch":
        if stripped.lower() not in ("on", "off"):
            raise InputError(f"{flag} must be on or off, not {text!r}.")
        return stripped.lower() == "on"
    if kind == "seconds":
        try:
            return parse_duration(stripped)
        except InputError as error:
            raise InputError(f"{flag}: {error}") from None
    if kind == "bytes":
        match = _SIZE.fullmatch(stripped)
        if not match:
            raise InputError(f"{flag} must be a size such as 50MB or 2GB, not {text!r}.")
        unit = {"k": KILOBYTE, "m": MEGABYTE, "g": GIGABYTE}.get((match[2] or "").lower(), 1)
        try:
            return int(float(match[1]) * unit)
        except ValueError:
            raise InputError(f"{flag} must be a size such as 50MB or 2GB, not {text!r}.") from None
    if not stripped.replace("_", "").replace(",", "").isdecimal():
        raise InputError(f"{flag} must be a whole number, not {text!r}.")
    return int(stripped.replace("_", "").replace(",", ""))
