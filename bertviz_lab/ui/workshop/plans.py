"""Plans of a workshop for 45, 90 and 180 minutes, and who trains when: a machine trains few models at a time."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from bertviz_lab.jobs.runs import PREPARING_SECONDS
from bertviz_lab.ui.languages import Message


@dataclass(frozen=True)
class Part:
    """A part of a workshop.

    Attributes:
        minutes: how long it takes, with the talk about it.
        title: what it is called.
        text: what the leader does; "" in a lesson, of which its question is told.
        lesson: the number of its lesson; 0 for none.
        runs: whether runs are started in it, or looked at; they train in between.
    """

    TEXTS: ClassVar = ("title", "text")

    minutes: int
    title: str
    text: str
    lesson: int = 0
    runs: Literal["", "start", "end"] = ""


@dataclass(frozen=True)
class Plan:
    """A workshop: what participants can do after it, and its parts in order."""

    TEXTS: ClassVar = ("goals", "parts")

    goals: tuple[str, ...]
    parts: tuple[Part, ...]

    @property
    def minutes(self) -> int:
        """How long it takes."""
        return sum(part.minutes for part in self.parts)

    def timed(self) -> list[tuple[int, Part]]:
        """Each part with the minute in which it begins."""
        starts = [sum(part.minutes for part in self.parts[:at]) for at in range(len(self.parts))]
        return list(zip(starts, self.parts, strict=True))

    def training(self) -> list[tuple[int, int]]:
        """When runs train: from the end of the part that starts them to the beginning of the one that looks at them."""
        starts = [start + part.minutes for start, part in self.timed() if part.runs == "start"]
        ends = [start for start, part in self.timed() if part.runs == "end"]
        return list(zip(starts, ends, strict=True))


@dataclass(frozen=True)
class SharedRuns:
    """How a room shares the runs that fit into some minutes.

    Attributes:
        groups: how many runs there are, each of a group.
        largest: people in a group; some groups may have fewer.
        starts: the minute in which each group's run starts, in order.
    """

    groups: int
    largest: int
    starts: tuple[float, ...]


def shared_runs(people: int, start: int, end: int, places: int, run_seconds: float) -> SharedRuns:
    """Share `places` runs at a time, of `run_seconds` each, among `people`, from one minute of a workshop to another.

    One run at least is planned, even where it will not be done in time.
    """
    each = run_seconds + PREPARING_SECONDS
    most = max(1, places * math.floor(60 * (end - start) / each))
    largest = math.ceil(people / most)
    groups = math.ceil(people / largest)
    return SharedRuns(groups, largest, tuple(start + at // places * each / 60 for at in range(groups)))


def _lesson(number: int, minutes: int) -> Part:
    return Part(minutes, "", "", number)


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

PLANS = (
    Plan(
        (
            "Explain masked language modeling, and what both directions of context are good for.",
            "Read an attention map, and say why a weight is not an explanation.",
            "Say what fine-tuning adds to a pretrained encoder.",
        ),
        (
            Part(4, "Arrive", _ARRIVE),
            _lesson(1, 7),
            _lesson(2, 6),
            _lesson(5, 9),
            _lesson(6, 7),
            _lesson(8, 9),
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
            _lesson(1, 6),
            _lesson(2, 6),
            Part(6, "Start the runs", _TRAIN, runs="start"),
            _lesson(3, 7),
            _lesson(4, 6),
            _lesson(5, 9),
            Part(5, "Break", "The runs go on."),
            _lesson(6, 7),
            _lesson(7, 8),
            Part(
                12,
                "Look at the runs",
                "Each group opens its run: when did the MLM loss leave the unigram baseline? What does the model "
                "predict for a sentence of Tiny Town?",
                runs="end",
            ),
            _lesson(8, 9),
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
            _lesson(1, 7),
            _lesson(2, 7),
            Part(7, "Start the runs", _TRAIN, runs="start"),
            _lesson(9, 6),
            _lesson(3, 8),
            _lesson(4, 7),
            _lesson(5, 9),
            Part(10, "Break", "The runs go on."),
            _lesson(10, 9),
            _lesson(11, 6),
            Part(
                12,
                "Look at the runs",
                "Each group opens its run: when did the MLM loss leave the unigram baseline? Which head attends to the "
                "previous token?",
                runs="end",
            ),
            _lesson(6, 8),
            Part(
                5,
                "Start fine-tuning",
                "One of each group opens Train, Fine-tune, chooses the sample Sentiment and its group's model, and "
                "presses Fine-tune.",
                runs="start",
            ),
            _lesson(7, 9),
            _lesson(8, 10),
            Part(10, "Break", "The runs go on."),
            _lesson(12, 6),
            _lesson(13, 7),
            _lesson(15, 9),
            Part(
                10,
                "Look at the classifiers",
                "Scores compared with the majority baseline and random weights; sentences that fool it; why.",
                runs="end",
            ),
            _lesson(14, 6),
            Part(6, "Close", "Each group shows one figure and says what it does not show."),
        ),
    ),
)
