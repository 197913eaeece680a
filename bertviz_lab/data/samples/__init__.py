"""Texts that are always there: one written by this program, one read from the user's own Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from bertviz_lab.data.documents import Document
from bertviz_lab.data.samples import docstrings, tiny_town


@dataclass(frozen=True)
class Sample:
    """A text that a person can train on without having one.

    Attributes:
        name: how the command line calls it, as `sample:name`.
        title: how the page calls it.
        description: a sentence or two, for people.
        documents: reads or writes it anew at every call.
        settings: options of a pretraining, by name, that do well on it within minutes.
        held_out: more of the same that is never trained on, `sample:name:held-out`; None where there is no more.
    """

    name: str
    title: str
    description: str
    documents: Callable[[], Iterator[Document]]
    settings: Mapping[str, Any] = field(default_factory=dict)
    held_out: Callable[[], Iterator[Document]] | None = None


SAMPLES = {
    sample.name: sample
    for sample in (
        Sample(
            "tiny-town",
            "Tiny Town",
            "4,000 short stories with about 400 words, written by this program. A small model learns them within "
            "minutes, and because the program knows what is true in each story, it can test what was learned.",
            tiny_town.stories,
            # Short examples at first: who is meant is found sooner among few words. Reading forwards first gains
            # nothing where a few hundred words stand in a few orders, and one layer does not find who is meant.
            {
                "preset": "tiny",
                "seq_len": 64,
                "short_seq_len": 32,
                "short_share": 0.25,
                "batch_size": 32,
                "time_budget": "2m",
                "causal_share": 0.0,
                "shallow_share": 0.0,
            },
            tiny_town.held_out,
        ),
        Sample(
            "docstrings",
            "Python's documentation",
            "Technical English prose from the documentation installed with your Python, about 1.6 MB. "
            "Real text is much harder than Tiny Town.",
            docstrings.documents,
            {"preset": "tiny", "seq_len": 64, "batch_size": 32, "time_budget": "5m"},
        ),
    )
}
