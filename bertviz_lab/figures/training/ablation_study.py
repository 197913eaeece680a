"""The ablation study: a card for each ablation, and its outcome compared with the prediction."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from bertviz_lab.config.ablations import ABLATIONS, MEASURES, PREDICTIONS, SAME, WHOLE
from bertviz_lab.figures.payload import Payload, to_json

#: Each kind has twelve probes, so smaller differences of accuracy may be chance.
_CLEAR = 0.25

Rows = Sequence[Mapping[str, Any]]


def recipe_payload(runs: Mapping[str, str], steps: int, seed: int, ticked: Collection[str] = ()) -> Payload:
    """Return the ablation cards. `runs` has the run id of each ablation that was run, and of `WHOLE`."""
    return to_json(
        {
            "set": f"{steps}/{seed}",
            "steps": steps,
            "seed": seed,
            "whole": runs.get(WHOLE, ""),
            "predictions": [[key, description] for key, description in PREDICTIONS.items()],
            "cards": [
                {
                    "name": name,
                    "title": ablation.title,
                    "about": ablation.about,
                    "asks": [[measure, MEASURES[measure]] for measure in ablation.asks],
                    "run": runs.get(name, ""),
                    "ticked": name in ticked,
                }
                for name, ablation in ABLATIONS.items()
            ],
        }
    )


def outcome(
    name: str, whole: Rows, ablated: Rows, predicted: Mapping[str, str], titles: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the effect of an ablation, computed from the events of both runs.

    `predicted` maps each measure to the user's prediction, a key of `PREDICTIONS`; `titles` has the name of each kind
    of probe. Returns {"measures": [...], "words": [sentences]}. Raises `ValueError` where a run has no score.
    """
    ablation = ABLATIONS[name]
    full_scores, ablated_scores = _last(whole, "EvalDone"), _last(ablated, "EvalDone")
    if full_scores is None or ablated_scores is None:
        raise ValueError("A run without an evaluation has no outcome.")
    measures = [
        _measure(measure, full_scores[measure], ablated_scores[measure], predicted.get(measure, ""))
        for measure in ablation.asks
        if measure in full_scores and measure in ablated_scores
    ]
    sentences = [
        *_probe_differences(whole, ablated, titles or {}),
        ablation.teaches,
        _caution(whole, full_scores, ablated_scores),
    ]
    return {"measures": measures, "words": [text for text in sentences if text]}


def _measure(measure: str, full: float, ablated: float, predicted: str) -> dict[str, Any]:
    difference = ablated - full
    outcome = "same" if abs(difference) < SAME else "better" if difference > 0 else "worse"
    comparison = f"{MEASURES[measure]}: {ablated:.1%}, {full:.1%} with the full recipe"
    points = f"{abs(100 * difference):.1f} points {'more' if difference > 0 else 'fewer'}"
    verdict = ", which is within noise" if outcome == "same" else f": {PREDICTIONS[outcome]}"
    feedback = ""
    if predicted in PREDICTIONS:
        feedback = "Your prediction was right." if predicted == outcome else f"You predicted: {PREDICTIONS[predicted]}."
    return {
        "name": MEASURES[measure],
        "with_all": full,
        "without": ablated,
        "found": outcome,
        "right": predicted == outcome,
        "text": f"{comparison}; {points}{verdict}. {feedback}".strip(),
    }


def _probe_differences(whole: Rows, ablated: Rows, titles: Mapping[str, str]) -> list[str]:
    """Return the kinds of probes with clear differences, the largest first."""
    probes, others = (_last(log, "ProbesDone") or {} for log in (whole, ablated))
    if not probes or any(probes.get(key) != others.get(key) for key in ("probes", "step")):
        return []  # probes of different steps cannot be compared
    full, ablated = probes["right"], others["right"]
    gaps = {kind: abs(ablated[kind] - full[kind]) for kind in full if kind in ablated}
    clear = [kind for kind in sorted(gaps, key=lambda kind: -gaps[kind]) if gaps[kind] >= _CLEAR]
    if not clear:
        return ["On the minimal-pair probes the two differ by less than 25 points on every kind."] if gaps else []
    differences = [
        f"{titles.get(kind, kind)}: {ablated[kind]:.0%}, with the full recipe {full[kind]:.0%}" for kind in clear[:3]
    ]
    return [f"Minimal-pair probes (chance is 50%): {'; '.join(differences)}."]


def _caution(whole: Rows, full_scores: Mapping[str, Any], ablated_scores: Mapping[str, Any]) -> str:
    words = "Each was trained once, with one seed: another seed, or longer training, may give another difference."
    if full_scores["step"] != ablated_scores["step"]:
        words += f" They differ in training length: {ablated_scores['step']:,} and {full_scores['step']:,} steps."
    baseline = ((_last(whole, "RunStarted") or {}).get("baselines") or {}).get("unigram_accuracy")
    if baseline is not None and full_scores.get("mlm_accuracy", 1.0) < baseline + 0.1:
        words += f" And it is early: the unigram baseline has {baseline:.0%}, so that the full recipe has learned "
        words += "little yet. Train for more steps before drawing conclusions."
    return words


def _last(rows: Rows, event: str) -> Mapping[str, Any] | None:
    return next((row for row in reversed(rows) if row.get("event") == event), None)
