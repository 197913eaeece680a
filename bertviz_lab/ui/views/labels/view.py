"""What the label check asks: doubted examples, the dataset map, decisions, corrected files, and a further training."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from bertviz_lab.config import FinetuneConfig
from bertviz_lab.data.corpora.reading_notes import pluralized
from bertviz_lab.data.examples import Label, LabelledText
from bertviz_lab.data.tasks.corrections import (
    CORRECTIONS_FILE,
    Correction,
    append_correction,
    newest,
    read_corrections,
    undo_correction,
    write_corrections,
)
from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import Payload, facts_payload, figure
from bertviz_lab.figures.training.data import examples_payload
from bertviz_lab.figures.training.label_check import alike_item, doubt_item, label_words, map_payload
from bertviz_lab.metrics.names import NAMES, format_score
from bertviz_lab.training.checkpoints.atomic_io import read_json, read_object, write_json
from bertviz_lab.training.runs.summary import RunNotes
from bertviz_lab.ui.server.downloads import download_folder
from bertviz_lab.ui.server.visitors import Visitor
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.view import Index, Word, questions
from bertviz_lab.ui.views.run.results import report_version

if TYPE_CHECKING:
    from bertviz_lab.training.finetuning.example_dynamics import DataMap
    from bertviz_lab.training.finetuning.label_check import LabelCheck

_MOST_LISTED = 300
_AGAIN_FILE = "trained_again.json"  # ids of the runs that learned from the corrections of one
Places = Annotated[list[Index], Field(max_length=20)]


@dataclasses.dataclass(frozen=True)
class _Checked:
    """A run, its examples, and what the label check found."""

    folder: Path
    labels: tuple[str, ...]
    splits: tuple[tuple[LabelledText, ...], ...]  # training, held-out and test examples
    found: "LabelCheck"
    points: "DataMap"

    def decisions(self) -> dict[LabelledText, Label | None]:
        """Return what was decided about each example last."""
        path = self.folder / CORRECTIONS_FILE
        return {each.example: each.corrected for each in read_corrections(path)} if path.is_file() else {}


def check(state: AppState, visitor: Visitor, run_id: Word) -> dict[str, Any]:
    """Check the labels of a run, once, and return what was found in numbers, the labels, and the decisions so far."""
    checked = _checked(state, visitor, run_id)
    found, count = checked.found, len(checked.splits[0])
    facts = [
        ("Run", state.runs.name(run_id)),
        ("Training examples", f"{count:,}"),
        ("Estimated wrong labels", f"{found.estimated:,} ({found.estimated / count:.1%})"),
        ("Near-duplicates with other labels", f"{len(found.conflicts):,}"),
        ("Leaked into training", f"{found.leaked:,}"),
    ]
    multiple = isinstance(checked.splits[0][0].label, tuple)
    return {"facts": facts_payload(facts), "labels": checked.labels, "multiple": multiple, **_progress(checked)}


def examples(state: AppState, visitor: Visitor, run_id: Word, places: Places = []) -> Payload:  # noqa: B006
    """Return the doubted examples, the most doubtful first, or the training examples at some places."""
    checked = _checked(state, visitor, run_id)
    doubts = {doubt.place: doubt for doubt in checked.found.doubts}
    texts, decisions = checked.splits[0], checked.decisions()
    shown = [place for place in places if place < len(texts)] or list(doubts)[:_MOST_LISTED]
    items = [doubt_item(n, texts[n], doubts.get(n), checked.found.epochs, decisions) for n in shown]
    title = "Chosen training examples" if places else "Doubted labels, the most doubtful first"
    about = f"Confident learning estimates that {checked.found.estimated:,} labels are wrong."
    if len(doubts) > _MOST_LISTED and not places:
        about += f" The first {_MOST_LISTED} of {len(doubts):,} doubts are shown."
    return examples_payload(items, title=title, sentence="" if places else about, key=run_id)


def dataset_map(state: AppState, visitor: Visitor, run_id: Word) -> Payload:
    """Return the dataset map; a point sends the place of its example."""
    checked = _checked(state, visitor, run_id)
    doubted = [doubt.place for doubt in checked.found.doubts[: max(100, checked.found.estimated)]]
    return map_payload(checked.points, checked.splits[0], doubted[:_MOST_LISTED])


def duplicates(state: AppState, visitor: Visitor, run_id: Word, kind: Literal["conflicts", "leaks"]) -> Payload:
    """Return near-duplicates with other labels, or in several splits. `members` are their places in the training."""
    from bertviz_lab.training.finetuning.label_check import SPLITS

    checked = _checked(state, visitor, run_id)
    groups = getattr(checked.found, kind)[:_MOST_LISTED]
    items = [
        alike_item(n, group.share, [(SPLITS[split], checked.splits[split][at]) for split, at in group.places])
        for n, group in enumerate(groups)
    ]
    sentence = "Choose one to see its training examples among the doubted labels." if items else ""
    titles = {"conflicts": "Near-duplicates with other labels", "leaks": "The same text in training and evaluation"}
    members = [[at for split, at in group.places if split == 0] for group in groups]
    return examples_payload(items, title=titles[kind], sentence=sentence).having(members=members)


def decide(
    state: AppState, visitor: Visitor, run_id: Word, place: Index, action: Literal["accept", "keep", "drop", "label"],
    label: Word = "",
) -> dict[str, Any]:  # fmt: skip
    """Decide about the label of an example, for which `label` names another one, or several with | between them."""
    checked = _checked(state, visitor, run_id)
    if place >= len(checked.splits[0]):
        raise InputError("There is no such training example.")
    text = checked.splits[0][place]
    corrected: Label | None = None if action == "drop" else text.label
    if action == "accept":
        doubt = next((doubt for doubt in checked.found.doubts if doubt.place == place), None)
        if doubt is None:
            raise InputError("There is no suggestion for this example: choose its label.")
        corrected = doubt.suggested
    elif action == "label":
        names = tuple(sorted({part.strip() for part in label.split("|")} - {""}))
        several = isinstance(text.label, tuple)
        if not set(names) <= set(checked.labels) or (len(names) != 1 and not several):
            raise InputError(f"Choose one of the labels {', '.join(checked.labels[:20])}.")
        corrected = names if several else names[0]
    append_correction(checked.folder / CORRECTIONS_FILE, Correction(text, corrected))
    return {"place": place, "decided": _decided(text, corrected), **_progress(checked)}


def undo(state: AppState, visitor: Visitor, run_id: Word) -> dict[str, Any]:
    """Take the last decision back; `place` is its example's, None where there is no decision."""
    checked = _checked(state, visitor, run_id)
    last, texts, decisions = undo_correction(checked.folder / CORRECTIONS_FILE), checked.splits[0], checked.decisions()
    place = texts.index(last.example) if last and last.example in texts else None
    before = _decided(texts[place], decisions[texts[place]]) if place is not None and texts[place] in decisions else ""
    return {"place": place, "decided": before, **_progress(checked)}


