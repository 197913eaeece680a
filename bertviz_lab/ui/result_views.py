"""Results of fine-tuning as payloads: metrics, trials, the confusion matrix, and lists of examples."""

from typing import TYPE_CHECKING, Any

import gradio as gr

from bertviz_lab.data.tasks.examples import LabelledWords, Question
from bertviz_lab.figures.training.examples import (
    AnswerExample,
    LabelExample,
    NumberExample,
    Shown,
    WordsExample,
    examples_payload,
)
from bertviz_lab.figures.training.finetuning import confusion_payload, per_class_payload, slices_payload
from bertviz_lab.figures.training.trials import trials_payload
from bertviz_lab.metrics import ClassificationReport
from bertviz_lab.ui.components.facts import facts_payload
from bertviz_lab.ui.metric_names import NAMES, shown

if TYPE_CHECKING:  # the page opens without PyTorch
    from bertviz_lab.interpret import Results

_MOST_LISTED = 200


def trials_view(found: "Results") -> Any:
    """The trainings beside each other, where there are several."""
    if len(found.trials) < 2:
        return gr.update(visible=False)
    rows = [_row(trial) for trial in found.trials]
    payload = trials_payload(rows, found.task, baselines=found.guess, measure=found.metric)
    return gr.update(value=str(payload), visible=True)


def _row(trial: dict[str, Any]) -> dict[str, Any]:
    return {"name": trial["name"] or "this run", **trial["scores"], "best_step": trial["best_step"]}


def summary_view(found: "Results") -> str:
    """The scores of the best model, beside those of guessing and of random weights."""
    items = [(NAMES[name], shown(name, value)) for name, value in found.scores.items() if name in NAMES]
    guess = found.guess.get(found.metric)
    if guess is not None:
        items.append(("Majority-class baseline", shown(found.metric, guess)))
    random = [trial for trial in found.trials if trial["random"]]
    if random:
        items.append(("Random-weights baseline", shown(found.metric, random[0]["scores"][found.metric])))
    note = f"Evaluated on {len(found.examples):,} held-out examples after training on {found.train_count:,}."
    for family in found.families:
        mean, spread = (family[name].get(found.metric) for name in ("mean", "deviation"))
        if mean is not None:
            of = f"{family['name']}: " if family["name"] else ""
            wide = shown(found.metric, spread).removesuffix("%") if spread is not None else ""
            note += f" {of}mean of {family['count']} seeds {shown(found.metric, mean)} ± {wide}."
    if len(found.trials) > 1:
        note += " The model was selected on these same examples, so its score is optimistic."
    if len(found.trials) < found.planned:
        note += f" {len(found.trials)} of {found.planned} trainings have ended."
    return facts_payload(items, note=note)


def confusion_view(found: "Results") -> str:
    """The confusion matrix; for token labelling the metrics of each type, for other tasks the score by length."""
    report = found.report
    if report is None:
        return slices_payload(found.slices(), found.measure)
    if isinstance(report, ClassificationReport) and found.task == "classification":
        return confusion_payload(report)
    return per_class_payload(report)


def listed_view(found: "Results", places: list[int], title: str = "Held-out examples, highest loss first") -> str:
    """The examples at some places, in that order."""
    examples = [_as_shown(found, place) for place in places[:_MOST_LISTED]]
    wrong = int((found.example_scores < 1).sum())
    sentence = "" if found.task == "regression" else f"{wrong:,} of {len(found.examples):,} have an error."
    if len(places) > _MOST_LISTED:
        sentence += f" The first {_MOST_LISTED} are shown."
    return examples_payload(examples, title=title, sentence=sentence, key=found.task, file="examples")


def _as_shown(found: "Results", place: int) -> Shown:
    example, prediction = found.examples[place], found.predictions[place]
    if isinstance(example, LabelledWords):
        return WordsExample(index=place, words=example.words, truth=example.labels, predicted=prediction.labels)
    if isinstance(example, Question):
        answers = [answer.text for answer in example.answers]
        return AnswerExample(
            index=place,
            question=example.question,
            predicted=prediction.label,
            answers=answers,
            score=float(found.example_scores[place]),
            probability=float(found.confidences[place]) if prediction.label else None,
            detail=example.passage[:200],
        )
    if found.task == "regression":
        return NumberExample(
            index=place,
            text=example.text_a,
            text_b=example.text_b,
            truth=float(example.label),
            predicted=float(prediction.label),
        )
    return LabelExample(
        index=place,
        text=example.text_a,
        text_b=example.text_b,
        truth=str(example.label),
        predicted=prediction.label,
        probability=max(prediction.probabilities),
    )
