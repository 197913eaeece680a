"""What Influence asks: the sentences that taught a prediction, and the model trained again without some of them."""

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from bertviz_lab.config import PretrainConfig
from bertviz_lab.errors import InputError
from bertviz_lab.figures.influence import bm25_payload, influence_facts, retrained_payload, tracin_payload
from bertviz_lab.figures.payload import Payload
from bertviz_lab.training.runs.run_folder import ACTIVE
from bertviz_lab.training.runs.summary import RunNotes
from bertviz_lab.ui.lazy import interpret
from bertviz_lab.ui.server.scheduler import report_progress
from bertviz_lab.ui.server.visitors import Visitor
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.view import Count, Index, questions
from bertviz_lab.ui.views.attribution.view import Explained, most_probable, targets

_LEFT_OUT = 20  # sentences by default
_SHOWN_TOKENS, _SHOWN_RUNS = 4, 5
_TAG = "retrained"
_NO_SNAPSHOTS = "Influence needs the snapshots of a pretraining: choose tiny-town, or a model that you pretrained here."

Method = Literal["TracIn", "BM25", "random", "nothing"]


@dataclass(frozen=True)
class Asked(Explained):
    """A prediction, as Attribution has it, and how many training sentences are compared."""

    candidates: Annotated[int, Field(ge=100, le=100_000)]


def influence(state: AppState, visitor: Visitor, asked: Asked) -> dict[str, Payload]:
    """Return what was compared (`facts`), and the ranking of the training sentences by `tracin` and by `bm25`."""
    ranking = _influence(state, visitor, asked)
    checkpoint = asked.checkpoint(state)
    inputs = interpret.encode_inputs(checkpoint, asked.text_a, asked.text_b)
    probability = float(interpret.class_scores(checkpoint, inputs, ranking.target)[ranking.target.index])
    facts = influence_facts(ranking, probability, _LEFT_OUT)
    return {"facts": facts, "tracin": tracin_payload(ranking), "bm25": bm25_payload(ranking)}


def leave_out(state: AppState, visitor: Visitor, asked: Asked, by: Method, count: Count, steps: Index | None) -> str:
    """Queue a run without the first sentences of a ranking, without random ones, or without none; return its id."""
    from bertviz_lab.training.runs.training_text import read_training_text, without_sentences

    name, folder = _trained(state, visitor, asked)
    tokenizer = asked.checkpoint(state).tokenizer
    text = read_training_text(folder, tokenizer)
    if by in ("TracIn", "BM25"):
        ranking = _influence(state, visitor, asked)
        places = ranking.helpful(count) if by == "TracIn" else ranking.nearest(count)
        sentences = tuple(ranking.sentences[at] for at in places)
    else:  # other ones each time
        number = count if by == "random" else 0
        drawn = random.Random(len(_runs_of(state, visitor, name))).sample(range(len(text.sentences)), number)
        sentences = tuple(tokenizer.decode(text.sentences[at], skip_special=False) for at in drawn)
    last = state.snapshots.reader(name).steps()[-1]
    own = folder / "tokenizer"
    config = without_sentences(text.config, own if own.is_dir() else folder, sentences, steps or last)
    copies = tuple(path for path in (folder / "texts").glob("*") if str(path) in config.corpus)
    run_id: str = state.quota.start(visitor, config, copies)
    title = "trained again" if by == "nothing" else f"{len(sentences)} left out by {by}"
    state.runs.annotate(run_id, RunNotes(name=title, tags=(_TAG, name), note="\n".join(sentences)[:2000]))
    return run_id


def retrained(state: AppState, visitor: Visitor, asked: Asked) -> dict[str, Any]:
    """Return the prediction by this model and by those trained again (`chart`, None without any).

    `runs` are [name, status] of those that are not finished, and `active` is whether any of them trains or waits.
    """
    name, _ = _trained(state, visitor, asked)
    runs = {run: state.runs.state(run) for run in _runs_of(state, visitor, name)}
    done = [run for run, of_run in runs.items() if of_run.status == "finished"][:_SHOWN_RUNS]
    waiting = [
        [state.runs.name(run), f"{of_run.status}, step {of_run.step:,} of {of_run.total_steps or 0:,}"]
        for run, of_run in runs.items()
        if of_run.status != "finished"
    ]
    active = any(of_run.status in ACTIVE for of_run in runs.values())
    if not done:
        return {"chart": None, "runs": waiting, "active": active}
    checkpoint, inputs, target = _opened(state, asked)
    opened = [(name, checkpoint), *((state.runs.name(run), state.models.open(run)) for run in done)]
    scores = [(title, interpret.class_scores(other, inputs, target)) for title, other in opened]
    tops = most_probable((of_run for _, of_run in scores), _SHOWN_TOKENS)
    tokens = list(dict.fromkeys([target.index, *tops]))
    names = [checkpoint.tokenizer.token(token) for token in tokens]
    chart = retrained_payload(names, [(title, of_run[tokens].tolist()) for title, of_run in scores])
    return {"chart": chart, "runs": waiting, "active": active}


def _trained(state: AppState, visitor: Visitor, asked: Asked) -> tuple[str, Path]:
    """Return the name and the folder of a model whose training is known. Raises `InputError` for another one."""
    name = asked.name(state)
    if not state.snapshots.has_snapshots(name):
        raise InputError(_NO_SNAPSHOTS)
    if state.models.is_run(name):
        state.models.require_owner(visitor, name, "can see the sentences that it was trained on")
        if not state.is_kind(name, PretrainConfig):
            raise InputError(_NO_SNAPSHOTS)
    return name, state.snapshots.folder(name)


def _opened(state: AppState, asked: Asked) -> tuple[Any, Any, Any]:
    checkpoint, inputs, target = asked.opened(state)
    if target.kind != "token":
        raise InputError("Training sentences are ranked for the prediction of a masked token.")
    return checkpoint, inputs, target


def _influence(state: AppState, visitor: Visitor, asked: Asked) -> Any:
    """Return the `TrainingInfluence` of a prediction, computed once for all that is asked about it."""
    from bertviz_lab.training.runs.training_text import read_training_text

    name, folder = _trained(state, visitor, asked)
    checkpoint, inputs, target = _opened(state, asked)
    reader = state.snapshots.reader(name)

    def compute() -> Any:
        text = read_training_text(folder, checkpoint.tokenizer)
        return interpret.training_influence(
            lambda step: state.snapshots.open(name, step),
            reader.steps(),
            text.sentences,
            *inputs.encoding.texts,
            counts=text.counts,
            learning_rate=text.learning_rate,
            target=target,
            candidates=asked.candidates,
            on_progress=report_progress,
        )

    version = tuple(path.stat().st_mtime_ns for path in sorted((folder / "snapshots").glob("*.safetensors")))
    return state.remembered(("influence", name, version, target, asked), compute)


def _runs_of(state: AppState, visitor: Visitor, name: str) -> list[str]:
    """Return the visitor's runs that train a model again, the newest first."""
    tags = {_TAG, name}
    return [run for run in state.models.visible_runs(visitor) if tags <= {*state.runs.notes(run).tags}]


QUESTIONS = questions(targets, slow=[influence, leave_out, retrained])