def corrected(state: AppState, visitor: Visitor, run_id: Word) -> list[dict[str, Any]]:
    """Return the training files with the corrected labels, in the formats that they came in where that is possible."""
    checked = _checked(state, visitor, run_id)
    return [dataclasses.asdict(file) for file in state.files.corrected(checked.folder, _config(state, run_id))]


def train_again(state: AppState, visitor: Visitor, run_id: Word, key: Word = "") -> str:
    """Start a run with the same settings on the corrected labels and return its id."""
    from bertviz_lab.training.finetuning.task_data import decided_labels

    checked, config = _checked(state, visitor, run_id), _config(state, run_id)
    decided = decided_labels(checked.folder, config)
    if not newest(decided):
        raise InputError("Correct a label first, or leave an example out.")
    path = download_folder() / CORRECTIONS_FILE
    write_corrections(path, decided)
    config = dataclasses.replace(config, corrections=str(path))
    texts = tuple(Path(name) for name in config.train if not name.startswith(("sample:", "dataset:")))
    started = state.quota.start(visitor, config, texts, tuple(map(Path, config.eval)), key)
    name = f"{state.runs.name(run_id)[:45]}, corrected"
    state.runs.annotate(started, RunNotes(name, ("corrected",), f"Trained again with {_progress(checked)['progress']}"))
    write_json(checked.folder / _AGAIN_FILE, [*(read_json(checked.folder / _AGAIN_FILE) or ()), started])
    return started


