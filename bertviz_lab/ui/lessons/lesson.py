"""What a lesson is made of: an idea, things to look at, a question to predict, and what a measurement says.

Its texts are in `texts/`, a file for each lesson. No number about a model is written there: names in braces are
measured on demand.
"""

import inspect
import pkgutil
import re
import textwrap
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import Any, ClassVar
from urllib.parse import urlencode

from bertviz_lab.ui.languages import Message

#: The models that most lessons are about: English, and a world whose truth is known.
ENGLISH, TOWN = "wiki-mini", "tiny-town"
#: A smaller one of English, for what differs from model to model.
TINY = "wiki-tiny"
#: TOWN trained again by its own recipe, with every selected token replaced by [MASK].
MASK_ONLY = "tiny-town-mask-only"

#: The places that they lead to, by the ids of views, or of forms of Train: where each is, in the page's own words.
PLACES = {
    "tokens": Message("Explore, panel Tokens"),
    "predictions": Message("Explore, panel Predictions"),
    "attention": Message("Explore, panel Attention"),
    "attribution": Message("Explore, panel Attribution"),
    "causes": Message("Explore, panel Causes"),
    "corpus": Message("Explore, panel Corpus search"),
    "embeddings": Message("Explore, panel Embeddings"),
    "layers": Message("Explore, panel Layers"),
    "run": Message("Runs, panel Training run"),
    "dynamics": Message("Runs, panel Training dynamics"),
    "ablation": Message("Runs, panel Ablation study"),
    "pretrain": Message("Train, Pretrain"),
    "finetune": Message("Train, Fine-tune"),
}


@dataclass(frozen=True)
class Place:
    """A place of the page: a view, the input of Explore, a fold of the view, and settings that the view keeps.

    Texts and the values of settings may hold names in braces, which a lesson's measurement fills in.
    """

    view: str
    text_a: str = ""
    text_b: str = ""
    part: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    other: str = ""  # the comparison model
    model: str = ""  # where it is another one than the lesson's

    @property
    def name(self) -> Message:
        return PLACES[self.view]

    @property
    def space(self) -> str:
        return self.name.split(",")[0].lower()

    def filled(self, numbers: Mapping[str, str]) -> "Place":
        """Return the place with measured values in place of the names in braces."""
        settings = {name: value.format_map(numbers) for name, value in self.settings.items()}
        texts = {"text_a": self.text_a.format_map(numbers), "text_b": self.text_b.format_map(numbers)}
        return replace(self, settings=settings, **texts)

    def opening(self, model: str) -> dict[str, Any]:
        """Return the argument of `page.open` (client/page.js)."""
        settings = {f"{self.view}.{name}": value for name, value in self.settings.items()}
        place: dict[str, Any] = {"space": self.space, "show": self.view, "part": self.part, "settings": settings}
        if self.space == "explore":
            texts = {"text_a": self.text_a, "text_b": self.text_b}
            place["input"] = {"model": self.model or model, "other": self.other, **texts}
        return place

    def address(self, model: str) -> str:
        """Return the query of a link to this place."""
        opening = self.opening(model)
        fold = {f"{self.view}.{self.part}": "open"} if self.part else {}
        panels = {} if self.space == "train" else {f"{self.space}.open": self.view}
        query = {"space": self.space, **opening.get("input", {}), **panels, **opening["settings"], **fold}
        query |= {"show": self.view, "part": self.part} if self.part else {}
        return "?" + urlencode({name: value for name, value in query.items() if value})


@dataclass(frozen=True)
class Step:
    """Something to look at: what to do there, and the place that one click sets up."""

    TEXTS: ClassVar = ("text",)

    text: str
    place: Place


@dataclass(frozen=True)
class Choice:
    """An answer that is offered; `why` is said to a person who chose it and was wrong, and "" for the right one."""

    TEXTS: ClassVar = ("text", "why")

    text: str
    why: str = ""


@dataclass(frozen=True)
class Control:
    """What else would have shown the result of a lesson, and the control that a person adds and runs.

    `told` is what it came to here; it may hold names in braces, as `reveal` does.
    """

    TEXTS: ClassVar = ("rival", "step", "told")

    rival: str
    step: Step
    told: str


@dataclass(frozen=True)
class Finding:
    """The result of a measurement on the model.

    `answer` is the index of the choice that it confirms for the lesson's own text, or None where it confirms none;
    `numbers` replace the names in braces in the lesson's texts; `bars` are (name, share from 0 to 1, its words). What
    languages write differently is a `Message` or `Number` (`ui/languages`). `held` are the cases: did the claim hold?
    """

    answer: int | None
    numbers: Mapping[str, str]
    bars: tuple[tuple[str, float, str], ...]
    held: Sequence[bool]
    control: tuple[tuple[str, float, str], ...] = ()  # bars of the control


