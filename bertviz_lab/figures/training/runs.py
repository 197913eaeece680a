"""Runs: comparison of their settings and curves, and their minimal-pair probes while they learn and side by side."""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bertviz_lab.data.probes import PROBES
from bertviz_lab.figures.payload import Payload, figure, to_json
from bertviz_lab.figures.training.curves import FURNITURE, compared_panels, thinned

#: Events that the chart uses.
_KINDS = ("RunStarted", "StepDone", "EvalDone", "ProbesDone", "RunFinished")
_MOST_STEPS = 400  # of a log
#: What tells runs apart: a color, and the symbol of their marks for those who cannot tell the colors.
_SYMBOLS = {
    "circle": "●", "square": "■", "triangle-up": "▲", "diamond": "◆", "circle-open": "○", "triangle-down": "▼"
}  # fmt: skip
LOOKS = tuple((f"var(--run-{place})", symbol, glyph) for place, (symbol, glyph) in enumerate(_SYMBOLS.items()))
#: Settings that affect where and how often a run reports, not what it learns.
_IGNORED = frozenset("threads tracker keep_checkpoints snapshot_room eval_every checkpoint_every probes".split())
#: Settings that determine on which text and tokens a run is evaluated.
_SCORED_ON = frozenset(
    "corpus documents text_field vocab_size tokenizer algorithm lowercase init_from seq_len seed objective "
    "short_seq_probability add_vocabulary balanced_pairs".split()
)


@dataclass(frozen=True)
class RunView:
    """One run, or the log of a model that ships."""

    id: str  # of the run to follow; "" for one that has ended, whose `rows` are given
    name: str
    settings: Mapping[str, Any]  # the known fields of its `PretrainConfig`
    rows: Sequence[Mapping[str, Any]] = ()  # events as in `events.jsonl`, of a run that is not followed


def runs_payload(runs: Sequence[RunView], *, label: Callable[[str], str] = str) -> Payload:
    """Return the payload of the comparison of runs, at most `len(LOOKS)` of them.

    `label` gives the display name of a setting. The training steps of long logs are thinned evenly; all other rows are
    kept.
    """
    settings = [run.settings for run in runs]
    shown = [
        {"id": run.id, "name": run.name, "color": color, "symbol": symbol, "glyph": glyph}
        | {"rows": thinned(run.rows, _KINDS, _MOST_STEPS) if run.rows else None}
        for run, (color, symbol, glyph) in zip(runs, LOOKS, strict=False)
    ]
    differences = [[label(name), values] for name, values in differing(settings)]
    body = {
        "runs": shown,
        "panels": compared_panels(),
        **FURNITURE,
        "settings": differences,
        "unknown": [run.name for run in runs if not run.settings],
        "comparable": comparable(settings),
    }
    return to_json(body)


def differing(settings: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[str]]]:
    """Return (setting, a text for each run) of the settings in which the runs differ; "?" if unknown.

    Where one run was limited by steps and another by time, both limits are listed.
    """
    names = dict.fromkeys(name for config in settings for name in config if name not in _IGNORED)
    differences = [(name, [_setting_text(config, name) for config in settings]) for name in names]
    return [(name, values) for name, values in differences if len(set(values) - {"?"}) > 1]


