"""Results of fine-tuning as payloads: metrics, trials, the confusion matrix, and lists of examples."""

from typing import TYPE_CHECKING, Any

from bertviz_lab.data.examples import LabelledWords, Question, RelatedTexts
from bertviz_lab.figures.payload import Payload, facts_payload
from bertviz_lab.figures.training.data import Item, answer_item, examples_payload, label_item, number_item, words_item
from bertviz_lab.figures.training.finetuning import confusion_payload, per_class_payload, slices_payload, trials_payload
from bertviz_lab.figures.training.panels import TASK_SCORES
from bertviz_lab.metrics import ClassificationReport
from bertviz_lab.metrics.names import NAMES, format_deviation, format_score

if TYPE_CHECKING:  # the page opens without PyTorch
    from bertviz_lab.interpret import Results

_MOST_LISTED = 200


def trials_view(results: "Results") -> Payload | None:
    """Return the trials side by side; None where there is one only."""
    if len(results.trials) < 2:
        return None
    rows = [_row(trial) for trial in results.trials]
    return trials_payload(rows, results.task, baselines=results.baselines, measure=results.metric)


def _row(trial: dict[str, Any]) -> dict[str, Any]:
    return {"name": trial["name"] or "this run", **trial["scores"], "best_step": trial["best_step"]}


def summary_view(results: "Results") -> str:
    """Return the scores of the best model, next to those of the baseline and of random weights."""
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
    return facts_payload(items, note=note)


def confusion_view(results: "Results") -> Payload:
    """Return the confusion matrix; for words and several labels their metrics, for other tasks scores by length."""
    report = results.report
    if report is None:
        return slices_payload(results.slices(), results.measure)
    if isinstance(report, ClassificationReport) and results.task == "classification":
        return confusion_payload(report)
    return per_class_payload(report)


def listed_view(results: "Results", places: list[int], title: str = "Held-out examples, errors first") -> Payload:
    """Return the examples at some places, in that order."""
    examples = [_item(results, place) for place in places[:_MOST_LISTED]]
    wrong = int((results.example_scores < 1).sum())
    sentence = (
        ""
        if any(score < 0 for score in results.example_scores) or results.task == "regression"
        else f"{wrong:,} of {len(results.examples):,} have an error."
    )
    if len(places) > _MOST_LISTED:
        sentence += f" The first {_MOST_LISTED} are shown."
    return examples_payload(examples, title=title, sentence=sentence, key=results.task)


def _item(results: "Results", place: int) -> Item:
    example, prediction = results.examples[place], results.predictions[place]
    if isinstance(example, LabelledWords):
        return words_item(place, example.words, example.labels, prediction.labels)
    if isinstance(example, Question):
        answers = [answer.text for answer in example.answers]
        confidence = float(results.confidences[place]) if prediction.label else None
        score = float(results.example_scores[place])
        return answer_item(place, example.question, prediction.label, answers, score, confidence, example.passage[:200])
    if isinstance(example, RelatedTexts):
        cosine = float(prediction.label)
        if example.score is not None:
            return number_item(place, example.anchor, example.score, cosine, example.positive)
        return label_item(place, example.anchor, "rank 1", f"rank {prediction.rank}", cosine, example.positive)
    if isinstance(example.label, float):
        return number_item(place, example.text_a, example.label, float(prediction.label), example.text_b)
    truth, predicted = example.label, prediction.label
    if isinstance(truth, tuple):
        truth, predicted = _joined(truth), _joined(prediction.labels)
    return label_item(place, example.text_a, truth, predicted, max(prediction.probabilities), example.text_b)


def _joined(labels: tuple[str, ...]) -> str:
    return ", ".join(sorted(labels)) or "no label"
