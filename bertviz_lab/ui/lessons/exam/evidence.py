"""Tasks about evidence: read curves, design a control, explain an attribution that a model has given."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

from bertviz_lab.ui.languages import Message, Number
from bertviz_lab.ui.lazy import Checkpoint, interpret
from bertviz_lab.ui.lessons.claims import word_probability
from bertviz_lab.ui.lessons.exam.task import PROSE, Field, Task

_EVALUATIONS = 8


def _overfits(draw: Random, start: float, _: float) -> tuple[list[float], list[float]]:
    turn = draw.randrange(2, 5)
    train = [start * 0.72**at for at in range(_EVALUATIONS)]
    rises = [0.07 * start * max(0, at - turn) for at in range(_EVALUATIONS)]
    return train, [start * (0.45 + 0.55 * 0.6 ** min(at, turn)) + rises[at] for at in range(_EVALUATIONS)]


def _goes_on(_: Random, start: float, __: float) -> tuple[list[float], list[float]]:
    train = [start * (1 - 0.075 * at) for at in range(_EVALUATIONS)]
    return train, [loss + 0.02 * start for loss in train]


def _jumps(draw: Random, start: float, _: float) -> tuple[list[float], list[float]]:
    held = [start * draw.uniform(1.02, 1.9) for _ in range(_EVALUATIONS)]
    held[0] = start
    return [loss * draw.uniform(0.9, 1.2) for loss in held], held


def _is_stuck(draw: Random, start: float, unigram: float) -> tuple[list[float], list[float]]:
    held = [start, *(unigram + draw.uniform(-0.03, 0.03) for _ in range(_EVALUATIONS - 1))]
    return [loss + draw.uniform(-0.02, 0.02) for loss in held], held


_CURVES: Sequence[Callable[[Random, float, float], tuple[list[float], list[float]]]] = (
    _overfits, _goes_on, _jumps, _is_stuck
)  # fmt: skip


def curves(draw: Random) -> Task:
    """Ask what the curves of a training run say, and what to do."""
    kind = draw.randrange(len(_CURVES))
    classes = draw.choice((811, 2000, 5000, 8192, 30522)) if kind == 3 or draw.random() < 0.3 else draw.randrange(2, 12)
    uniform = math.log(classes)
    unigram = round(uniform * draw.uniform(0.68, 0.8), 2)
    train, held = ([round(loss, 2) for loss in row] for row in _CURVES[kind](draw, uniform, unigram))
    best = held.index(min(held))
    if held.count(held[best]) > 1:  # only one evaluation is the lowest
        held[best] = round(held[best] - 0.01, 2)
    is_mlm = classes > 20
    task = Message("pretraining by MLM with {count} tokens in the vocabulary", count=Number(classes, ",d"))
    if not is_mlm:
        task = Message("fine-tuning a classifier of {count} equally frequent classes", count=classes)
    prose = PROSE["curves"]
    diagnoses, remedies = prose.options("diagnoses"), prose.options("remedies")
    asked = prose.task(
        task=task,
        count=Number(classes, ",d"),
        uniform=Number(uniform, ".3f"),
        best=best + 1,
        diagnosis=diagnoses[kind],
        table=(
            (Message("evaluation"), *range(1, _EVALUATIONS + 1)),
            (Message("training loss"), *(Number(loss, ".2f") for loss in train)),
            (Message("held-out loss"), *(Number(loss, ".2f") for loss in held)),
        ),
        is_drawn=True,
        fields=(
            Field(Message("The uniform baseline in nats, to two decimals"), uniform, tolerance=0.011),
            Field(Message("The evaluation whose checkpoint you keep"), best + 1),
            Field(Message("What you see"), kind, diagnoses),
            Field(Message("What you do"), kind, remedies),
        ),
    )
    if not is_mlm:
        return asked
    nats = Number(unigram, ".2f")
    entropy = Message("The entropy of the token frequencies (unigram baseline) is {nats}.", nats=nats)
    return replace(asked, prompt=(*asked.prompt, entropy))


_MARGIN = 5  # points


def control(draw: Random) -> Task:
    """Ask for the missing controls of two claims, and for what is left of the claims."""
    prose = PROSE["control"]
    controls, verdicts = prose.options("controls"), prose.options("verdicts")
    claims, offered = draw.sample(range(len(controls)), 2), [*range(len(controls))]
    draw.shuffle(offered)
    fields, rows = list[Field](), []
    for name, at in zip("AB", claims, strict=True):
        found, verdict = draw.randrange(62, 93), draw.randrange(3)
        reached = found - (draw.randrange(12, 40), draw.randrange(-3, 4), draw.randrange(-7, -5))[verdict]
        rows.append((name, prose.options("claims", found=found)[at], Number(reached / 100, ".0%")))
        options = tuple(controls[other] for other in offered)
        fields += [
            Field(Message("{name}: the control", name=name), offered.index(at), options),
            Field(Message("{name}: result minus control, in points", name=name), found - reached),
            Field(Message("{name}: what follows", name=name), verdict, verdicts),
        ]
    table = ((Message("name"), Message("claim"), Message("control")), *rows)
    return prose.task(margin=_MARGIN, table=table, fields=fields)


_SUBJECTS = ("skates", "boots", "gloves", "keys", "socks", "blocks", "marbles")
_SINGULARS = ("bike", "kite", "drum", "coat", "hat")
_PLACES = ("market", "school", "harbour", "park", "farm", "garden")
_COLOURS = ("red", "blue", "green", "yellow", "white", "black")
_COUNTS = ("three", "four", "five", "six", "seven", "eight")


def attribution(draw: Random, town: Checkpoint) -> Task:
    """Ask which token a verb of Tiny Town rests on: the model's attention and two interventions disagree."""
    (colour, other_colour), (place, other_place) = draw.sample(_COLOURS, 2), draw.sample(_PLACES, 2)
    (count, other_count), subject = draw.sample(_COUNTS, 2), draw.choice(_SUBJECTS)
    swaps = {colour: other_colour, subject: draw.choice(_SINGULARS), place: other_place, count: other_count}
    words = [*swaps]
    text = f"The {colour} {subject} at the {place} [MASK] {count} coins."

    def chance(old: str = "", new: str = "") -> float:
        return word_probability(town, text.replace(old, new), "cost")

    trace = interpret.trace_text(town, text)
    row = trace.attentions[:, :, trace.tokens.index("[MASK]")].mean((0, 1))
    attention = [float(row[trace.tokens.index(word)]) for word in words]
    whole, swapped = chance(), [chance(word, new) for word, new in swaps.items()]
    effects = [math.log(whole / value) for value in swapped]
    most_read, most_needed = attention.index(max(attention)), effects.index(max(effects))
    prose = PROSE["attribution"]
    readings = prose.options("readings", needed=words[most_needed], least=words[effects.index(min(effects))])
    order = draw.sample(range(4), 4)
    return prose.task(
        whole=Number(whole, ".4f"),
        read=words[most_read],
        needed=words[most_needed],
        lowest=Number(swapped[most_needed], ".4f"),
        effect=Number(effects[most_needed], ".2f"),
        example=(text,),
        table=(
            (Message("word"), *words),
            (Message("mean attention"), *(Number(share, ".3f") for share in attention)),
            (Message("other word"), *swaps.values()),
            (Message("probability of “cost”"), *(Number(value, ".4f") for value in swapped)),
        ),
        fields=(
            Field(Message("The word that attention ranks first"), most_read, tuple(words)),
            Field(Message("The word that substitution ranks first"), most_needed, tuple(words)),
            Field(
                Message("Its effect: ln p as it is minus ln p with the other word, to one decimal"),
                effects[most_needed],
                tolerance=max(0.11, 0.03 * effects[most_needed]),
            ),
            Field(Message("What the numbers say of “cost”"), order.index(0), tuple(readings[at] for at in order)),
        ),
    )
