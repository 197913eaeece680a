"""Answer the questions of the ablation study: show its cards, queue its runs, reveal the result of one."""

from typing import Annotated, Any

from pydantic import Field

from bertviz_lab.config import PretrainConfig
from bertviz_lab.config.ablations import ABLATIONS, STEPS, WHOLE, ablated, ablation_of
from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import Payload
from bertviz_lab.figures.training.ablation_study import outcome, recipe_payload
from bertviz_lab.training.runs.run_folder import ACTIVE
from bertviz_lab.ui.server.run_quota import limits_sentence
from bertviz_lab.ui.server.visitors import Visitor
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.view import Word, questions

#: What is ticked before anybody has chosen.
_TICKED = ("no-positions", "causal")
_LEAST_STEPS, _MOST_STEPS = 20, 100_000

#: Steps of a run, or its seed; None for those that were queued last.
Planned = Annotated[int | None, Field(ge=0, lt=2**31)]
#: What a person predicts of each measure.
Predicted = Annotated[dict[Word, Word], Field(max_length=20)]


def cards(state: AppState, visitor: Visitor, steps: Planned, seed: Planned) -> Payload:
    """Return the cards, with the runs that are there for so many steps from a seed."""
    newest = next(iter(kinds_of(state, visitor).values()), ("", STEPS, 0))
    steps = _checked_steps(state, newest[1] if steps is None else steps)
    seed = newest[2] if seed is None else seed
    runs, limits = runs_of(state, visitor, steps, seed), state.settings.limits
    payload = recipe_payload(runs, steps, seed, ticked=() if runs else _TICKED)
    return payload.having(training=limits.training, limits=limits_sentence(limits))


def train(
    state: AppState, visitor: Visitor, names: Annotated[list[Word], Field(max_length=50)], steps: Planned, seed: Planned
) -> list[str]:
    """Start the full recipe and the named ablations, or resume those that were stopped; returns the ids of the new.

    What is finished, trains or waits is not trained again. Raises `InputError` where nothing is named, or more than the
    page takes.
    """
    steps = _checked_steps(state, steps or 0)
    if seed is None:
        raise InputError('"Seed" must be a whole number from 0 on.')
    chosen = [name for name in ABLATIONS if name in names]
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


def reveal(state: AppState, name: Word, whole: Word, run: Word, predicted: Predicted) -> dict[str, Any]:
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


def kinds_of(state: AppState, visitor: Visitor) -> dict[str, tuple[str, int, int]]:
    """Return a visitor's runs that belong to the study, newest first: (ablation, steps, seed) by id."""
    kinds: dict[str, tuple[str, int, int]] = {}
    for run_id in state.models.visible_runs(visitor):
        try:
            config = state.runs.config(run_id)
        except InputError:  # it has just been removed
            continue
        if isinstance(config, PretrainConfig) and (name := ablation_of(config)) and config.steps:
            kinds[run_id] = (name, config.steps, config.seed)
    return kinds


def runs_of(state: AppState, visitor: Visitor, steps: int, seed: int) -> dict[str, str]:
    """Return the run of each ablation with these steps and this seed; of several a finished one, else an active one."""
    runs: dict[str, str] = {}
    rank: dict[str, int] = {}
    for run_id, (name, *plan) in kinds_of(state, visitor).items():
        status = state.runs.state(run_id).status
        place = 2 if status == "finished" else 1 if status in ACTIVE else 0
        if plan == [steps, seed] and place > rank.get(name, -1):
            runs[name], rank[name] = run_id, place
    return {name: runs[name] for name in (WHOLE, *ABLATIONS) if name in runs}


def _checked_steps(state: AppState, steps: int) -> int:
    most = min(_MOST_STEPS, state.settings.limits.run_steps)
    if not _LEAST_STEPS <= steps <= most:
        raise InputError(f'"Steps of each run" must lie between {_LEAST_STEPS} and {most:,}.')
    return steps


QUESTIONS = questions(cards, reveal, train)
