"""Compare: runs beside each other, and short runs that take the recipe apart."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import gradio as gr

from bertviz_lab.config.ablations import STEPS
from bertviz_lab.errors import InputError
from bertviz_lab.figures.interpret.attention import attention_payload
from bertviz_lab.figures.interpret.comparison import comparison_payload
from bertviz_lab.figures.interpret.side_by_side import follows_payload, heads_payload
from bertviz_lab.figures.payload import message_payload
from bertviz_lab.ui.app_state import AppState
from bertviz_lab.ui.components.chart import chart
from bertviz_lab.ui.components.heads_beside import heads_beside
from bertviz_lab.ui.components.notice import notice, notice_payload
from bertviz_lab.ui.components.recipe_cards import recipe_cards
from bertviz_lab.ui.components.run_compare import run_compare
from bertviz_lab.ui.error_handling import clicked, in_order, picture, sentence_of
from bertviz_lab.ui.rpc import Rpc
from bertviz_lab.ui.run_panel import strip_of
from bertviz_lab.ui.validation import checked
from bertviz_lab.ui.view_contract import QUIET
from bertviz_lab.ui.views.ablation import study as ablation_runs
from bertviz_lab.ui.views.compare import runs as run_comparison

_MOST_REMEMBERED = 50  # runs of one browser
_LONGEST = 64  # tokens of a sentence whose heads are shown for every model


@dataclass(frozen=True)
class Compare:
    """What the rest of the page joins: the tab is drawn when the page opens and again when it is looked at."""

    session: AppState
    chosen: gr.Dropdown
    comparison: gr.HTML
    cards: gr.HTML
    message: gr.HTML
    steps: gr.Number
    seed: gr.Number
    text: gr.Textbox
    text_b: gr.Textbox
    ask: gr.Button
    answers: tuple[gr.HTML, gr.HTML, gr.HTML]

    def join(self, page: gr.Blocks, tab: gr.Tab, own: gr.BrowserState, direct: Rpc, strip: gr.HTML) -> None:
        """Join the parts; to be called once all of the page is drawn."""
        session = self.session
        everything = [self.chosen, self.comparison, self.cards, self.steps, self.seed, self.text]
        page.load(in_order(partial(open_tab, session)), [own, self.chosen, self.steps, self.seed], everything, **QUIET)
        for news in (tab.select, strip.run_changed):
            news(partial(refresh, session), [own, self.chosen], self.chosen, **QUIET)
        self.chosen.change(picture(partial(draw, session)), [own, self.chosen], self.comparison, **QUIET)
        for field in (self.steps, self.seed):
            field.change(picture(partial(cards_of, session)), [own, self.steps, self.seed], self.cards, **QUIET)
        self.cards.train_request(
            clicked(partial(queue, session)),
            [own, self.chosen, self.steps, self.seed],
            [own, self.cards, self.chosen, self.message, strip],
            **QUIET,
        )
        self.cards.compare_request(
            clicked(partial(set_beside, session)), [own, self.chosen], self.chosen, **QUIET
        ).then(None, js="() => document.querySelector('#compare-runs')?.scrollIntoView({block: 'start'})")
        asked = [own, self.chosen, self.text, self.text_b]
        for trigger in (self.ask.click, self.text.submit, self.text_b.submit):
            direct.ask(trigger, in_order(partial(answer, session)), asked, list(self.answers), slow=True)


def create_compare(session: AppState) -> Compare:
    """Draw the tab."""
    gr.HTML(
        "<p class='lead'>Training runs compared: how their settings and results differ. "
        "Further down: <a href='#recipe-apart'>an ablation study of BERT's recipe.</a></p>"
    )
    first = run_comparison.beginning(session, ())
    chosen = gr.Dropdown(
        run_comparison.choices(session, ()),
        value=first,
        multiselect=True,
        max_choices=run_comparison.MOST,
        allow_custom_value=True,
        label="Runs",
        info=f"Up to {run_comparison.MOST}; they may still be training.",
        elem_id="compare-chosen",
    )
    comparison = run_compare(poll=partial(session.follow), elem_id="compare-runs")
    with gr.Accordion("Same input for all models", open=False, elem_id="compare-ask-part"):
        with gr.Row(elem_classes="ask"):
            text = gr.Textbox(label="Sentence with [MASK]", lines=1, max_lines=4, scale=5, elem_id="compare-text")
            text_b = gr.Textbox(label="Sentence B (optional)", lines=1, max_lines=4, scale=4, elem_id="compare-b")
            ask = gr.Button("Predict", variant="primary", scale=0, min_width=100, elem_id="compare-ask")
        fills = chart(label="Predictions of each model", elem_id="compare-fills")
        follows = chart(label="Does B follow A? (NSP)", elem_id="compare-follows")
        heads = heads_beside(elem_id="compare-heads")
    gr.HTML(
        "<h2 id='recipe-apart'>Ablation study</h2><p class='lead'>What does each part of BERT's recipe contribute? "
        "Remove one, predict the effect, and test it. All runs share the same stories, the same seed and the same "
        "number of steps; about a minute each on two idle cores, one after the other.</p>"
    )
    message = notice(elem_id="recipe-message")
    cards = recipe_cards(
        look=partial(ablation_runs.look, session), reveal=partial(ablation_runs.reveal, session), elem_id="recipe-cards"
    )
    with gr.Accordion("Training settings", open=False, elem_id="recipe-settings"), gr.Row(elem_classes="settings"):
        steps = gr.Number(
            STEPS,
            precision=0,
            label="Steps of each run",
            info="More steps give clearer results.",
            elem_id="recipe-steps",
        )
        seed = gr.Number(0, precision=0, label="Seed", info="Another seed shows the variance.", elem_id="recipe-seed")
    return Compare(session, chosen, comparison, cards, message, steps, seed, text, text_b, ask, (fills, follows, heads))


def open_tab(session: AppState, own: Any, names: Any, steps: Any, seed: Any) -> tuple[Any, ...]:
    """The page opens: (runs to choose, comparison, cards, steps, seed, sentence)."""
    own = _runs(session, own)
    first = run_comparison.beginning(session, own)
    steps, seed = ablation_runs.newest_set(session, own)
    return (
        gr.update(choices=run_comparison.choices(session, own), value=first),
        picture(draw)(session, own, first),
        picture(cards_of)(session, own, steps, seed),
        steps,
        seed,
        _sentence(session, first),
    )


def refresh(session: AppState, own: Any, names: Any) -> Any:
    """The tab is looked at, or a run has reached another state: what can be chosen now."""
    own = _runs(session, own)
    names = names or run_comparison.beginning(session, own)
    return gr.update(choices=run_comparison.choices(session, own), value=names)


def draw(session: AppState, own: Any, names: Any) -> str:
    """The comparison of the chosen runs."""
    return run_comparison.draw(session, _runs(session, own), names)


def cards_of(session: AppState, own: Any, steps: Any, seed: Any) -> str:
    """The cards of the recipe, for runs of so many steps from a seed."""
    return ablation_runs.cards(session, _runs(session, own), steps, seed)


def queue(session: AppState, data: dict[str, Any], own: Any, names: Any, steps: Any, seed: Any) -> tuple[Any, ...]:
    """Train what was ticked: (own runs, cards, runs to choose, message, strip).

    They are not set beside each other at once: their curves would give away what a person is to predict.
    """
    own = _runs(session, own)
    try:
        started = ablation_runs.queue(session, own, data.get("names"), steps, seed)
    except Exception as error:
        cards = picture(cards_of)(session, own, steps, seed)
        return own, cards, gr.skip(), notice_payload(sentence_of(error)), gr.skip()
    own = [*reversed(started), *own][:_MOST_REMEMBERED]
    strip = strip_of(session, started[0]) if started else gr.skip()
    chosen = gr.update(choices=run_comparison.choices(session, own), value=names)
    return own, cards_of(session, own, steps, seed), chosen, "", strip


def set_beside(session: AppState, data: dict[str, Any], own: Any, names: Any) -> Any:
    """The runs of the cards are chosen above."""
    own = _runs(session, own)
    asked = [str(run) for run in data.get("runs", ()) if str(run) in session.models.visible_runs(own)]
    return gr.update(choices=run_comparison.choices(session, own), value=asked[: run_comparison.MOST] or names)


def answer(session: AppState, own: Any, names: Any, text: Any, text_b: Any) -> tuple[str, str, str]:
    """What each of the chosen models says to a sentence: (words for its masked tokens, whether B follows, heads)."""
    try:
        found = run_comparison.chosen(session, _runs(session, own), names)
        checkpoints, labels = [], []
        for name in found:
            checkpoints.append(session.models.open(name))
            labels.append(run_comparison.name_of(session, name))
    except Exception as error:
        return message_payload(sentence_of(error)), *(message_payload("Nothing to show yet."),) * 2
    return (
        picture(_fills)(checkpoints, labels, text),
        picture(_follows)(checkpoints, labels, text, text_b),
        picture(_heads)(checkpoints, labels, text, text_b),
    )


def _fills(checkpoints: Sequence[Any], labels: Sequence[str], text: Any) -> str:
    from bertviz_lab.interpret import compare_fill_mask

    compared = compare_fill_mask(checkpoints, checked(text), top_k=5)
    return comparison_payload(replace(compared, names=tuple(labels)))


def _follows(checkpoints: Sequence[Any], labels: Sequence[str], text: Any, text_b: Any) -> str:
    from bertviz_lab.interpret import next_sentence

    first, second = checked(text), checked(text_b)
    if not second.strip():
        raise InputError("Type a sentence B, and each model predicts whether it follows.")
    shares: list[float | None] = []
    for checkpoint in checkpoints:
        asked = checkpoint.architecture in ("BertForPreTraining", "BertForNextSentencePrediction")
        shares.append(next_sentence(checkpoint, first, second).is_next if asked else None)
    return follows_payload(labels, shares)


def _heads(checkpoints: Sequence[Any], labels: Sequence[str], text: Any, text_b: Any) -> str:
    from bertviz_lab.interpret import trace_text

    grids = []
    for checkpoint in checkpoints:
        trace = trace_text(checkpoint, checked(text), checked(text_b).strip() or None)
        if len(trace.tokens) > _LONGEST:
            raise InputError(f"For the heads of several models the sentence may have {_LONGEST} tokens; shorten it.")
        grids.append(attention_payload(trace.tokens, trace.encoding.token_type_ids, trace.attentions))
    return heads_payload(labels, grids)


def _sentence(session: AppState, names: Sequence[str]) -> Any:
    """An example that the first of the chosen models can be asked."""
    try:
        return session.examples(names[0]).masked[0]
    except (InputError, IndexError):
        return gr.skip()


def _runs(session: AppState, own: Any) -> list[str]:
    """The remembered runs that are still there; what a browser sends may be anything."""
    ids = [run_id for run_id in own if isinstance(run_id, str)] if isinstance(own, list) else []
    return [run_id for run_id in ids[:_MOST_REMEMBERED] if session.models.is_run(run_id)]
