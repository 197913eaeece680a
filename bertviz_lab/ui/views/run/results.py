"""The results of a fine-tuning: its scores, its mistakes, and one example after another."""

from pathlib import Path
from typing import Any

from bertviz_lab.config import FinetuneConfig
from bertviz_lab.config.finetune import RANDOM
from bertviz_lab.config.limits import words_of
from bertviz_lab.data.examples import LabelledWords, Question, RelatedTexts
from bertviz_lab.errors import InputError
from bertviz_lab.figures.attention import attention_body
from bertviz_lab.figures.payload import Payload, facts_payload, figure
from bertviz_lab.figures.results import attribution_body
from bertviz_lab.figures.training import finetuning as figures
from bertviz_lab.figures.training.data import Item, answer_item, examples_payload, label_item, number_item, words_item
from bertviz_lab.figures.training.panels import TASK_SCORES
from bertviz_lab.metrics.classification import ClassificationReport
from bertviz_lab.metrics.names import NAMES, format_deviation, format_score, named_score
from bertviz_lab.ui.lazy import interpret
from bertviz_lab.ui.server.scheduler import report_progress
from bertviz_lab.ui.server.visitors import Visitor
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.view import Index, Word

MOST_LISTED = 200


def results_of(state: AppState, run_id: str) -> Any:
    """Return the results of a run, read again when there are more. Raises `InputError` before its first result."""
    folder = state.runs.folder(run_id)
    # Once read they take ten times as much.
    files = [folder / "predictions.jsonl", folder / "examples" / "held_out.jsonl"]
    size = sum(path.stat().st_size for path in files if path.is_file())
    if size > state.settings.limits.upload_bytes:
        raise InputError(
            f"The predictions of this run are {words_of('bytes', size)}, more than this page shows; download its model "
            "and look at them on a machine of your own."
        )
    return state.remembered(("results", str(folder), report_version(folder)), lambda: interpret.read_results(folder))


def report_version(folder: Path) -> int:
    """Return a number that changes with the results of a fine-tuning; 0 before its first."""
    report = folder / "report.json"
    return report.stat().st_mtime_ns if report.is_file() else 0


def summary(state: AppState, run_id: Word) -> str:
    """Return the scores of the best model, next to those of the baseline and of random weights."""
    results = results_of(state, run_id)
    items = [(NAMES[name], format_score(name, value)) for name, value in results.scores.items() if name in NAMES]
    baseline_score = results.baselines.get(results.metric)
    if baseline_score is not None:
        baseline = TASK_SCORES[results.task].baseline
        items.append((baseline[:1].upper() + baseline[1:], format_score(results.metric, baseline_score)))
    random = [trial for trial in results.trials if trial["random"]]
    if random:
        items.append(("Random-weights baseline", format_score(results.metric, random[0]["scores"][results.metric])))
    note = f"Evaluated on {len(results.examples):,} held-out examples after training on {results.train_count:,}."
    for statistics in results.seed_statistics:
        mean, spread = (statistics[name].get(results.metric) for name in ("mean", "deviation"))
        if mean is not None:
            wide = f" ± {format_deviation(results.metric, spread)}" if spread is not None else ""
            of = f"{statistics['name']}: mean" if statistics["name"] else "Mean"
            note += f" {of} of {statistics['count']} seeds {format_score(results.metric, mean)}{wide}."
    if len(results.trials) > 1:
        note += " The model was selected on these same examples, so its score is optimistic."
    if len(results.trials) < results.planned:
        note += f" {len(results.trials)} of {results.planned} trainings have ended."
    return facts_payload(items, lead=verdict(results), note=note)


