"""What a published page cannot compute, recorded: lessons, training dynamics, and what heads do on a corpus.

- Lessons: their measurements need gradients, training logs and time.
- Training dynamics: a snapshot has as many weights as the model, so a page carries what the lab would answer of a few
  texts, and not the snapshots.
- The corpus is a sample that comes with the lab. The model's own training text is never used: it may be private.
"""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bertviz_lab.data.samples.corpus_texts import CORPORA, sample_texts, suited_corpus
from bertviz_lab.errors import InputError
from bertviz_lab.interpret.corpora.corpus_index import index_corpus
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint
from bertviz_lab.training.checkpoints.snapshots import list_snapshots, snapshot_files
from bertviz_lab.training.runs.run_folder import SHIPPED_LOG
from bertviz_lab.training.runs.snapshot_reader import open_snapshots
from bertviz_lab.ui.languages import language_of, languages, translated
from bertviz_lab.ui.lessons import LESSONS
from bertviz_lab.ui.lessons.measuring import Published, lesson_page, measure
from bertviz_lab.ui.server.visitors import NOBODY
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views.corpus.view import head_answer
from bertviz_lab.ui.views.dynamics import view

_TEXTS = 1000  # of the corpus


def recorded_lessons(state: AppState, models: Sequence[str], views: Sequence[str]) -> dict[str, Any]:
    """Return the lessons on these models, with places in these views: {language: {"lessons": [...], "measured": ...}}.

    `lessons` are as the page asks for them; `measured` has for each number its pages after the measurement: "" where
    nothing was predicted, else the choice. {} where no lesson is on one of the models.
    """
    chosen = [lesson for lesson in LESSONS if lesson.model in models]
    published = Published([lesson.number for lesson in chosen], models, views)
    recorded = {}
    for code in dict(languages()) if chosen else ():
        say = language_of(code, code)
        listed = [
            lesson.listed | {"page": lesson_page(lesson, say, published=published)}
            for lesson in translated(tuple(chosen), say)
        ]
        pages = {}
        for lesson in chosen:
            answer = measure(state, lesson, say)
            choices = [None, *range(len(lesson.choices))]
            pages[lesson.number] = {
                "" if at is None else at: lesson_page(
                    answer.lesson, say, measured=answer, chosen=at, published=published
                )
                for at in choices
            }
        recorded[code] = {"lessons": listed, "measured": pages}
    return recorded


def snapshots_folder(model: Path) -> Path | None:
    """Return the folder with the snapshots of a model, two or more: its own where it ships with them, or its run's."""
    places = (model, model.parent, model.parent.parent)  # DIR, RUN/model, RUN/checkpoints/step-00000100
    return next((place for place in places if len(list_snapshots(place / "snapshots")) > 1), None)


def recorded_dynamics(model: Path, name: str, most: int, scratch: Path) -> list[dict[str, Any]]:
    """Return how the scrubber begins for each example, {"example": [text A, text B, words], "opening": payload}.

    The payloads have the frames of `most` snapshots, the first and the last among them, evenly spaced in between.
    `scratch` is an empty folder. Raises `InputError` where the model has no snapshots.
    """
    source = snapshots_folder(model)
    if source is None:
        raise InputError(f"{name} has no snapshots: publish the model in its run's folder, or leave out --snapshots.")
    there = open_snapshots(source, name).steps()
    steps = [there[place] for place in sorted({round(turn * (len(there) - 1) / (most - 1)) for turn in range(most)})]
    _lay_out(source, model, steps, scratch / "shipped" / name)
    state = AppState(Settings(runs_dir=scratch / "runs", checkpoints=scratch / "shipped"))
    return [_scrubber(state, name, *example) for example in view.examples(state, NOBODY, name)]


def _lay_out(source: Path, model: Path, steps: Sequence[int], folder: Path) -> None:
    """Copy a model and some snapshots into a folder as that of a model that ships: the page answers about it.

    What a run was trained on stays behind, so examples are those of the lab and no text of the run's owner.
    """
    (folder / "snapshots").mkdir(parents=True)
    log = next(path for path in (source / SHIPPED_LOG, source / "events.jsonl") if path.is_file())
    shutil.copy(log, folder / SHIPPED_LOG)
    for path in model.iterdir():
        if path.is_file() and path.name != SHIPPED_LOG:
            shutil.copy(path, folder)
    snapshots = source / "snapshots"
    chosen = [file for step, path in list_snapshots(snapshots) if step in steps for file in snapshot_files(path)]
    for path in (*snapshots.glob("*.json"), *chosen):
        shutil.copy(path, folder / "snapshots")


def _scrubber(state: AppState, name: str, text_a: str, text_b: str, words: str) -> dict[str, Any]:
    opening = json.loads(view.opening(state, name, text_a, text_b, words))
    frames = {
        step: json.loads(view.QUESTIONS["frame"].ask(state, opening["question"] | {"step": step}))
        for step in opening["steps"]
    }
    return {"example": [text_a, text_b, words], "opening": opening | {"first": None, "frames": frames}}


def recorded_corpus(checkpoint: Checkpoint) -> dict[str, Any]:
    """Return what the engine is asked of the heads of a model.

    `corpora` to choose from, [[name, title]]; `answers`, that of `heads` for each head, counted through all layers; the
    number of the `first` head that is shown; and the `metrics` of all heads by their names, for the axes of the map.
    """
    name = suited_corpus(checkpoint.tokenizer)
    index = index_corpus(checkpoint, sample_texts(name, _TEXTS), name=CORPORA[name], neurons=False)
    content = index.metrics["content"]
    places = [(layer, head) for layer in range(len(content)) for head in range(content.shape[1])]
    answers = [head_answer(index, checkpoint.tokenizer, (), *place) for place in places]
    return {
        "corpora": [[name, CORPORA[name]]],
        "first": int(content.argmax()),
        "answers": [
            {part: json.loads(body) if isinstance(body, str) else body for part, body in answer.items()}
            for answer in answers
        ],
        "metrics": {metric: values.tolist() for metric, values in index.metrics.items()},
    }
