"""The recipe taken apart: cards to tick, predict on, and reveal what came of it."""

from collections.abc import Callable
from typing import Any

import gradio as gr

from bertviz_lab.ui.components.assemble import Assembly, component

RECIPE_CARDS = Assembly("recipe", ("picture.js", "recipe_card.js", "recipe_cards.js"), ("recipe_cards.css",))


def recipe_cards(
    value: str = "",
    *,
    look: Callable[[list[str]], dict[str, Any]],
    reveal: Callable[[str, str, str, dict[str, str]], str],
    label: str = "The recipe taken apart",
    **options: Any,
) -> gr.HTML:
    """The cards; their value comes from `figures.recipes.recipe_payload`.

    `look(runs)` answers with {run: {"status", "step", "total_steps", "message"}}, asked every two seconds while one of
    them is under way; `reveal(ablation, whole, run, predicted)` with `figures.recipes.outcome` as JSON. Both are called
    outside Gradio's queue. What a person predicts stays in their browser.

    Events: `train_request` {names} when the ticked ones are to be trained, `compare_request` {runs} to see their curves
    side by side.
    """

    def look_of(arguments: list[Any]) -> dict[str, Any]:
        # Gradio hands over a single argument as it is, and several as one list.
        return look(arguments)

    def reveal_of(arguments: list[Any]) -> str:
        name, whole, run, predicted = arguments
        return reveal(name, whole, run, predicted)

    look_of.__name__, reveal_of.__name__ = "look", "reveal"
    return component(RECIPE_CARDS, value=value, label=label, server_functions=[look_of, reveal_of], **options)
