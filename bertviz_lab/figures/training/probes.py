"""The minimal-pair probes of a run while it learns, and of several runs beside each other, as charts."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from bertviz_lab.data.probes import PROBES
from bertviz_lab.figures.charts import Matrix, bars_payload, matrix_payload
from bertviz_lab.figures.payload import Payload
from bertviz_lab.figures.training.runs import LOOKS

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
    short_names = [name.split(" (")[0] for name in names]
    shares = np.array([[row["right"].get(kind, math.nan) for row in asked] for kind in kinds], dtype=float)
    passed = [len(asked) > 1 and bool((line[-2:] >= _PASSED).all()) for line in shares]
    steps = [f"{row['step']:,}" for row in asked]
    verdicts = list(zip(names, passed, strict=True))
    done = [name for name, is_passed in verdicts if is_passed]
    missing = [name for name, is_passed in verdicts if not is_passed]
    matrix = Matrix(
        values=shares,
        rows=[
            f"{'✓ ' if is_passed else ''}{line[-1]:.0%} {name}"
            for name, is_passed, line in zip(short_names, passed, shares, strict=True)
        ],
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
    )
    return matrix_payload(
        matrix,
        title="Minimal-pair probes",
        sentence=f"At step {newest['step']:,} the model passes {sum(passed)} of {len(kinds)} probes"
        + (f": {', '.join(done)}." if done else ".")
        + (f" Not yet: {', '.join(missing)}." if missing else ""),
        note=f"{_NOTE} A probe is passed (✓) with at least {_PASSED:.0%} in the last two evaluations. White: chance; "
        "blue: above it; brown: below it.",
        file="probes",
    )


def compared_payload(runs: Sequence[tuple[str, Rows]]) -> Payload | None:
    """Return the newest probes of several runs, (name, events), as bars; None if no run has any."""
    logs = [(name, list(rows)) for name, rows in runs]
    newest = [next(reversed(_asked(rows)), None) for _, rows in logs]
    kinds = list(dict.fromkeys((row["probes"], kind) for row in newest if row for kind in row["right"]))
    if not kinds:
        return None
    sets = {name for name, _ in kinds}
    series, texts = [], []
    for (name, rows), row in zip(logs, newest, strict=True):
        shares = [row["right"].get(kind) if row and row["probes"] == probes else None for probes, kind in kinds]
        last = max((event.get("step") or 0 for event in rows), default=0)
        late = f" at step {row['step']:,}" if row and last > 1.2 * row["step"] + 5 else ""  # training has gone on since
        series.append((name, shares))
        texts.append(["" if share is None else f"{share:.0%}{late}" for share in shares])
    return bars_payload(
        [
            _title(probes, kind).split(" (")[0]
            + (f" ({PROBES[probes].title if probes in PROBES else probes})" if len(sets) > 1 else "")
            for probes, kind in kinds
        ],
        series,
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
