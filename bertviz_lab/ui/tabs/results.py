"""Fine-tune, the last part: what a run came to, its mistakes, and one example after another looked into."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import gradio as gr

from bertviz_lab.config import FinetuneConfig
from bertviz_lab.config.finetune import RANDOM
from bertviz_lab.errors import InputError
from bertviz_lab.figures.attention import difference_payload
from bertviz_lab.figures.attribution import attribution_payload
from bertviz_lab.figures.examples import (
    AnswerExample,
    LabelExample,
    NumberExample,
    Shown,
    WordsExample,
    examples_payload,
)
from bertviz_lab.figures.finetuning import confusion_payload, per_class_payload, reliability_payload, slices_payload
from bertviz_lab.figures.payload import message_payload
from bertviz_lab.figures.trials import trials_payload
from bertviz_lab.ui.answers import clicked, picture, sentence_of
from bertviz_lab.ui.components import attention_grid
from bertviz_lab.ui.components.chart import chart
from bertviz_lab.ui.components.example_list import example_list
from bertviz_lab.ui.components.facts import facts, facts_payload
from bertviz_lab.ui.components.scores import scores
from bertviz_lab.ui.header import Header
from bertviz_lab.ui.session import Session
from bertviz_lab.ui.wiring import QUIET, Folded

_MOST_LISTED = 200
_NAMES = {
    "accuracy": "Accuracy",
    "f1": "F1",
    "macro_f1": "Macro F1",
    "mcc": "MCC",
    "spearman": "Spearman",
    "pearson": "Pearson",
    "mae": "Mean error",
    "precision": "Precision",
    "recall": "Recall",
    "exact_match": "Exact match",
    "has_answer_f1": "F1 where there is an answer",
    "no_answer_accuracy": "Right that there is none",
}
_EXPLANATION = """
<p><b>Precision</b> is the share of right ones among those that the model called so, <b>recall</b> the share that it
found of those that are so, and</p>
<p class="formula">F1 = 2 · precision · recall / (precision + recall)</p>
<p><b>Macro</b> scores count every label the same, however rare. <b>MCC</b> is the correlation between truth and
prediction: 0 for guessing, 1 for always right. Entities count only when both their ends and their type are right
(as in seqeval); answers are compared without capitals, punctuation and articles (as in SQuAD).</p>
<p><b>Expected calibration error</b>: predictions are put into ten groups by how sure the model was; it is the mean
distance between how sure and how often right, weighed by the groups' sizes. (Guo et al. 2017)</p>
"""


@dataclass(frozen=True)
class ResultsView:
    """What the rest of the page refers to: `draw(run)` gives a value for each of `outputs`."""

    draw: Callable[[str | None], Any]
    outputs: list[Any]


def create_results(session: Session, header: Header, run: gr.Dropdown) -> ResultsView:
    """Draw the results of the run that is chosen in `run`."""
    direct = header.direct
    gr.HTML("<h2>5. What it came to</h2>")
    summary = facts(label="Scores on the held-out examples", elem_id="results-summary")
    with gr.Column(visible=False) as body:
        trials = chart(label="The trainings of this run", elem_id="results-trials")
        with gr.Row(equal_height=False):
            with gr.Column(scale=5, min_width=300):
                confusion = chart(label="What is taken for what", elem_id="results-confusion")
                everything = gr.Button(
                    "All examples again", size="sm", scale=0, visible=False, min_width=160, elem_id="results-all"
                )
            with gr.Column(scale=6, min_width=300):
                listed = example_list(label="Held-out examples, the worst first", elem_id="results-list")
        strip = scores(label="What each token adds to this answer", elem_id="results-why")
        with gr.Accordion("Its attention, before and after", open=False, elem_id="results-attention-part") as seen:
            attention = attention_grid(label="How fine-tuning changed attention", elem_id="results-attention")
        with gr.Accordion("Each label", open=False, elem_id="results-labels-part") as labels_part:
            labels = chart(label="Scores of each label", elem_id="results-labels")
        with gr.Accordion("Is it right when it is sure?", open=False, elem_id="results-sure-part") as sure_part:
            sure = chart(label="Confidence and being right", elem_id="results-sure")
        with gr.Accordion("Short and long, easy and hard", open=False, elem_id="results-slices-part") as slices_part:
            slices = chart(label="Score by length and label", elem_id="results-slices")
        with gr.Accordion("What do these numbers mean?", open=False):
            gr.HTML(_EXPLANATION, elem_classes="explanation")
    chosen = gr.Textbox("", visible=False)  # the place of the example that is looked into

    parts = (
        Folded(direct, "attention", seen, picture(partial(before_after, session)), [run, chosen], attention, slow=True),
        Folded(direct, "labels", labels_part, picture(partial(each_label, session)), [run], labels),
        Folded(direct, "sure", sure_part, picture(partial(confidence, session)), [run], sure),
        Folded(direct, "slices", slices_part, picture(partial(parts_of, session)), [run], slices),
    )
    cell = confusion.item_select(clicked(partial(pick_cell, session)), run, [listed, everything], **QUIET)
    cell.then(None, js="() => document.querySelector('#results-list')?.scrollIntoView({block: 'nearest'})")
    everything.click(partial(all_examples, session), run, [listed, everything], **QUIET)
    picked = listed.example_select(clicked(lambda data: str(data.get("index", ""))), None, chosen, **QUIET)
    picked.then(None, js="() => document.querySelector('#results-why')?.scrollIntoView({block: 'nearest'})")
    shown = direct.ask(picked.then, picture(partial(explain, session)), [run, chosen], strip, slow=True)
    parts[0].follow(shown)
    outputs = [summary, body, trials, confusion, listed, everything, chosen, strip]
    draw = partial(draw_results, session)
    for part in parts[1:]:
        part.follow(run.change(None, None, None, **QUIET))
    return ResultsView(draw, outputs)


def results_of(session: Session, run_id: str | None) -> Any:
    """What a run came to, read again when it has come to more. Raises `InputError` before its first result."""
    from bertviz_lab.interpret import read_results

    folder = session.runs.folder(run_id or "")
    report = folder / "report.json"
    stamp = report.stat().st_mtime_ns if report.is_file() else 0
    return session.remembered(("results", str(folder), stamp), lambda: read_results(folder))


def draw_results(session: Session, run_id: str | None) -> tuple[Any, ...]:
    """All of it for the run that is shown; one sentence where there is nothing yet."""
    nothing = (gr.update(visible=False), "", "", "", gr.update(visible=False), "", "")
    if not session.is_kind(run_id, FinetuneConfig):
        return facts_payload([], note="Press Fine-tune: scores, mistakes and their reasons appear here."), *nothing
    try:
        found = results_of(session, run_id)
        return (
            _summary(found),
            gr.update(visible=True),
            _trials(found),
            _confusion(found),
            _listed(found, found.picked()),
            gr.update(visible=False),
            "",
            message_payload("Choose an example above to see which words its answer rests on."),
        )
    except InputError as error:
        return facts_payload([], note=str(error)), *nothing
    except Exception as error:
        return facts_payload([], note=sentence_of(error), tone="error"), *nothing


def _trials(found: Any) -> Any:
    """The trainings beside each other, where there are several."""
    if len(found.trials) < 2:
        return gr.update(visible=False)
    payload = trials_payload([_row(trial) for trial in found.trials], found.task, baselines=found.guess)
    return gr.update(value=str(payload), visible=True)


def _row(trial: dict[str, Any]) -> dict[str, Any]:
    return {"name": trial["name"] or "this training", **trial["scores"], "best_step": trial["best_step"]}


def _summary(found: Any) -> str:
    items = [(_NAMES[name], _shown(name, value)) for name, value in found.scores.items() if name in _NAMES]
    guess = found.guess.get(found.metric)
    if guess is not None:
        items.append(("Without a model", _shown(found.metric, guess)))
    random = [trial for trial in found.trials if trial["random"]]
    if random and found.start != RANDOM:
        items.append(("From random weights", _shown(found.metric, random[0]["scores"][found.metric])))
    note = f"On {len(found.examples):,} examples that it was not trained on, after {found.train_count:,} to learn from."
    if len(found.trials) < found.planned:
        note += f" {len(found.trials)} of {found.planned} trainings have ended."
    return facts_payload(items, note=note)


def _shown(name: str, value: float) -> str:
    return f"{value:.3f}" if name in ("mcc", "spearman", "pearson", "mae", "loss", "mse") else f"{value:.1%}"


def _confusion(found: Any) -> str:
    if found.task == "classification":
        return confusion_payload(found.report)
    if found.task == "tokens":
        return per_class_payload(found.report)
    return slices_payload(found.slices(), found.measure)


def _listed(found: Any, places: list[int], title: str = "Held-out examples, the worst first") -> str:
    shown = [_as_shown(found, place) for place in places[:_MOST_LISTED]]
    wrong = int((found.goodness < 1).sum())
    sentence = "" if found.task == "regression" else f"{wrong:,} of {len(found.examples):,} are not wholly right."
    if len(places) > _MOST_LISTED:
        sentence += f" The first {_MOST_LISTED} are shown."
    return examples_payload(shown, title=title, sentence=sentence, key=found.task, file="examples")


def _as_shown(found: Any, place: int) -> Shown:
    example, prediction = found.examples[place], found.predictions[place]
    if found.task == "tokens":
        return WordsExample(index=place, words=example.words, truth=example.labels, predicted=prediction.labels)
    if found.task == "qa":
        answers = [answer.text for answer in example.answers]
        return AnswerExample(
            index=place,
            question=example.question,
            predicted=prediction.label,
            answers=answers,
            score=float(found.goodness[place]),
            probability=float(found.certainty[place]) if prediction.label else None,
            detail=example.passage[:200],
        )
    if found.task == "regression":
        return NumberExample(
            index=place,
            text=example.text_a,
            text_b=example.text_b,
            truth=example.label,
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


def pick_cell(session: Session, data: dict[str, Any], run_id: str | None) -> tuple[Any, Any]:
    """The examples of a cell of the confusion matrix, and a button back to all."""
    found = results_of(session, run_id)
    names = found.report.labels
    row, column = int(data.get("row", -1)), int(data.get("column", -1))
    if not (0 <= row < len(names) and 0 <= column < len(names)):
        return gr.skip(), gr.skip()
    title = f"{names[row]}, taken for {names[column]}" if row != column else f"{names[row]}, rightly so"
    return _listed(found, found.picked(names[row], names[column]), title), gr.update(visible=True)


def all_examples(session: Session, run_id: str | None) -> tuple[Any, Any]:
    """All held-out examples again."""
    found = results_of(session, run_id)
    return _listed(found, found.picked()), gr.update(visible=False)


def _example(session: Session, run_id: str | None, chosen: str) -> tuple[Any, Any, Any]:
    """(results, example, prediction). Raises `InputError` while none is chosen."""
    found = results_of(session, run_id)
    place = int(chosen) if str(chosen).isdigit() else -1
    if not 0 <= place < len(found.examples):
        raise InputError("Choose an example above first.")
    return found, found.examples[place], found.predictions[place]


def _model(session: Session, run_id: str | None) -> Any:
    """The run's best model, which made the predictions; not its newest checkpoint."""
    folder = session.runs.folder(run_id or "") / "model"
    return session.models.open_folder(folder, "the fine-tuned model")


