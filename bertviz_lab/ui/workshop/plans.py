"""Plans of a workshop for 45, 90 and 180 minutes, and who trains when: a machine trains few models at a time."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from bertviz_lab.jobs.runs import PREPARING_SECONDS
from bertviz_lab.ui.languages import Message


@dataclass(frozen=True)
class Part:
    """A part of a workshop."""

    TEXTS: ClassVar = ("title", "text")

    minutes: int  # including the discussion
    title: str
    text: str  # what the leader does; "" in a lesson, whose question is shown instead
    lesson: int = 0  # its number; 0 for none
    runs: Literal["", "start", "end"] = ""  # whether runs are started or looked at; they train in between


@dataclass(frozen=True)
class Plan:
    """A workshop: what participants can do after it, and its parts in order."""

    TEXTS: ClassVar = ("goals", "parts")

    goals: tuple[str, ...]
    parts: tuple[Part, ...]

    @property
    def minutes(self) -> int:
        return sum(part.minutes for part in self.parts)

    def timed(self) -> list[tuple[int, Part]]:
        starts = [sum(part.minutes for part in self.parts[:at]) for at in range(len(self.parts))]
        return list(zip(starts, self.parts, strict=True))

    def training(self) -> list[tuple[int, int]]:
        """Return when runs train: from the end of the part that starts them to the part that looks at them."""
        starts = [start + part.minutes for start, part in self.timed() if part.runs == "start"]
        ends = [start for start, part in self.timed() if part.runs == "end"]
        return list(zip(starts, ends, strict=True))


def shared_runs(people: int, start: int, end: int, places: int, run_seconds: float) -> tuple[int, tuple[float, ...]]:
    """Share `places` runs at a time, of `run_seconds` each, among `people`, from one minute of a workshop to another.

    Returns the people in the largest group, and the minute in which each group's run starts. One run at least is
    planned, even where it will not be done in time.
    """
    each = run_seconds + PREPARING_SECONDS
    most = max(1, places * math.floor(60 * (end - start) / each))
    largest = math.ceil(people / most)
    return largest, tuple(start + at // places * each / 60 for at in range(math.ceil(people / largest)))


def _lessons(*numbers_and_minutes: tuple[int, int]) -> tuple[Part, ...]:
    return tuple(Part(minutes, "", "", number) for number, minutes in numbers_and_minutes)


#: What the leader does in every lesson.
IN_EACH_LESSON = Message(
    "In each lesson: call everyone to it and let them look; each predicts alone, then explains the prediction to a "
    "neighbor; reveal, and let somebody who was wrong say what they had expected; then open the steps that show it."
)
_ARRIVE = (
    "Everybody opens the page by the QR code. Say what BERT is: an encoder that learns from text with words masked."
)
_TRAIN = (
    "One of each group opens Train, Pretrain, chooses the sample Tiny Town and the preset tiny, and presses Train; "
    "the others open the link of that run. The page shows the place in the queue."
)
_LOOK = "Each group opens its run: when did the MLM loss leave the unigram baseline?"
_TUNE = (
    "One of each group opens Train, Fine-tune, chooses the sample Sentiment and its group's model, and presses "
    "Fine-tune."
)

PLANS = (
    Plan(
        (
            "Explain masked language modeling, and what both directions of context are good for.",
            "Read an attention map, and say why a weight is not an explanation.",
            "Say what fine-tuning adds to a pretrained encoder.",
        ),
        (
            Part(4, "Arrive", _ARRIVE),
            *_lessons((1, 7), (2, 6), (5, 9), (6, 7), (8, 9)),
            Part(
                3, "Close", "Each says one thing that was predicted wrong. The page stays open for the other lessons."
            ),
        ),
    ),
    Plan(
        (
            "Explain MLM, NSP, segment and position embeddings with an example of one's own.",
            "Read attention maps and value norms, and name what they do not show.",
            "Pretrain a small BERT, and read its training and validation curves.",
        ),
        (
            Part(4, "Arrive", _ARRIVE),
            *_lessons((1, 6), (2, 6)),
            Part(6, "Start the runs", _TRAIN, runs="start"),
            *_lessons((3, 7), (4, 6), (5, 9)),
            Part(5, "Break", "The runs go on."),
            *_lessons((6, 7), (7, 8)),
            Part(
                12, "Look at the runs", f"{_LOOK} What does the model predict for a sentence of Tiny Town?", runs="end"
            ),
            *_lessons((8, 9)),
            Part(5, "Close", "Each group tells one surprise. Participants may download their model: it is theirs."),
        ),
    ),
    Plan(
        (
            "Explain every step from text to prediction: WordPiece, embeddings, encoder layer, heads, losses.",
            "Pretrain and fine-tune small models, and compare them with baselines.",
            "Choose between BERT, GPT and T5 for a task, and say why one pretrains once.",
            "Name what attention maps do and do not show, with a measurement for each.",
        ),
        (
            Part(6, "Arrive", _ARRIVE),
            *_lessons((1, 7), (2, 7)),
            Part(7, "Start the runs", _TRAIN, runs="start"),
            *_lessons((9, 6), (3, 8), (4, 7), (5, 9)),
            Part(10, "Break", "The runs go on."),
            *_lessons((10, 9), (11, 6)),
            Part(12, "Look at the runs", f"{_LOOK} Which head attends to the previous token?", runs="end"),
            *_lessons((6, 8)),
            Part(5, "Start fine-tuning", _TUNE, runs="start"),
            *_lessons((7, 9), (8, 10)),
            Part(10, "Break", "The runs go on."),
            *_lessons((12, 6), (13, 7), (15, 9)),
            Part(
                10,
                "Look at the classifiers",
                "Scores compared with the majority baseline and random weights; sentences that fool it; why.",
                runs="end",
            ),
            *_lessons((14, 6)),
            Part(6, "Close", "Each group shows one figure and says what it does not show."),
        ),
    ),
)
