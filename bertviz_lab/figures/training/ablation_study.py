"""The recipe taken apart: a card for each ablation, and what came of it beside what was predicted."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bertviz_lab.config.ablations import ABLATIONS, MEASURES, PREDICTIONS, SAME, WHOLE
from bertviz_lab.figures.payload import Payload, to_json

#: A probe's share is known to a twelfth only: what differs by less than this may be luck.
_CLEAR = 0.25

Rows = Sequence[Mapping[str, Any]]


def recipe_payload(runs: Mapping[str, str], steps: int, seed: int, ticked: Iterable[str] = ()) -> Payload:
    """The payload of the recipe's cards. `runs` names the run of each ablation that has one, `WHOLE` among them."""
    chosen = set(ticked)
    return to_json(
        {
            "set": f"{steps}/{seed}",
            "steps": steps,
            "seed": seed,
            "whole": runs.get(WHOLE, ""),
            "predictions": [[key, words] for key, words in PREDICTIONS.items()],
            "cards": [
                {
                    "name": name,
                    "title": ablation.title,
                    "about": ablation.about,
                    "asks": [[measure, MEASURES[measure]] for measure in ablation.asks],
                    "run": runs.get(name, ""),
                    "ticked": name in chosen,
                }
                for name, ablation in ABLATIONS.items()
            ],
        }
    )


def outcome(
    name: str, whole: Rows, ablated: Rows, predicted: Mapping[str, str], titles: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """What leaving something out has done, computed from the events of both runs.

    `predicted` has what a person expected of each measure, a key of `PREDICTIONS`; `titles` says of each kind of probe
    what a model can do. Returns {"measures": [...], "words": [sentences]}. Raises `ValueError` where a run has no
    score.
    """
    ablation = ABLATIONS[name]
    with_all, without = _last(whole, "EvalDone"), _last(ablated, "EvalDone")
    if with_all is None or without is None:
        raise ValueError("A run without an evaluation has no outcome.")
    measures = [
        _measure(measure, with_all[measure], without[measure], predicted.get(measure, ""))
        for measure in ablation.asks
        if measure in with_all and measure in without
    ]
    words = [*_probe_words(whole, ablated, titles or {}), ablation.teaches, _caution(whole, with_all, without)]
    return {"measures": measures, "words": [text for text in words if text]}


def _measure(measure: str, with_all: float, without: float, predicted: str) -> dict[str, Any]:
    difference = without - with_all
    found = "same" if abs(difference) < SAME else "better" if difference > 0 else "worse"
    size = f"{abs(100 * difference):.1f} points {'more' if difference > 0 else 'fewer'}"
    told = f"{MEASURES[measure]}: {without:.1%}, {with_all:.1%} with the full recipe"
    verdict = f"{size}, which is within noise" if found == "same" else f"{size}: {PREDICTIONS[found]}"
    answer = ""
    if predicted in PREDICTIONS:
        answer = "Your prediction was right." if predicted == found else f"You predicted: {PREDICTIONS[predicted]}."
    return {
        "name": MEASURES[measure],
        "with_all": with_all,
        "without": without,
        "found": found,
        "right": predicted == found,
        "text": f"{told}; {verdict}. {answer}".strip(),
    }


def _probe_words(whole: Rows, ablated: Rows, titles: Mapping[str, str]) -> list[str]:
    """The kinds of probes in which the two differ clearly, the clearest first."""
    ours, theirs = _last(whole, "ProbesDone"), _last(ablated, "ProbesDone")
    if ours is None or theirs is None or any(ours.get(key) != theirs.get(key) for key in ("probes", "step")):
        return []  # asked at different times of their training, they say nothing about the recipe
    before, after = ours["right"], theirs["right"]
    kinds = sorted((kind for kind in before if kind in after), key=lambda kind: -abs(after[kind] - before[kind]))
    clear = [kind for kind in kinds if abs(after[kind] - before[kind]) >= _CLEAR]
    if not clear:
        return ["On the minimal-pair probes the two differ by less than 25 points on every kind."] if kinds else []
    told = [
        f"{titles.get(kind, kind)}: {after[kind]:.0%}, with the full recipe {before[kind]:.0%}" for kind in clear[:3]
    ]
    return [f"Minimal-pair probes (chance is 50%): {'; '.join(told)}."]


def _caution(whole: Rows, with_all: Mapping[str, Any], without: Mapping[str, Any]) -> str:
    started = _last(whole, "RunStarted") or {}
    commonest = (started.get("baselines") or {}).get("unigram_accuracy")
    early = ""
    if commonest is not None and with_all.get("mlm_accuracy", 1.0) < commonest + 0.1:
        early = (
            f" And it is early: the unigram baseline has {commonest:.0%}, so that the full "
            "recipe has learned little yet. Train for more steps before drawing conclusions."
        )
    unequal = ""
    if with_all.get("step") != without.get("step"):
        unequal = f" They differ in training length: {without.get('step'):,} and {with_all.get('step'):,} steps."
    return (
        "Each was trained once, with one seed: another seed, or longer training, may give another difference."
        f"{unequal}{early}"
    )


def _last(rows: Rows, event: str) -> Mapping[str, Any] | None:
    return next((row for row in reversed(rows) if row.get("event") == event), None)
