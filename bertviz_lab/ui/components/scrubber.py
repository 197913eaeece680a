"""One slider over a training, and everything that a model makes of a text moving with it."""

from collections.abc import Awaitable, Callable
from typing import Any

import gradio as gr
from anyio import CapacityLimiter, to_thread

from bertviz_lab.ui.components.assemble import Assembly, component

SCRUBBER = Assembly(
    "learning",
    (
        "picture.js",
        "attention_data.js",
        "attention_overview.js",
        "attention_heatmap.js",
        "learning_axis.js",
        "learning_lines.js",
        "learning_frames.js",
        "learning_guesses.js",
        "learning_attention.js",
        "learning_more.js",
        "learning.js",
    ),
    ("attention_grid.css", "learning.css"),
)

_AT_ONCE = 2  # frames that are computed at a time, for all visitors together


def scrubber(
    value: str = "",
    *,
    frame: Callable[[str, int], str],
    news: Callable[[str, int], str],
    label: str = "How the model learnt",
    **options: Any,
) -> gr.HTML:
    """The scrubber; its value comes from `figures.dynamics.opening_payload`.

    `frame(question, step)` answers with `figures.dynamics.frame_payload`, or with a message where that step is gone;
    `news(question, last)` with what has changed since `last` was the last step that the page knew. The page asks for
    every frame once, those nearest to the slider first, and then draws out of what it has. Both are called outside
    Gradio's queue, in a lane of their own.
    """
    lane = CapacityLimiter(_AT_ONCE)
    functions = [_asked("frame", frame, (str, int), lane), _asked("news", news, (str, int), lane)]
    return component(SCRUBBER, value=value, label=label, server_functions=functions, **options)


def _asked(
    name: str, find: Callable[..., str], kinds: tuple[type, ...], lane: CapacityLimiter
) -> Callable[[list[Any]], Awaitable[str]]:
    """`find` as Gradio calls it: with one list of all arguments, and known to the page by its name."""

    async def answer(arguments: list[Any]) -> str:
        given = [kind(argument) for kind, argument in zip(kinds, arguments, strict=True)]
        return await to_thread.run_sync(find, *given, limiter=lane)

    answer.__name__ = name
    return answer
