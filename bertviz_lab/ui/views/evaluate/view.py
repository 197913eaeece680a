"""What the form of an evaluation asks: accuracies on minimal pairs, or the queued fine-tunings on GLUE's tasks."""

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bertviz_lab.config import FinetuneConfig
from bertviz_lab.data.tasks.glue import GLUE, GlueTask, find_glue
from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import Payload, facts_payload
from bertviz_lab.metrics.names import named_score
from bertviz_lab.strict_json import nan_for_null
from bertviz_lab.training.checkpoints.atomic_io import read_object
from bertviz_lab.training.runs.run_folder import ACTIVE
from bertviz_lab.training.runs.summary import RunNotes
from bertviz_lab.ui.forms import upload_size
from bertviz_lab.ui.lazy import interpret
from bertviz_lab.ui.server.downloads import download_folder
from bertviz_lab.ui.server.scheduler import report_progress
from bertviz_lab.ui.server.visitors import Visitor
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.view import Uploads, Word, questions
from bertviz_lab.ui.views.batch.view import CHARACTERS_PER_TOKEN, check_cost
from bertviz_lab.ui.views.run.view import current, setting_words

_WRONG = 100  # pairs that are shown
_GLUE = "GLUE"  # the first tag of its runs; the second is the task


def form(state: AppState) -> dict[str, Any]:
    """Return the label of the box for files."""
    size = upload_size(state.settings.limits)
    table = "a table with the columns good and bad, or BLiMP's .jsonl"
    return {"upload": f"Minimal pairs ({table}), or GLUE (.zip), up to {size}"}


def evaluate(state: AppState, visitor: Visitor, run: Word, files: Uploads) -> dict[str, Any]:
    """Return the accuracies of the model of a run on minimal pairs; or queue its fine-tuning on the tasks of GLUE.

    `started` is the run to follow, "" for none; `table` has the pairs with their scores as CSV. Without files there are
    no `scores`.
    """
    if not files:
        return {"scores": None, "started": ""}
    model, folder = run or current(state, visitor, ""), download_folder() / files[0].path.stem
    paths = [file.path for file in files]
    if any([state.files.unpack_glue(path, folder) for path in paths if path.suffix == ".zip"]):
        scores = start_glue(state, visitor, model, folder)
        runs = [run_id for run_id in glue_runs(state, visitor) if state.runs.state(run_id).status in ACTIVE]
        return {"scores": scores, "started": runs[0] if runs else ""}
    return _accuracies(state, model, paths) | {"started": ""}


def start_glue(session: AppState, visitor: Visitor, model: str, folder: Path) -> Payload:
    """Queue a fine-tuning on each task of a folder, all or none. Raises `InputError` where they may not be started."""
    from bertviz_lab.training.finetuning.glue import glue_config

    tasks, notes = find_glue(folder)
    settings = {"threads": session.settings.threads}
    start = str(session.models.start_folder(model))
    planned = [
        (files, replace(glue_config(start, files, 0, settings), test=tuple(map(str, files.scored)))) for files in tasks
    ]
    session.quota.check(visitor, planned[0][1], len(planned))
    for _, config in planned:
        session.quota.check_examples(config.epochs * session.labelled(config, model).report.train_count)
    for files, config in planned:
        run_id = session.quota.start(visitor, config, files.train)
        session.runs.annotate(run_id, RunNotes(files.task.title, (_GLUE, files.task.name)))
    titles = ", ".join(files.task.title for files in tasks)
    return facts_payload([], note=" ".join([f"Fine-tuning is queued on {titles}.", *notes]))


def glue_runs(session: AppState, visitor: Visitor) -> list[str]:
    """Return the runs on GLUE's tasks that a visitor is shown, in the order of the tasks, of each the newest."""
    runs: dict[str, str] = {}
    for run_id in session.models.visible_runs(visitor):
        tags = session.runs.notes(run_id).tags
        if tags[:1] == (_GLUE,) and len(tags) == 2:
            runs.setdefault(tags[1], run_id)
    return [runs[task.name] for task in GLUE if task.name in runs]


def suite(session: AppState, visitor: Visitor) -> Payload | None:
    """Return the official metrics of each task on its published set, or its run's status; None without runs."""
    tasks, items = {task.name: task for task in GLUE}, []
    for run_id in glue_runs(session, visitor):
        with contextlib.suppress(InputError, OSError):  # it has just been deleted
            task, config = tasks[session.runs.notes(run_id).tags[1]], session.runs.config(run_id)
            if not isinstance(config, FinetuneConfig):
                continue  # a person may tag any run
            start = setting_words(session, config.model)
            items.append(
                (f"{task.title}, {start}", _test_scores(session, run_id, task) or session.runs.state(run_id).status)
            )
    note = "GLUE, the published sets, scored once each; the runs are in the table above."
    return facts_payload(items, note=note) if items else None


def _test_scores(session: AppState, run_id: str, task: GlueTask) -> str:
    """Return scores such as "F1 81.0%, Accuracy 72.3%"; "" until the run is finished."""
    test = read_object(session.runs.folder(run_id) / "report.json").get("test")
    scores = nan_for_null(test["scores"]) if test else {}
    return ", ".join(named_score(metric, scores[metric]) for metric in task.metrics if metric in scores)


def _accuracies(session: AppState, model: str, paths: Sequence[Path]) -> dict[str, Any]:
    from bertviz_lab.training.finetuning.predict import csv_text

    checkpoint, pairs = session.models.open(model), session.files.minimal_pairs(paths)
    lengths = [
        min(checkpoint.max_length, len(text) / CHARACTERS_PER_TOKEN) for pair in pairs for text in (pair.good, pair.bad)
    ]
    # Each token is masked in a copy of its own.
    check_cost(checkpoint, "pairs", len(pairs), sum(length * (2 + length) for length in lengths), 1)
    report = interpret.score_minimal_pairs(
        checkpoint,
        pairs,
        threads=session.settings.threads,
        on_progress=lambda done, total: report_progress(done / total),
    )
    phenomena = [(name.replace("_", " "), f"{share:.1%}") for name, share in report.by_phenomenon.items()]
    low, high = report.interval
    done = f"{len(pairs):,} pairs scored with {checkpoint.name} by pseudo-log-likelihood (Salazar et al. 2020); "
    done += f"95% interval {low:.1%} to {high:.1%}, chance is 50%."
    wrong = [f"{s.pair.bad} ({s.bad:.2f}); {s.pair.good} ({s.good:.2f})" for s in report.scores if s.right < 1]
    more = (f"The bad sentence is as likely or likelier: {len(wrong):,}", wrong[:_WRONG]) if wrong else None
    rows = [(s.pair.kind, s.pair.good, s.pair.bad, round(s.good, 4), round(s.bad, 4), s.right) for s in report.scores]
    table = csv_text([("phenomenon", "good", "bad", "log_p_good", "log_p_bad", "right"), *rows])
    scores = facts_payload([("all", f"{report.accuracy:.1%}"), *phenomena], note=done, more=more)
    return {"scores": scores, "table": table, "name": f"pairs-{checkpoint.name}.csv"}


QUESTIONS = questions(form, suite, slow=[evaluate])
