"""Fine-tune, the last part: what a run came to, its mistakes, and one example after another looked into."""

from functools import partial
from pathlib import Path
from typing import Any

import gradio as gr

from bertviz_lab.config import FinetuneConfig
from bertviz_lab.config.finetune import RANDOM
from bertviz_lab.errors import InputError
from bertviz_lab.figures.interpret.attention import difference_payload
from bertviz_lab.figures.interpret.attribution import attribution_payload
from bertviz_lab.figures.payload import message_payload
from bertviz_lab.figures.training.finetuning import per_class_payload, reliability_payload, slices_payload
from bertviz_lab.ui.app_state import AppState
from bertviz_lab.ui.components import attention_grid
from bertviz_lab.ui.components.chart import chart
from bertviz_lab.ui.components.example_list import example_list
from bertviz_lab.ui.components.facts import facts, facts_payload
from bertviz_lab.ui.components.scores import scores
from bertviz_lab.ui.error_handling import clicked, picture, sentence_of
from bertviz_lab.ui.metric_names import NAMES
from bertviz_lab.ui.result_views import confusion_view, listed_view, summary_view, trials_view
from bertviz_lab.ui.rpc import Rpc
from bertviz_lab.ui.training_view import ResultsView
from bertviz_lab.ui.view_contract import QUIET, CollapsedView

_EXPLANATION = """
<p><b>Precision</b> is the share of a label's predictions that are correct, <b>recall</b> the share of its true examples
that are predicted, and</p>
<p class="formula">F1 = 2 · precision · recall / (precision + recall)</p>
<p><b>Macro</b> averages weigh every label the same, however rare. <b>MCC</b> is the correlation between truth and
prediction: 0 is chance, 1 is perfect. Entities count only if both boundaries and the type are correct
(as in seqeval); answers are compared without case, punctuation and articles (as in SQuAD).</p>
<p><b>Expected calibration error (ECE)</b>: predictions are put into ten bins by confidence; it is the mean gap between
confidence and accuracy, weighted by bin size. (Guo et al. 2017)</p>
"""


def create_results(session: AppState, direct: Rpc, run: gr.Dropdown) -> ResultsView:
    """Draw the results of the run that is chosen in `run`."""
    gr.HTML("<h2>5. Results</h2>")
    summary = facts(label="Metrics on the held-out set", elem_id="results-summary")
    with gr.Column(visible=False) as body:
        trials = chart(label="Trials of this run", elem_id="results-trials")
        with gr.Row(equal_height=False):
            with gr.Column(scale=5, min_width=300):
                confusion = chart(label="Confusion matrix", elem_id="results-confusion")
                everything = gr.Button(
                    "Show all examples", size="sm", scale=0, visible=False, min_width=160, elem_id="results-all"
                )
            with gr.Column(scale=6, min_width=300):
                listed = example_list(label="Held-out examples, highest loss first", elem_id="results-list")
        strip = scores(label="Attribution: what each token contributes", elem_id="results-why")
        with gr.Accordion(
            "Attention before and after fine-tuning", open=False, elem_id="results-attention-part"
        ) as seen:
            attention = attention_grid(label="Attention difference", elem_id="results-attention")
        with gr.Accordion("Per-label metrics", open=False, elem_id="results-labels-part") as labels_part:
            labels = chart(label="Precision, recall and F1 per label", elem_id="results-labels")
        with gr.Accordion("Calibration", open=False, elem_id="results-sure-part") as sure_part:
            sure = chart(label="Reliability diagram", elem_id="results-sure")
        with gr.Accordion("Slice analysis", open=False, elem_id="results-slices-part") as slices_part:
            slices = chart(label="Metrics by length and label", elem_id="results-slices")
        with gr.Accordion("How are these metrics defined?", open=False):
            gr.HTML(_EXPLANATION, elem_classes="explanation")
    chosen = gr.Textbox("", visible=False)  # the place of the example that is looked into
    drawn = gr.Textbox("", visible=False)  # which state of which run is on show

    parts = (
        CollapsedView(
            direct, "attention", seen, picture(partial(before_after, session)), [run, chosen], attention, slow=True
        ),
        CollapsedView(direct, "labels", labels_part, picture(partial(each_label, session)), [run], labels),
        CollapsedView(direct, "sure", sure_part, picture(partial(confidence, session)), [run], sure),
        CollapsedView(direct, "slices", slices_part, picture(partial(parts_of, session)), [run], slices),
    )
    cell = confusion.item_select(clicked(partial(pick_cell, session)), run, [listed, everything], **QUIET)
    cell.then(None, js="() => document.querySelector('#results-list')?.scrollIntoView({block: 'nearest'})")
    everything.click(partial(all_examples, session), run, [listed, everything], **QUIET)
    picked = listed.example_select(clicked(lambda data: str(data.get("index", ""))), None, chosen, **QUIET)
    picked.then(None, js="() => document.querySelector('#results-why')?.scrollIntoView({block: 'nearest'})")
    shown = direct.ask(picked.then, picture(partial(explain, session)), [run, chosen], strip, slow=True)
    parts[0].follow(shown)
    outputs = [drawn, summary, body, trials, confusion, listed, everything, chosen, strip]
    return ResultsView(partial(draw_results, session), [run, drawn], outputs, parts)


