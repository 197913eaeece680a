"""The runs of the ablation study: which are there, how those that are missing are queued, and what came of them."""

from collections.abc import Mapping, Sequence
from typing import Any

from bertviz_lab.config import PretrainConfig
from bertviz_lab.config.ablations import ABLATIONS, STEPS, WHOLE, ablated, ablation_of
from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import Payload
from bertviz_lab.figures.training.ablation_study import outcome, recipe_payload
from bertviz_lab.training.runs.run_folder import ACTIVE
from bertviz_lab.ui.server.run_quota import limits_sentence
from bertviz_lab.ui.server.visitors import Visitor
from bertviz_lab.ui.state.app_state import AppState

#: What is ticked before anybody has chosen.
TICKED = ("no-positions", "causal")
_LEAST_STEPS, _MOST_STEPS = 20, 100_000


def kinds_of(state: AppState, visitor: Visitor) -> dict[str, tuple[str, int, int]]:
    """Return those of a visitor's runs that belong to the study: (ablation, steps, seed) by run, the newest first."""
    settings_of_runs: dict[str, tuple[str, int, int]] = {}
    for run_id in state.models.visible_runs(visitor):
        try:
            config = state.runs.config(run_id)
        except InputError:  # it has just been removed
            continue
        if isinstance(config, PretrainConfig) and (name := ablation_of(config)) and config.steps:
            settings_of_runs[run_id] = (name, config.steps, config.seed)
    return settings_of_runs


def newest_set(state: AppState, visitor: Visitor) -> tuple[int, int]:
    """Steps and seed of the runs that were queued last; the usual ones where there are none."""
    return next(((steps, seed) for _, steps, seed in kinds_of(state, visitor).values()), (STEPS, 0))


def runs_of(state: AppState, visitor: Visitor, steps: int, seed: int) -> dict[str, str]:
    """The run of each ablation among those of so many steps from this seed; of several one that has ended well."""
    run_ids: dict[str, str] = {}
    rank: dict[str, int] = {}
    for run_id, (name, *rest) in kinds_of(state, visitor).items():
        if rest != [steps, seed]:
            continue
        status = state.runs.state(run_id).status
        place = 2 if status == "finished" else 1 if status in ACTIVE else 0
        if place > rank.get(name, -1):
            run_ids[name], rank[name] = run_id, place
    return {name: run_ids[name] for name in (WHOLE, *ABLATIONS) if name in run_ids}


def checked_plan(state: AppState, steps: Any, seed: Any) -> tuple[int, int]:
    """Steps and seed as the browser sent them. Raises `InputError` where they cannot be trained with."""
    most = min(_MOST_STEPS, state.settings.limits.run_steps)
    if not isinstance(steps, (int, float)) or not _LEAST_STEPS <= steps <= most:
        raise InputError(f'"Steps of each run" must lie between {_LEAST_STEPS} and {most:,}.')
    if not isinstance(seed, (int, float)) or not 0 <= seed < 2**31:
        raise InputError('"Seed" must be a whole number from 0 on.')
    return int(steps), int(seed)


def queue(state: AppState, visitor: Visitor, names: Any, steps: Any, seed: Any) -> list[str]:
    """Start the whole recipe and the named ablations, or go on with those that were stopped; the ids of the new ones.

    What has ended, trains or waits already is not trained again. Raises `InputError` where nothing is named, or more
    than the page takes.
    """
    steps, seed = checked_plan(state, steps, seed)
    chosen = [name for name in ABLATIONS if isinstance(names, (list, tuple)) and name in names]
    if not chosen:
        raise InputError("Select at least one ablation first.")
    there = runs_of(state, visitor, steps, seed)
    status = {name: state.runs.state(run_id).status for name, run_id in there.items()}
    wanted = [name for name in (WHOLE, *chosen) if status.get(name) not in (*ACTIVE, "finished")]
    configs = {name: ablated(name, steps=steps, seed=seed, threads=state.settings.threads) for name in wanted}
    if wanted:
        state.quota.check(visitor, configs[wanted[0]], len(wanted))  # all of them, or none
    started = []
    for name, config in configs.items():
        if name in there:
            state.quota.resume(visitor, there[name])
        else:
            started.append(state.quota.start(visitor, config))
    return started


def cards(state: AppState, visitor: Visitor, steps: Any, seed: Any) -> Payload:
    """Return the cards with the runs that are there. Raises `InputError` as `checked_plan`."""
    steps, seed = checked_plan(state, steps, seed)
    runs = runs_of(state, visitor, steps, seed)
    payload = recipe_payload(runs, steps, seed, ticked=() if runs else TICKED)
    limits = state.settings.limits
    return payload.having(training=limits.training, limits=limits_sentence(limits))


def progress(state: AppState, visitor: Visitor, runs: Sequence[str]) -> dict[str, Any]:
    """Where some runs stand: {run: {status, step, message}}; one that is gone has the status "missing"."""
    keys = ("status", "step", "total_steps", "message", "name", "eta_seconds")
    glances = {run: state.glance(run, visitor) for run in runs}
    return {
        run: {key: glance[key] for key in keys} if glance else {"status": "missing"} for run, glance in glances.items()
    }


def reveal(state: AppState, name: str, whole: str, run: str, predicted: Mapping[str, str]) -> dict[str, Any]:
    """Return what came of an ablation: {"measures", "words"}, or {"message"} where there is nothing to tell yet."""
    from bertviz_lab.data.probes import PROBES

    if name not in ABLATIONS:
        return {"message": "There is no such ablation."}
    titles = {kind: words for probes in PROBES.values() for kind, words in probes.kinds.items()}
    titles |= PROBES["tiny-town"].kinds
    try:
        with_all, without = (state.runs.events(run_id)[0] for run_id in (whole, run))
        return outcome(name, with_all, without, predicted, titles)
    except InputError:
        return {"message": "One of the two runs is no longer here: train it again."}
    except (ValueError, KeyError, TypeError):
        return {"message": "One of the two runs ended without a score: train it again."}
