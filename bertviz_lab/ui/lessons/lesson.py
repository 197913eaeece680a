"""What a lesson is made of: an idea, things to look at, a question to predict, and what a measurement says."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlencode

if TYPE_CHECKING:  # data know nothing of the page; only their claims are asked with it
    from bertviz_lab.ui.app_state import AppState

#: The models that the lessons are about.
TOWN, REVIEWS = "tiny-town", "sentiment-mini"

#: The tabs that they lead to, by their ids.
TABS = {
    "fill": "Fill-mask",
    "next": "Next sentence",
    "attention": "Attention",
    "why": "Attribution",
    "vectors": "Embeddings",
    "input": "Tokens",
    "masking": "Masking",
    "pretrain": "Pretrain",
    "learning": "Training dynamics",
    "finetune": "Fine-tune",
    "try": "Inference",
}


@dataclass(frozen=True)
class Place:
    """A place in the page, as an address says it: a tab, a part of it that is folded away, and its fields.

    The values of fields may hold names in braces, which a lesson's measurement fills in.
    """

    tab: str
    part: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)

    def filled(self, numbers: Mapping[str, str]) -> "Place":
        """The same with what was measured in place of the names in braces."""
        return Place(self.tab, self.part, {name: value.format_map(numbers) for name, value in self.fields.items()})

    def address(self, model: str) -> str:
        """The part of a link behind the page's own address that leads to this place."""
        said = {"tab": self.tab, "model": model, "part": self.part, **self.fields}
        return "?" + urlencode({name: value for name, value in said.items() if value})


@dataclass(frozen=True)
class Step:
    """Something to look at: what to do there, and the place that one click sets up."""

    text: str
    place: Place


@dataclass(frozen=True)
class Finding:
    """What a measurement on the model said.

    `answer` is the index of the choice that it bears out, or None where it bears out none of them; `numbers` are what
    stands in braces in the lesson's texts; `bars` are (name, share from 0 to 1, its words) for a small picture.
    """

    answer: int | None
    numbers: Mapping[str, str]
    bars: tuple[tuple[str, float, str], ...]


@dataclass(frozen=True)
class Lesson:
    """One of the lessons. In its texts backticks mark tokens and code; `reveal` and `proof` hold names in braces.

    `claim(session, lesson)` measures what the lesson says of its model, whenever it is asked: no number of a lesson
    is written down anywhere.
    """

    number: int
    title: str
    minutes: int
    model: str
    idea: str
    look: tuple[Step, ...]  # before the question
    example: str  # the text that the question is about, "" where it is about none
    question: str
    choices: tuple[str, ...]
    answer: int
    claim: Callable[["AppState", "Lesson"], Finding]
    reveal: tuple[str, ...]  # paragraphs; those that come out empty are left out
    proof: tuple[Step, ...]  # after it
    formula: str
    formula_says: str
    source: str
    measured_by: str  # what the bars show

    @property
    def steps(self) -> tuple[Step, ...]:
        """All that can be set up, in order."""
        return self.look + self.proof