@dataclass(frozen=True)
class Lesson:
    """One of the lessons. In its texts backticks mark tokens and code; `reveal` and `proof` hold names in braces.

    `table` is published figures or facts: a header, then rows. Its cells without a letter are numbers.

    `measuring.CLAIMS` has the function that measures what the lesson says of its model.
    """

    #: What is translated into the language of the course.
    TEXTS: ClassVar = (
        "title", "idea", "look", "question", "choices", "cases", "reveal", "proof", "formula", "formula_says", "source",
        "measured_by", "control", "table_says",
    )  # fmt: skip

    number: int
    title: str
    minutes: int
    model: str
    idea: str
    look: tuple[Step, ...]  # before the question
    example: str  # the text that the question is about, "" where it is about none
    question: str
    choices: tuple[Choice, ...]
    cases: str  # what the claim is tried on, after "of 12": "texts in which ..."
    reveal: tuple[str, ...]  # paragraphs; those that come out empty are left out
    control: Control  # then
    proof: tuple[Step, ...]  # after it
    formula: str
    formula_says: str
    source: str
    measured_by: str  # what the bars show
    code: str  # the lines that compute it, as "module:name" within this package
    notebook: str  # of `notebooks/`, which computes it step by step
    hour: int  # the first hour is for everybody, the second for those who want more
    table: tuple[tuple[str, ...], ...] = ()
    table_says: str = ""  # what the table shows, and its source
    lights: tuple[str, ...] = ()  # the parts of the picture of BERT that it is about (interpret/architecture.py)

    def source_code(self) -> tuple[Message, str]:
        """Return where the lesson's code and notebook are, and the code."""
        module, *_ = self.code.split(":")
        lines, line = inspect.getsourcelines(pkgutil.resolve_name(f"bertviz_lab.{self.code}"))
        named: dict[str, Any] = {"file": f"bertviz_lab/{module.replace('.', '/')}.py", "notebook": self.notebook}
        place = Message("{file}, line {line}. Step by step: notebooks/{notebook}.ipynb", line=line, **named)
        return place, textwrap.dedent("".join(lines))

    @property
    def answer(self) -> int:
        """Return the index of the right choice: the only one that needs no reason against it."""
        (right,) = (at for at, choice in enumerate(self.choices) if not choice.why)
        return right

    @property
    def room_minutes(self) -> int:
        """Minutes in a workshop: with the discussion one more than alone, and eight at least."""
        return max(8, self.minutes + 1)

    @property
    def steps(self) -> tuple[Step, ...]:
        return (*self.look, self.control.step, *self.proof)

    @property
    def listed(self) -> dict[str, Any]:
        """Return what the list of lessons shows of it, and what the picture of BERT shows with it.

        The picture is of the lesson's model and of the first text that the lesson opens with that model.
        """
        places = [step.place for step in self.steps if step.place.model in ("", self.model)]
        texts = [(place.text_a, place.text_b) for place in places if place.text_a and "{" not in place.text_a]
        picture = {"model": self.model, "texts": texts[0] if texts else ("", ""), "lights": self.lights}
        return {name: getattr(self, name) for name in ("number", "title", "minutes", "hour")} | {"picture": picture}


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((resources.files(__package__) / "texts" / name).read_text(encoding="utf-8"))


def _lesson(body: dict[str, Any]) -> Lesson:
    body = {name: _unwrapped(value) if isinstance(value, str) else value for name, value in body.items()}
    steps = {
        name: tuple(Step(_unwrapped(step.pop("text")), Place(**step)) for step in body[name])
        for name in ("look", "proof")
    }
    choices = tuple(Choice(**{name: _unwrapped(text) for name, text in choice.items()}) for choice in body["choices"])
    rival, told, text = (_unwrapped(body["control"].pop(name)) for name in ("rival", "told", "text"))
    control = Control(rival, Step(text, Place(**body["control"])), told)
    lists = {"reveal": tuple(map(_unwrapped, body["reveal"])), "lights": tuple(body.get("lights", ()))}
    lists["table"] = tuple(map(tuple, body.get("table", ())))
    return Lesson(**body | steps | lists | {"choices": choices, "control": control})


def _unwrapped(text: str) -> str:
    return re.sub(r"\s*\n\s*", " ", text)


#: The texts on which the claims are measured, by their names in `texts/cases.toml`.
CASES: Mapping[str, Any] = _read("cases.toml")
LESSONS = tuple(
    _lesson(_read(file.name))
    for file in sorted((resources.files(__package__) / "texts").iterdir(), key=lambda file: file.name)
    if file.name[:2].isdigit()
)
