"""Comparison of runs: the settings in which they differ, and their curves."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bertviz_lab.figures.payload import Payload, to_json
from bertviz_lab.figures.training.curves import FURNITURE, compared_panels, thinned

#: Events that the chart uses.
_KINDS = ("RunStarted", "StepDone", "EvalDone", "ProbesDone", "RunFinished")
#: What tells runs apart: a color, and the symbol of their marks for those who cannot tell the colors.
LOOKS = tuple(
    (f"var(--run-{place})", symbol, glyph)
    for place, (symbol, glyph) in enumerate(
        (
            ("circle", "●"),
            ("square", "■"),
            ("triangle-up", "▲"),
            ("diamond", "◆"),
            ("circle-open", "○"),
            ("triangle-down", "▼"),
        )
    )
)
#: Settings that affect where and how often a run reports, not what it learns.
_IGNORED = frozenset("threads tracker keep_checkpoints snapshot_room eval_every checkpoint_every probes".split())
#: Settings that determine on which text and tokens a run is evaluated.
_SCORED_ON = frozenset(
    "corpus documents text_field vocab_size tokenizer algorithm lowercase init_from seq_len seed objective "
    "short_seq_probability".split()
)


@dataclass(frozen=True)
class RunView:
    """One run, or the log of a model that ships.

    Attributes:
        id: the run to follow; "" for one that has ended, whose `rows` are given.
        name: for display.
        settings: the known fields of its `PretrainConfig`.
        rows: its events as in `events.jsonl`, for a run that is not followed.
    """

    id: str
    name: str
    settings: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]] = ()


def runs_payload(
    runs: Sequence[RunView],
    *,
    label: Callable[[str], str] = str,
    max_steps: int = 400,
) -> Payload:
    """Return the payload of the comparison of runs, at most `len(LOOKS)` of them.

    `label` gives the display name of a setting. More than `max_steps` training steps of a log are thinned evenly; all
    other rows are kept.
    """
    looks = list(zip(runs, LOOKS, strict=False))
    return to_json(
        {
            "runs": [
                {
                    "id": run.id,
                    "name": run.name,
                    "colour": color,
                    "glyph": glyph,
                    "rows": thinned(run.rows, _KINDS, max_steps) if run.rows else None,
                }
                for run, (color, _, glyph) in looks
            ],
            "panels": compared_panels([(run.name, color, symbol) for run, (color, symbol, _) in looks]),
            **FURNITURE,
            "settings": [[label(name), values] for name, values in differing([run.settings for run in runs])],
            "comparable": comparable([run.settings for run in runs]),
        }
    )


def differing(settings: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[str]]]:
    """Return (setting, a text for each run) of the settings in which the runs differ; "?" if unknown.

    Where one run was limited by steps and another by time, both limits are listed.
    """
    names = dict.fromkeys(name for config in settings for name in config if name not in _IGNORED)
    differences = []
    for name in names:
        values = [_setting_text(config[name], name) if name in config else "?" for config in settings]
        if name == "time_budget":  # `steps` overrides it
            values = [
                "–" if config.get("steps") is not None else text for config, text in zip(settings, values, strict=True)
            ]
        if len(set(values) - {"?"}) > 1:
            differences.append((name, values))
    return differences


def comparable(settings: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the runs are evaluated on the same text and tokens, as far as their settings tell."""
    return not any(name in _SCORED_ON for name, _ in differing(settings)) and all(settings)


def _setting_text(value: Any, name: str) -> str:
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
    """Return the settings of a run by name, as requested."""
    return {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
