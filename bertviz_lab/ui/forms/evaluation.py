"""Evaluate, folded away below the runs: files of minimal pairs in, the accuracy per phenomenon out."""

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import gradio as gr

from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import message_payload
from bertviz_lab.ui.components.facts import facts, facts_payload
from bertviz_lab.ui.event_options import QUIET
from bertviz_lab.ui.forms.training_view import upload_size
from bertviz_lab.ui.server.error_handling import sentence_of
from bertviz_lab.ui.server.uploads import uploaded_paths
from bertviz_lab.ui.server.visitors import visitor_of
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.state.metric_names import shown
from bertviz_lab.ui.views.run.view import current

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.data.probes import MinimalPair
    from bertviz_lab.training.checkpoints.checkpoint import Checkpoint

_QUESTIONS = 20  # that files of pairs may cost as much as
_CHARACTERS_PER_TOKEN = 3
_AT_ONCE = 200  # pairs between two looks at the scores so far


def create_evaluation(session: AppState) -> None:
    """Draw the part and join it."""
    with gr.Accordion("Evaluate on minimal pairs", open=False, elem_id="evaluate-part"):
        files = gr.File(
            label=f"BLiMP, or files in its format (.jsonl, or a .zip), up to {upload_size(session.settings.limits)}",
            file_types=[".jsonl", ".zip"],
            file_count="multiple",
            height=120,
            elem_id="evaluate-files",
        )
        scores = facts(
            label="Accuracy per phenomenon",
            empty="The model of the run above says which sentence of each pair is likelier, by pseudo-log-likelihood.",
            elem_id="evaluate-scores",
        )

    def evaluate(run: str, chosen: list[str], request: gr.Request) -> Iterator[str]:
        yield from evaluate_files(session, run or current(session, visitor_of(request), ""), chosen)

    files.upload(
        evaluate,
        [scores, files],  # in place of the scores goes the run that is open
        scores,
        js="(_, files) => [window.Lab.page.kept('run.id'), files]",
        **QUIET | {"concurrency_limit": 1},
    )
    files.clear(lambda: "", None, scores, **QUIET)


def evaluate_files(session: AppState, model: str, files: Sequence[str]) -> Iterator[str]:
    """The accuracies on the pairs that are scored so far, and at the end on all, or a sentence on what is wrong."""
    try:
        yield from _accuracies(session, model, files)
    except Exception as error:
        yield message_payload(sentence_of(error, shared=session.settings.shared))


def _accuracies(session: AppState, model: str, files: Sequence[str]) -> Iterator[str]:
    from bertviz_lab.interpret import MinimalPairReport, score_minimal_pairs

    checkpoint, pairs = session.models.open(model), session.files.minimal_pairs(uploaded_paths(files))
    _check_cost(checkpoint, pairs)
    report = MinimalPairReport(())
    for start in range(0, len(pairs), _AT_ONCE):
        part = pairs[start : start + _AT_ONCE]
        scores = score_minimal_pairs(checkpoint, part, threads=session.settings.threads).scores
        report = MinimalPairReport((*report.scores, *scores))
        phenomena = [(name.replace("_", " "), shown("accuracy", value)) for name, value in report.by_phenomenon.items()]
        done = f"{len(report.scores):,} of {len(pairs):,} pairs scored with {checkpoint.name}; guessing gives 50%."
        yield facts_payload([("all", shown("accuracy", report.accuracy)), *phenomena], note=done)


def _check_cost(checkpoint: "Checkpoint", pairs: "Sequence[MinimalPair]") -> None:
    """Raises `InputError` for more pairs, by their length, than twenty questions may take together."""
    from bertviz_lab.interpret.cost import forward_operations

    lengths = [len(text) / _CHARACTERS_PER_TOKEN for pair in pairs for text in (pair.good, pair.bad)]
    tokens = sum(min(length, checkpoint.max_length) * (2 + min(length, checkpoint.max_length)) for length in lengths)
    allowed = _QUESTIONS * checkpoint.limits.operations / forward_operations(checkpoint.config, 1)
    if tokens > allowed:
        raise InputError(
            f"These {len(pairs):,} pairs are too many for this page with this model; it takes about "
            f"{math.floor(len(pairs) * allowed / tokens):,}: give a part of them, or choose a smaller model."
        )
