"""Several runs beside each other: the settings in which they differ, their curves and their probes."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bertviz_lab.figures.payload import Payload, to_json
from bertviz_lab.figures.training.curves import thinned

#: The chart needs nothing else of a log.
_KINDS = ("RunStarted", "StepDone", "EvalDone", "ProbesDone", "RunFinished")
#: Settings that decide where and how often a run reports, not what it learns.
_ASIDE = frozenset("threads tracker keep_checkpoints snapshot_room eval_every checkpoint_every probes".split())
#: What decides on which text, and in which tokens, a run is scored.
_SCORED_ON = frozenset(
    "corpus documents text_field vocab_size tokenizer algorithm lowercase init_from seq_len seed objective "
    "short_seq_probability".split()
)


@dataclass(frozen=True)
class RunView:
    """One run, or the log of a model that ships.

    Attributes:
        id: what it is followed by; "" for one whose `rows` are here and which has ended.
        name: what people call it.
        settings: the fields of its `PretrainConfig`, as far as they are known.
        rows: its events, as `events.jsonl` holds them, where there is nothing to follow.
    """

    id: str
    name: str
    settings: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]] = ()


def runs_payload(
    runs: Sequence[RunView],
    kinds: Mapping[str, Mapping[str, str]],
    *,
    label: Callable[[str], str] = str,
    most_steps: int = 400,
) -> Payload:
    """The payload of the comparison of runs.

    `kinds` has for each set of probes what each kind asks, in words; `label` names a setting for people. Of more than
    `most_steps` training rows of a log an even selection goes out, and all of its other rows.
    """
    return to_json(
        {
            "runs": [
                {"id": run.id, "name": run.name, "rows": thinned(run.rows, _KINDS, most_steps) if run.rows else None}
                for run in runs
            ],
            "settings": [[label(name), values] for name, values in differing([run.settings for run in runs])],
            "comparable": comparable([run.settings for run in runs]),
            "kinds": {name: dict(words) for name, words in kinds.items()},
        }
    )


def differing(settings: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[str]]]:
    """(setting, a text for each run) of the settings in which the runs differ; "?" where one is not known.

    Of runs of which one was limited by steps and another by time, both limits are told.
    """
    names = dict.fromkeys(name for one in settings for name in one if name not in _ASIDE)
    found = []
    for name in names:
        told = [_told(one[name], name) if name in one else "?" for one in settings]
        if name == "time_budget":  # where steps decide, no time does
            told = ["–" if one.get("steps") is not None else text for one, text in zip(settings, told, strict=True)]
        if len(set(told) - {"?"}) > 1:
            found.append((name, told))
    return found


def comparable(settings: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the runs are scored on the same text in the same tokens, as far as their settings tell."""
    return not any(name in _SCORED_ON for name, _ in differing(settings)) and all(settings)


def _told(value: Any, name: str) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "–" if name == "steps" else "by model size"
    if isinstance(value, (tuple, list)):
        return ", ".join(str(entry).removeprefix("sample:").replace("\\", "/").split("/")[-1] for entry in value)
    if name == "init_from" and not value:
        return "random weights"
    if isinstance(value, float):
        return f"{value:g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def settings_of(config: Any) -> dict[str, Any]:
    """The settings of a run by name, the learning rate and the like as they were asked for."""
    return {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