def verdict(results: "interpret.Results") -> str:
    """Return how good the model is, beside which baseline, and which error it makes most often."""
    name, baseline = results.metric, results.baselines.get(results.metric)
    score, words = results.scores[name], named_score(name, results.scores[name])
    if baseline is not None:
        gap = f"{format_deviation(name, abs(score - baseline))} {'above' if score > baseline else 'below'}"
        gap = gap if score != baseline else "the same as"
        words += f", {gap} the {TASK_SCORES[results.task].baseline} ({format_score(name, baseline)})"
    report = results.words_report if results.task == "tokens" else results.report
    if isinstance(report, ClassificationReport):
        return f"{words}. {figures.most_frequent_error(report)}".strip()
    return f"{words}. {_errors(results)}".strip()


def _errors(results: "interpret.Results") -> str:
    """Return how many examples have an error; "" where predictions are not right or wrong."""
    if results.task == "regression" or any(score < 0 for score in results.example_scores):
        return ""
    return f"{int((results.example_scores < 1).sum()):,} of {len(results.examples):,} have an error."


def trials(state: AppState, run_id: Word) -> Payload | None:
    """Return the trials side by side; None where there is one only."""
    results = results_of(state, run_id)
    return figures.trials_payload(results) if len(results.trials) > 1 else None


def confusion(state: AppState, run_id: Word) -> Payload:
    """Return the confusion matrix, or what a task without one has in its place."""
    return confusion_view(results_of(state, run_id))


def examples(
    state: AppState, visitor: Visitor, run_id: Word, row: Index | None = None, column: Index | None = None
) -> Payload:
    """Return the held-out examples, mistakes first; those of one cell of the confusion matrix where one is chosen."""
    results, places, title = _of_cell(state, visitor, run_id, row, column)
    return listed_view(results, places, title)


def table(
    state: AppState, visitor: Visitor, run_id: Word, row: Index | None = None, column: Index | None = None
) -> list[dict[str, Any]]:
    """Return all of these examples for a file, each with the file that it was read from and its row there."""
    results, places, _ = _of_cell(state, visitor, run_id, row, column)
    return [_item(results, place)["row"] for place in places]


def texts(state: AppState, visitor: Visitor, run_id: Word, example: Index) -> list[str]:
    """Return an example as the texts A and B of Explore."""
    results = _with_example(state, visitor, run_id, example)
    return [text or "" for text in results.examples[example].inputs]


def _of_cell(
    state: AppState, visitor: Visitor, run_id: str, row: int | None, column: int | None
) -> tuple["interpret.Results", list[int], str]:
    """Return the results, and the places and the title of the examples of a cell, or of all where none is chosen."""
    state.models.require_owner(visitor, run_id, "shows its examples")
    results = results_of(state, run_id)
    if row is None or column is None or results.task != "classification":
        return results, results.picked(), "Held-out examples, errors first"
    names = results.report.labels
    if not (row < len(names) and column < len(names)):
        raise InputError("The confusion matrix has no such cell.")
    title = f"{names[row]}, predicted as {names[column]}" if row != column else f"{names[row]}, correct"
    return results, results.picked(names[row], names[column]), title


def attribution(state: AppState, visitor: Visitor, run_id: Word, example: Index) -> Payload:
    """Return what each token of an example contributes to its prediction."""
    results = _with_example(state, visitor, run_id, example)
    told = results.examples[example], results.predictions[example]
    attributions = interpret.explain_example(_model(state, run_id), *told, on_progress=report_progress)
    (first, *_) = attributions
    title = ""
    if first.target.kind == "word":  # a sentence has many labels: say whose this is
        start, end = first.encoding.offsets[first.target.position]
        title = f"Attribution for the prediction {first.target.title} of “{first.encoding.text_a[start:end]}”"
    return figure("attribution", title=title, **attribution_body(attributions))


