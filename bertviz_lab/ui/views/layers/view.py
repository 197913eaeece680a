"""What Layers asks: the prediction at every layer, norms, the embedding sum, and what probes read off each layer."""

from typing import Any, Literal

import numpy as np

from bertviz_lab.config import family_notes
from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import Payload, figure
from bertviz_lab.figures.probing import (
    MEASURES,
    ProbeMeasure,
    lens_fit_payload,
    probes_over_training_payload,
    probes_payload,
)
from bertviz_lab.figures.results import embedding_body
from bertviz_lab.ui.lazy import interpret
from bertviz_lab.ui.server.scheduler import report_progress
from bertviz_lab.ui.server.visitors import Visitor
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.view import Index, Input, Word, questions

Norms = Literal["hidden", "attention", "feed_forward"]
#: The text that a lens is fitted on where a model's own is not here.
_SAMPLE = "sample:docstrings"


def lens(state: AppState, asked: Input, position: Index | None) -> Payload:
    """Return the prediction for a [MASK] at every layer: the one at `position`, or else the first."""
    return _lens_payload(asked.checkpoint(state), *asked.texts, position)


def tuned(state: AppState, asked: Input, position: Index | None) -> dict[str, Payload | None]:
    """Return the same by the tuned lens (`lens`), and how well it fits (`fit`); None where none has been fitted yet."""
    checkpoint = asked.checkpoint(state)
    (tuned_lens,) = kept_lens(state, asked)
    if tuned_lens is None:
        _lens_payload(checkpoint, *asked.texts, position)  # what is wrong with the text comes first
        return {"lens": None, "fit": None}
    fit = lens_fit_payload(tuned_lens.fit) if tuned_lens.fit else None
    return {"lens": _lens_payload(checkpoint, *asked.texts, position, tuned_lens), "fit": fit}


def fit_lens(state: AppState, visitor: Visitor, asked: Input) -> None:
    """Fit a tuned lens on the text of a run or of a sample, and keep it: with the run, else while the page runs."""
    from bertviz_lab.data.corpora.read import read_documents
    from bertviz_lab.training.runs.training_text import read_training_text

    checkpoint, name = asked.checkpoint(state), asked.name(state)
    tokenizer, folder, is_run = checkpoint.tokenizer, state.models.known_folder(name), state.models.is_run(name)
    if is_run:
        state.models.require_owner(visitor, name, "can fit a lens on its text")
    try:
        if folder is None:
            raise InputError("This model has no text here.")
        sentences = list(read_training_text(folder, tokenizer).sentences)
    except InputError:
        documents = read_documents([_SAMPLE])
        ids = tokenizer.ids([sentence for document in documents for sentence in document.sentences])
        sentences = [np.array(sentence) for sentence in ids]
    fitted = interpret.fit_tuned_lens(checkpoint, sentences, on_progress=report_progress)
    kept_lens(state, asked)[:] = [fitted]
    if is_run and folder:
        fitted.save(folder)


def kept_lens(state: AppState, asked: Input) -> list[Any]:
    """Return a list with the tuned lens of a model, or with None; what is put into it is remembered."""
    folder = state.models.known_folder(asked.name(state))

    def load() -> list[Any]:
        return [interpret.TunedLens.load(folder, asked.checkpoint(state)) if folder else None]

    return state.remembered(("tuned lens", state.models.version(asked.model)), load)


def _lens_payload(
    checkpoint: Any, text_a: str, text_b: str, position: int | None, tuned_lens: Any | None = None
) -> Payload:
    inputs = interpret.encode_inputs(checkpoint, text_a, text_b)
    masks = inputs.encoding.mask_positions(checkpoint.tokenizer.mask_id)
    target = interpret.choose_target(checkpoint, inputs, position=position if position in masks else None)
    lens = interpret.logit_lens(checkpoint, text_a, text_b, target=target, tuned=tuned_lens)
    shown = {"target": lens.target, "layers": lens.layers, "is_tuned": lens.is_tuned}
    return figure("logit_lens", masks=masks, is_prenorm=checkpoint.config.is_prenorm, **shown)


def norms(state: AppState, asked: Input, position: Index | None) -> Payload:
    """Return norms by layer, of the token at `position` or the median of all."""
    checkpoint = asked.checkpoint(state)
    by_layer = interpret.norms_by_layer(checkpoint, *asked.texts)
    return figure("norms", position=position, norm_note=family_notes.norm_note(checkpoint.config), **vars(by_layer))


def token_norms(state: AppState, asked: Input, of: Norms) -> Payload:
    """Return the norms of one kind of vector, layer by layer and token by token."""
    checkpoint = asked.checkpoint(state)
    by_layer = interpret.norms_by_layer(checkpoint, *asked.texts)
    return figure("token_norms", kind=of, norm_note=family_notes.norm_note(checkpoint.config), **vars(by_layer))


def embedding_sum(state: AppState, asked: Input) -> Payload:
    """Return the vectors that are added for each token, and those that the family lacks in words."""
    checkpoint = asked.checkpoint(state)
    notes_of = (family_notes.segments_note, family_notes.positions_note, family_notes.factorization_note)
    notes = (note(checkpoint.config) for note in notes_of)
    summed = interpret.embedding_sum(checkpoint, *asked.texts)
    return figure("embedding_sum", note=" ".join(filter(None, notes)), **embedding_body(summed))


def tasks(state: AppState, asked: Input) -> dict[str, Any]:
    """Return the `tasks` of probes, [[task, title], ...], the `measures`, and whether there are `snapshots`."""
    from bertviz_lab.data.probes.probing_tasks import PROBING_TASKS

    name = asked.name(state)
    return {
        "tasks": [[task.name, task.title] for task in PROBING_TASKS.values()],
        "measures": list(MEASURES.items()),
        "snapshots": state.snapshots.has_snapshots(name) and len(state.snapshots.reader(name).steps()) > 1,
    }


def probes(state: AppState, asked: Input, task: Word) -> Payload:
    """Return what linear probes read off each layer, next to their control task and to random weights."""
    chosen, checkpoint = _task(task), asked.checkpoint(state)

    def compute() -> Any:
        sentences = chosen.read()
        trained = interpret.probe_layers(checkpoint, sentences, on_progress=lambda done: report_progress(done / 2))
        random = interpret.untrained(checkpoint)
        return trained, interpret.probe_layers(
            random, sentences, on_progress=lambda done: report_progress((1 + done) / 2)
        )

    trained, random = state.remembered(("probes", state.models.version(asked.model), task), compute)
    return probes_payload(trained, random, chosen.title)


def probes_over_training(state: AppState, asked: Input, task: Word, measure: ProbeMeasure) -> Payload:
    """Return one measure of the probes at each snapshot of a model's training."""
    chosen, name = _task(task), asked.name(state)
    steps = state.snapshots.reader(name).steps()

    def compute() -> Any:
        return interpret.probe_snapshots(
            lambda step: state.snapshots.open(name, step), steps, chosen.read(), on_progress=report_progress
        )

    of_steps = state.remembered(("probes over training", name, state.models.version(name), steps, task), compute)
    return probes_over_training_payload(of_steps, steps, measure, chosen.title)


def _task(name: str) -> Any:
    from bertviz_lab.data.probes.probing_tasks import PROBING_TASKS

    if name not in PROBING_TASKS:
        raise InputError(f"Choose one of {', '.join(PROBING_TASKS)}.")
    return PROBING_TASKS[name]


QUESTIONS = questions(
    *(lens, tuned, norms, token_norms, embedding_sum, tasks), slow=[fit_lens, probes, probes_over_training]
)