def comparable(settings: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the runs are evaluated on the same text and tokens, as far as their settings tell."""
    return not any(name in _SCORED_ON for name, _ in differing(settings)) and all(settings)


def _setting_text(config: Mapping[str, Any], name: str) -> str:
    if name == "time_budget" and config.get("steps") is not None:  # which overrides it
        return "–"
    if name not in config:
        return "?"
    value = config[name]
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "–" if name == "steps" else "by model size"
    if name == "without":
        return f"{len(value):,} sentences" if value else "–"
    if isinstance(value, (tuple, list)):
        return ", ".join(str(entry).removeprefix("sample:").replace("\\", "/").split("/")[-1] for entry in value)
    if name == "init_from" and not value:
        return "scratch"
    if isinstance(value, float):
        return f"{value:g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


_PASSED, _CHANCE = 0.8, 0.5
_NOTE = (
    "Each kind has about a dozen minimal pairs: two sentences, one correct and one wrong. Its value is the share of "
    f"pairs whose correct sentence the model prefers; chance is {_CHANCE:.0%}."
)

Rows = Iterable[Mapping[str, Any]]


def learning_payload(rows: Rows) -> Payload | None:
    """Return a heat map of a run's probes, (kinds, evaluations); None if the run has none.

    A probe is passed when the model prefers at least 80% of the correct sentences in the last two evaluations.
    """
    asked = _asked(rows)
    if not asked:
        return None
    newest = asked[-1]
    asked = [row for row in asked if row["probes"] == newest["probes"]]
    kinds = list(newest["right"])
    names = [_title(newest["probes"], kind) for kind in kinds]
    shares = np.array([[row["right"].get(kind, math.nan) for row in asked] for kind in kinds], dtype=float)
    passed = [len(asked) > 1 and bool((line[-2:] >= _PASSED).all()) for line in shares]
    steps = [f"{row['step']:,}" for row in asked]
    passed_names = ", ".join(itertools.compress(names, passed))
    missing = ", ".join(name for name, is_passed in zip(names, passed, strict=True) if not is_passed)
    verdicts = [f"{'✓ ' * is_passed}{line[-1]:.0%}" for is_passed, line in zip(passed, shares, strict=True)]
    payload = figure(
        "matrix",
        values=shares,
        rows=[f"{verdict} {name.split(' (')[0]}" for verdict, name in zip(verdicts, names, strict=True)],
        columns=steps,
        row_name="probe",
        texts=[[""] * len(steps)] * len(kinds),
        shades=shares - _CHANCE,
        peak=1 - _CHANCE,
        axis="step",
        details=[
            [
                f"{name} at step {step}: {share:.0%} of the pairs correct"
                for step, share in zip(steps, line, strict=True)
            ]
            for name, line in zip(names, shares, strict=True)
        ],
        title="Minimal-pair probes",
        sentence=f"At step {newest['step']:,} the model passes {sum(passed)} of {len(kinds)} probes"
        f"{passed_names and f': {passed_names}'}.{missing and f' Not yet: {missing}.'}",
        note=f"{_NOTE} A probe is passed (✓) with at least {_PASSED:.0%} in the last two evaluations. White: chance; "
        "blue: above it; brown: below it.",
        file="probes",
    )
    return payload.having(
        csv=[["probe", *steps], *([name, *line] for name, line in zip(names, shares.tolist(), strict=True))]
    )


def compared_payload(runs: Sequence[tuple[str, Rows]]) -> Payload | None:
    """Return the newest probes of several runs, (name, events), as bars; None if no run has any."""
    logs = [(name, list(rows)) for name, rows in runs]
    newest = [next(reversed(_asked(rows)), None) for _, rows in logs]
    kinds = list(dict.fromkeys((row["probes"], kind) for row in newest if row for kind in row["right"]))
    if not kinds:
        return None
    several = len({name for name, _ in kinds}) > 1
    series, texts = [], []
    for (name, rows), row in zip(logs, newest, strict=True):
        shares = [row["right"].get(kind) if row and row["probes"] == probes else None for probes, kind in kinds]
        last = max((event.get("step") or 0 for event in rows), default=0)
        late = f" at step {row['step']:,}" if row and last > 1.2 * row["step"] + 5 else ""  # training has gone on since
        series.append((name, shares))
        texts.append(["" if share is None else f"{share:.0%}{late}" for share in shares])
    return figure(
        "bars",
        groups=[
            _title(probes, kind).split(" (")[0]
            + (f" ({PROBES[probes].title if probes in PROBES else probes})" if several else "")
            for probes, kind in kinds
        ],
        series=series,
        title="Minimal-pair probes",
        number_format=".0%",
        texts=texts,
        colors=[color for color, _, _ in LOOKS],
        reference=(_CHANCE, "chance"),
        note=_NOTE,
        file="probes",
    )


def _asked(rows: Rows) -> list[Mapping[str, Any]]:
    """Return the evaluations of probes that count: a resumed run drops those after its checkpoint."""
    asked: list[Mapping[str, Any]] = []
    for row in rows:
        if row.get("event") == "RunStarted":
            asked = [other for other in asked if other["step"] <= row["step"]]
        elif row.get("event") == "ProbesDone":
            asked = [other for other in asked if other["step"] < row["step"]] + [row]
    return asked


def _title(probes: str, kind: str) -> str:
    """Return the title of a kind; its name where it belongs to a set of another version."""
    kinds = PROBES[probes].kinds if probes in PROBES else {}
    return kinds.get(kind, kind.replace("_", " "))