def explain(session: Session, run_id: str | None, chosen: str) -> str:
    """What each token of the chosen example adds to the answer."""
    from bertviz_lab.interpret import explain_example

    _, example, prediction = _example(session, run_id, chosen)
    attributions = explain_example(_model(session, run_id), example, prediction)
    (first, *_) = attributions
    title = ""
    if first.target.kind == "word":  # a sentence has many labels: say whose this is
        start, end = first.encoding.offsets[first.target.position]
        title = f"What makes the model say {first.target.title} of “{first.encoding.text_a[start:end]}”"
    return attribution_payload(attributions, title=title)


def before_after(session: Session, run_id: str | None, chosen: str) -> str:
    """The attention of the fine-tuned model less that of the one it was before, on the chosen example."""
    from pathlib import Path

    from bertviz_lab.interpret import attention_difference, texts_of_example, trace_text, untrained

    _, example, _ = _example(session, run_id, chosen)
    after = _model(session, run_id)
    config = session.runs.config(run_id or "")
    assert isinstance(config, FinetuneConfig)
    if config.model == RANDOM:
        before = untrained(after)
    else:
        before = session.models.open_folder(Path(config.model), Path(config.model).name)
    texts = texts_of_example(example)
    one, other = (trace_text(checkpoint, *texts) for checkpoint in (before, after))
    return difference_payload(
        one.tokens,
        one.encoding.token_type_ids,
        attention_difference(one, other),
        "After fine-tuning less before",
        special=one.encoding.special_tokens_mask,
    )


def each_label(session: Session, run_id: str | None) -> str:
    """Precision, recall and F1 of each label."""
    found = results_of(session, run_id)
    if found.report is None:
        raise InputError("There are no labels in this task.")
    return per_class_payload(found.words_report if found.task == "tokens" else found.report)


def confidence(session: Session, run_id: str | None) -> str:
    """Whether it is right as often as it is sure."""
    return reliability_payload(results_of(session, run_id).calibration())


def parts_of(session: Session, run_id: str | None) -> str:
    """The score by length and by label."""
    found = results_of(session, run_id)
    return slices_payload(found.slices(), _NAMES.get(found.measure, found.measure).lower())
