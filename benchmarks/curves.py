"""Learning curves of several trainings beside each other: where they end, and how soon they are there."""

import json
from collections.abc import Callable
from typing import Any

from benchmarks.machine import markdown, spread

_OFF = 0.05  # this far above the accuracy of always predicting the most frequent token a model is off the plateau


def compare(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The lab's runs beside the best of the others, all of the same setting."""
    if len({json.dumps([run["setting"], run["text"], run["machine"]["processor"]]) for run in runs}) > 1:
        raise SystemExit("These curves are of different settings or processors; compare those of one.")
    theirs = [run for run in runs if run["side"] == "hf"]
    ours = [run for run in runs if run["side"] == "lab"]
    if not theirs or not ours:
        raise SystemExit("A comparison needs at least one curve of each side.")
    best = min(theirs, key=lambda run: run["curve"][-1]["mlm_loss"])
    goal, seconds = best["curve"][-1]["mlm_loss"], best["setting"]["seconds"]
    plateau = best["unigram_accuracy"]
    rows = []
    for run in [*theirs, *ours]:
        last = run["curve"][-1]
        rows.append(
            {
                "name": run["name"],
                "precision": run["precision"],
                "side": run["side"],
                "steps": last["step"],
                "mlm_loss": last["mlm_loss"],
                "mlm_accuracy": last["mlm_accuracy"],
                "nsp_accuracy": run.get("nsp_accuracy"),
                "seconds_to_best_hf_loss": reached(run["curve"], lambda point: point["mlm_loss"] <= goal),
                "seconds_off_the_plateau": reached(run["curve"], lambda point: point["mlm_accuracy"] >= plateau + _OFF),
            }
        )
    lab = [row for row in rows if row["side"] == "lab"]
    shares = [row["seconds_to_best_hf_loss"] / seconds for row in lab if row["seconds_to_best_hf_loss"]]
    return {
        "setting": best["setting"],
        "text": best["text"],
        "machines": sorted({run["machine"]["processor"] for run in runs}),
        "best_hf": best["name"],
        "plateau_accuracy": plateau,
        "runs": rows,
        "lab_mlm_loss": spread([row["mlm_loss"] for row in lab]),
        "share_of_time_to_best_hf_loss": spread(shares) if len(shares) == len(lab) else None,
        "curves": {run["name"]: thinned(run["curve"]) for run in runs},
    }


def reached(curve: list[dict[str, Any]], good: Callable[[dict[str, Any]], bool]) -> float | None:
    """The seconds of the first score that is good and after which all are; None if the last is not."""
    seconds = None
    for point in reversed(curve):
        if not good(point):
            break
        seconds = point["seconds"]
    return seconds


def thinned(curve: list[dict[str, Any]], parts: int = 10) -> list[dict[str, Any]]:
    """The points nearest to tenths of the time."""
    end = curve[-1]["seconds"]
    at = [min(curve, key=lambda point: abs(point["seconds"] - end * i / parts)) for i in range(parts + 1)]
    return [point for i, point in enumerate(at) if point not in at[:i]]


def table(result: dict[str, Any]) -> str:
    """Each run's end, how soon it was as good as the best of the others, and the curves."""

    def seconds(value: float | None) -> str:
        return "not in time" if value is None else f"{value:.0f} s"

    rows = [
        [
            f"{run['name']} ({run['precision']})",
            f"{run['steps']:,}",
            f"{run['mlm_loss']:.3f}",
            f"{run['mlm_accuracy']:.1%}",
            "" if run.get("nsp_accuracy") is None else f"{run['nsp_accuracy']:.1%}",
            seconds(run["seconds_to_best_hf_loss"]),
            seconds(run["seconds_off_the_plateau"]),
        ]
        for run in result["runs"]
    ]
    shown = [result["best_hf"], *(run["name"] for run in result["runs"] if run["side"] == "lab")]
    curves = {name: {round(p["seconds"]): p for p in result["curves"][name]} for name in shown}
    times = [round(p["seconds"]) for p in result["curves"][result["best_hf"]]]
    curve_rows = []
    for time_ in times:
        at = [min(curve.values(), key=lambda p: abs(p["seconds"] - time_)) for curve in curves.values()]
        curve_rows.append([f"{time_} s", *(f"{p['mlm_loss']:.2f}, {p['mlm_accuracy']:.1%}" for p in at)])
    setting, share = result["setting"], result["share_of_time_to_best_hf_loss"]
    loss, theirs = result["lab_mlm_loss"], sum(run["side"] == "hf" for run in result["runs"])
    summary = (
        f"{setting['preset']}, V {setting['vocab_size']:,}, {result['text']}, {setting['seconds']:g} s each. "
        f"The {'best' if theirs > 1 else 'only'} transformers run is {result['best_hf']}; "
        f"the lab ends at a held-out loss of {loss['min']:.3f} / **{loss['median']:.3f}** / {loss['max']:.3f} "
        "(min / median / max over seeds)"
    )
    if share:
        times_ = f"{share['min']:.0%} / **{share['median']:.0%}** / {share['max']:.0%}"
        summary += f" and is as good as that run's end after {times_} of the time"
    plateau = (
        f"Always predicting the most frequent token has an accuracy of {result['plateau_accuracy']:.1%}, the unigram "
        "plateau. A run is off it from the first score after which all are at least 5 points above."
    )
    goals = ("36%", "80%", "100 s", "150 s") if (setting["preset"], setting["seconds"]) == ("mini", 600) else ()
    measures = ["accuracy", "NSP accuracy", "as good as the best transformers run", "off the plateau"]
    if goals:
        measures = [f"{measure} (goal {goal})" for measure, goal in zip(measures, goals, strict=True)]
    header = ["run", "steps", "loss", *measures]
    return "\n\n".join(
        [
            f"{summary}.",
            markdown(header, rows),
            plateau,
            "Held-out loss and accuracy on the way:",
            markdown(["time", *shown], curve_rows),
        ]
    )