def results_of(session: AppState, run_id: str | None) -> Any:
    """What a run came to, read again when it has come to more. Raises `InputError` before its first result."""
    from bertviz_lab.interpret import read_results

    folder = session.runs.folder(run_id or "")
    return session.remembered(("results", str(folder), _stamp(folder)), lambda: read_results(folder))


def _stamp(folder: Path) -> int:
    report = folder / "report.json"
    return report.stat().st_mtime_ns if report.is_file() else 0


def draw_results(session: AppState, run_id: str | None, drawn: str = "") -> tuple[Any, ...]:
    """All of it for the run that is shown; one sentence where there is nothing yet.

    `drawn` is what was drawn last: where nothing has changed since, everything stays as the person left it.
    """
    hidden = gr.update(visible=False)
    nothing = (hidden, hidden, "", "", hidden, "", "")
    if not session.is_kind(run_id, FinetuneConfig):
        return (
            "",
            facts_payload([], note="Press Fine-tune: metrics, errors and their attributions appear here."),
            *nothing,
        )
    state = f"{run_id} {_stamp(session.runs.folder(run_id or ''))}"
    if drawn == state:
        return (gr.skip(),) * (2 + len(nothing))
    try:
        found = results_of(session, run_id)
        return (
            state,
            summary_view(found),
            gr.update(visible=True),
            trials_view(found),
            confusion_view(found),
            listed_view(found, found.picked()),
            hidden,
            "",
            message_payload("Choose an example above to see the attribution of its prediction."),
        )
    except InputError as error:
        return "", facts_payload([], note=str(error)), *nothing
    except Exception as error:
        return "", facts_payload([], note=sentence_of(error), tone="error"), *nothing


def pick_cell(session: AppState, data: dict[str, Any], run_id: str | None) -> tuple[Any, Any]:
    """The examples of a cell of the confusion matrix, and a button back to all."""
    found = results_of(session, run_id)
    if found.task != "classification":
        return gr.skip(), gr.skip()
    names = found.report.labels
    row, column = int(data.get("row", -1)), int(data.get("column", -1))
    if not (0 <= row < len(names) and 0 <= column < len(names)):
        return gr.skip(), gr.skip()
    title = f"{names[row]}, predicted as {names[column]}" if row != column else f"{names[row]}, correct"
    return listed_view(found, found.picked(names[row], names[column]), title), gr.update(visible=True)


def all_examples(session: AppState, run_id: str | None) -> tuple[Any, Any]:
    """All held-out examples again."""
    found = results_of(session, run_id)
    return listed_view(found, found.picked()), gr.update(visible=False)


def _example(session: AppState, run_id: str | None, chosen: str) -> tuple[Any, Any, Any]:
    """(results, example, prediction). Raises `InputError` while none is chosen."""
    found = results_of(session, run_id)
    place = int(chosen) if str(chosen).isdigit() else -1
    if not 0 <= place < len(found.examples):
        raise InputError("Choose an example above first.")
    return found, found.examples[place], found.predictions[place]


def _model(session: AppState, run_id: str | None) -> Any:
    """The run's best model, which made the predictions; not its newest checkpoint."""
    folder = session.runs.folder(run_id or "") / "model"
    return session.models.open_folder(folder, "the fine-tuned model")


def explain(session: AppState, run_id: str | None, chosen: str) -> str:
    """What each token of the chosen example adds to the answer."""
    from bertviz_lab.interpret import explain_example

    _, example, prediction = _example(session, run_id, chosen)
    attributions = explain_example(_model(session, run_id), example, prediction)
    (first, *_) = attributions
    title = ""
    if first.target.kind == "word":  # a sentence has many labels: say whose this is
        start, end = first.encoding.offsets[first.target.position]
        title = f"Attribution for the prediction {first.target.title} of “{first.encoding.text_a[start:end]}”"
    return attribution_payload(attributions, title=title)


def before_after(session: AppState, run_id: str | None, chosen: str) -> str:
    """The attention of the fine-tuned model less that of the one it was before, on the chosen example."""
    from bertviz_lab.interpret import attention_difference, texts_of_example, trace_text, untrained

    _, example, _ = _example(session, run_id, chosen)
    after = _model(session, run_id)
    config = session.runs.config(run_id or "")
    assert isinstance(config, FinetuneConfig)
    if config.model == RANDOM:
        before = untrained(after)
    elif Path(config.model).is_dir():
        before = session.models.open_folder(Path(config.model), Path(config.model).name)
    else:
        before = session.models.open(config.model)
    texts = texts_of_example(example)
    one, other = (trace_text(checkpoint, *texts) for checkpoint in (before, after))
    return difference_payload(
        one.tokens,
        one.encoding.token_type_ids,
        attention_difference(one, other),
        "After fine-tuning minus before",
        special=one.encoding.special_tokens_mask,
    )


def each_label(session: AppState, run_id: str | None) -> str:
    """Precision, recall and F1 of each label."""
    found = results_of(session, run_id)
    if found.report is None:
        raise InputError("There are no labels in this task.")
    return per_class_payload(found.words_report if found.task == "tokens" else found.report)


def confidence(session: AppState, run_id: str | None) -> str:
    """Whether it is right as often as it is sure."""
    return reliability_payload(results_of(session, run_id).calibration())


def parts_of(session: AppState, run_id: str | None) -> str:
    """The score by length and by label."""
    found = results_of(session, run_id)
    return slices_payload(found.slices(), NAMES.get(found.measure, found.measure).lower())