def attention(state: AppState, visitor: Visitor, run_id: Word, example: Index) -> dict[str, Any]:
    """Return the attention of the fine-tuned model minus that of the model it started from, on an example."""
    texts = _with_example(state, visitor, run_id, example).examples[example].inputs
    after = _model(state, run_id)
    config = state.runs.config(run_id)
    assert isinstance(config, FinetuneConfig)
    if config.model == RANDOM:
        before = interpret.untrained(after)
    elif Path(config.model).is_dir():
        before = state.models.open_folder(Path(config.model), Path(config.model).name)
    else:
        before = state.models.open(config.model)
    trace_before, trace_after = (interpret.trace_text(checkpoint, *texts) for checkpoint in (before, after))
    return attention_body(
        trace_before.encoding,
        interpret.attention_difference(trace_before, trace_after),
        "After fine-tuning minus before",
        number="difference",
    )


def labels(state: AppState, run_id: Word) -> Payload:
    """Precision, recall and F1 of each label."""
    results = results_of(state, run_id)
    if results.report is None:
        raise InputError("There are no labels in this task.")
    return figures.per_class_payload(results.words_report if results.task == "tokens" else results.report)


def calibration(state: AppState, run_id: Word) -> Payload:
    """Return whether the model is right as often as it is confident."""
    return figures.reliability_payload(results_of(state, run_id).calibration())


def slices(state: AppState, run_id: Word) -> Payload:
    """Return the score by length and by label."""
    results = results_of(state, run_id)
    return figures.slices_payload(results.slices(), results.measure)


def confusion_view(results: "interpret.Results") -> Payload:
    """Return the confusion matrix; for words and several labels their metrics, for other tasks scores by length."""
    report = results.report
    if report is None:
        return figures.slices_payload(results.slices(), results.measure)
    if isinstance(report, ClassificationReport) and results.task == "classification":
        return figures.confusion_payload(report)
    return figures.per_class_payload(report)


def listed_view(
    results: "interpret.Results", places: list[int], title: str = "Held-out examples, errors first"
) -> Payload:
    """Return the examples at some places, in that order."""
    examples = [_item(results, place) for place in places[:MOST_LISTED]]
    sentence = _errors(results)
    if len(places) > MOST_LISTED:
        sentence += f" The first {MOST_LISTED} are shown."
    return examples_payload(examples, title=title, sentence=sentence, key=results.task)


def _item(results: "interpret.Results", place: int) -> Item:
    """Return the example at a place of the held-out set, with its file and its row there."""
    item, example = _drawn(results, place), results.examples[place]
    return item | {"row": {"file": example.file, "row": example.row} | item["row"]}


def _drawn(results: "interpret.Results", place: int) -> Item:
    example, prediction = results.examples[place], results.predictions[place]
    if isinstance(example, LabelledWords):
        return words_item(place, example.words, example.labels, prediction.labels)
    if isinstance(example, Question):
        score, confidence = float(results.example_scores[place]), float(results.confidences[place])
        return answer_item(place, example, prediction.label, score, confidence)
    if isinstance(example, RelatedTexts):
        cosine = float(prediction.label)
        if example.score is not None:
            return number_item(place, example.anchor, example.score, cosine, example.positive)
        return label_item(place, example.anchor, "rank 1", f"rank {prediction.rank}", cosine, example.positive)
    if isinstance(example.label, float):
        return number_item(place, example.text_a, example.label, float(prediction.label), example.text_b)
    truth, predicted = example.label, prediction.label
    if isinstance(truth, tuple):
        truth, predicted = (", ".join(sorted(labels)) or "no label" for labels in (truth, prediction.labels))
    return label_item(place, example.text_a, truth, predicted, max(prediction.probabilities), example.text_b)


def _with_example(state: AppState, visitor: Visitor, run_id: str, example: int) -> Any:
    """Return the results, which have an example of that number. Raises `InputError` where they have none."""
    state.models.require_owner(visitor, run_id, "shows its examples")
    results = results_of(state, run_id)
    if example >= len(results.examples):
        raise InputError("Choose an example above first.")
    return results


def _model(state: AppState, run_id: str) -> Any:
    """Return the run's best model, which made the predictions; not its newest checkpoint."""
    return state.models.open_folder(state.runs.folder(run_id) / "model", "the fine-tuned model")