def compared(state: AppState, visitor: Visitor, run_id: Word) -> Payload | None:
    """Return the scores of a run and of those that learned from its corrections; None before the first has ended."""
    state.models.require_owner(visitor, run_id, "can check its labels")
    visible = state.models.visible_runs(visitor)
    families = ([name, *(read_json(state.runs.folder(name) / _AGAIN_FILE) or ())] for name in visible)
    family = next((runs for runs in families if run_id in runs and len(runs) > 1), [])
    reports = {name: read_object(state.runs.folder(name) / "report.json") for name in family if name in visible}
    reports = {state.runs.name(name): report for name, report in reports.items() if report}
    if len(reports) < 2:
        return None
    first = next(iter(reports.values()))
    metric, held_out = first["metric"], first["examples"]["held_out"]
    scores = {"held-out": [report["scores"][metric] for report in reports.values()]}
    if all(report["test"] for report in reports.values()):
        scores["test"] = [report["test"]["scores"][metric] for report in reports.values()]
    return figure(
        "bars",
        groups=list(reports),
        series=[(f"{NAMES[metric]}, {split}", values) for split, values in scores.items()],
        title="Trained again on corrected labels",
        texts=[[format_score(metric, value) for value in values] for values in scores.values()],
        number_format=".1%",
        sentence=f"The same {held_out} examples are held out: small differences may be chance, and a wrong label among "
        "them counts against the better model.",
        file="trained-again",
    )


def _config(state: AppState, run_id: str) -> FinetuneConfig:
    config = state.runs.config(run_id)
    assert isinstance(config, FinetuneConfig)
    return config


def _checked(state: AppState, visitor: Visitor, run_id: str) -> _Checked:
    """Return a visitor's run with its label check, which is made the first time. Raises `InputError`."""
    from bertviz_lab.training.finetuning.example_dynamics import DataMap
    from bertviz_lab.training.finetuning.label_check import label_check_of
    from bertviz_lab.training.finetuning.task_data import read_task_splits

    if run_id in state.models.shipped():
        raise InputError("The training examples of a shipped model are not here: choose a run of your own.")
    state.models.require_owner(visitor, run_id, "can check its labels")
    folder = state.runs.folder(run_id)
    version = report_version(folder)
    if not state.is_kind(run_id, FinetuneConfig) or not version:
        raise InputError("Labels are checked when the first trial of a fine-tuning has ended.")

    def read() -> _Checked:
        splits = read_task_splits(folder)
        parts: Any = (splits.train, splits.held_out, splits.test)
        return _Checked(folder, splits.labels, parts, label_check_of(folder), DataMap.read(folder))

    return state.remembered(("labels", str(folder), version), read)


def _decided(text: LabelledText, corrected: Label | None) -> str:
    return "keep" if corrected == text.label else label_words(corrected)


def _progress(checked: _Checked) -> dict[str, Any]:
    """Return how far the decisions are, as words and as whether there are any."""
    decisions = checked.decisions()
    kept = sum(label == text.label for text, label in decisions.items())
    dropped = sum(label is None for label in decisions.values())
    changed = len(decisions) - kept - dropped
    labels, examples = pluralized(changed, "label<s>"), pluralized(dropped, "example<s>")
    words = f"{labels} corrected, {examples} left out, {kept:,} kept."
    return {"progress": words, "undoable": bool(decisions), "changed": changed + dropped}


QUESTIONS = questions(decide, undo, compared, slow=[check, examples, dataset_map, duplicates, corrected, train_again])
