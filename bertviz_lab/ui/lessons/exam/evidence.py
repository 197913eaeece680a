"""Tasks about evidence: read curves, design a control, explain an attribution that a model has given."""

import math
from collections.abc import Callable, Sequence
from random import Random

from bertviz_lab.ui.languages import Message, Number
from bertviz_lab.ui.lazy import Checkpoint, interpret
from bertviz_lab.ui.lessons.exam.task import Curve, Field, Task

_DIAGNOSES = (
    Message("overfitting"),
    Message("not trained long enough"),
    Message("the learning rate is too high"),
    Message("stuck at the unigram baseline"),
    Message("evaluated on the training data"),
)
_REMEDIES = (
    Message("Keep the checkpoint of the lowest held-out loss, and stop earlier next time."),
    Message("Train for more steps, and change nothing else."),
    Message("Start again with a lower learning rate."),
    Message("Give it many more tokens or another recipe: it does not use the context yet."),
    Message("Cut off a held-out set, and evaluate on that."),
)
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
    unigram_said = Message(
        "The entropy of the token frequencies (unigram baseline) is {nats}.", nats=Number(unigram, ".2f")
    )
    return Task(
        lesson=7,
        prompt=(Message("A run: {task}. Losses in nats, at eight evaluations.", task=task), *([unigram_said] * is_mlm)),
        table=(
            (Message("evaluation"), *range(1, _EVALUATIONS + 1)),
            (Message("training loss"), *(Number(loss, ".2f") for loss in train)),
            (Message("held-out loss"), *(Number(loss, ".2f") for loss in held)),
        ),
        curves=(Curve(Message("training loss"), tuple(train)), Curve(Message("held-out loss"), tuple(held))),
        fields=(
            Field(Message("The uniform baseline in nats, to two decimals"), uniform, tolerance=0.011),
            Field(Message("The evaluation whose checkpoint you keep"), best + 1),
            Field(Message("What you see"), kind, _DIAGNOSES),
            Field(Message("What you do"), kind, _REMEDIES),
        ),
        hints=(
            Message("Lesson 7. A model that guesses evenly among K outcomes has a loss of ln K."),
            Message("Look at the held-out row first: where is it lowest, and does it move at the end? Then compare."),
        ),
        why=Message(
            "ln {count} = {uniform}. The held-out loss is lowest at evaluation {best}: {diagnosis}.",
            count=Number(classes, ",d"),
            uniform=Number(uniform, ".3f"),
            best=best + 1,
            diagnosis=_DIAGNOSES[kind],
        ),
    )


#: A claim with the result {found}, the control that it lacks, and whether the claim is about a difference upwards.
_CLAIMS: Sequence[tuple[str, str]] = (
    (
        Message("“Layer 3 knows parts of speech: a probe on it is right for {found}% of the words.”"),
        Message("Train the same probe on labels drawn at random for each word (a control task)."),
    ),
    (
        Message("“Pretraining pays: the fine-tuned model has an accuracy of {found}%.”"),
        Message("Fine-tune the same architecture from random weights, same data and seeds."),
    ),
    (
        Message("“The classifier understands reviews: its accuracy is {found}%.”"),
        Message("Take the share of the largest class in the same test set."),
    ),
    (
        Message("“[CLS] holds the meaning: of {found}% of the phrases the nearest is the opposite.”"),
        Message("Compute the same neighbors with an encoder whose weights are random."),
    ),
    (
        Message("“Head 2.1 carries the color: with it ablated, {found}% of the answers are lost.”"),
        Message("Ablate each of the other heads of that layer in turn, and take their mean."),
    ),
    (
        Message("“The word rests on this token: with it replaced, {found}% of the predictions change.”"),
        Message("Replace another token of the same kind in the same texts."),
    ),
)
_VERDICTS = (
    Message("The claim is supported: the control does not reach it."),
    Message("The claim is not supported: the control does as well."),
    Message("The result refutes the claim: the control does better."),
)
_MARGIN = 5  # points


def control(draw: Random) -> Task:
    """Ask for the missing controls of two claims, and for what is left of the claims."""
    claims = draw.sample(range(len(_CLAIMS)), 2)
    offered = [*range(len(_CLAIMS))]
    draw.shuffle(offered)
    fields, rows = [], []
    for name, at in zip("AB", claims, strict=True):
        found, verdict = draw.randrange(62, 93), draw.randrange(3)
        reached = found - (draw.randrange(12, 40), draw.randrange(-3, 4), draw.randrange(-7, -5))[verdict]
        rows.append((name, Message(_CLAIMS[at][0], found=found), Number(reached / 100, ".0%")))
        fields += [
            Field(
                Message("{name}: the control", name=name),
                offered.index(at),
                tuple(_CLAIMS[other][1] for other in offered),
            ),
            Field(Message("{name}: result minus control, in points", name=name), found - reached),
            Field(Message("{name}: what follows", name=name), verdict, _VERDICTS),
        ]
    return Task(
        lesson=8,
        prompt=(
            Message(
                "Two claims, each with a number and without a control. Choose the control that asks “what else would "
                "have "
                "shown this?”; the last column is what it came to. Less than {margin} points count as no difference.",
                margin=_MARGIN,
            ),
        ),
        table=((Message("name"), Message("claim"), Message("control")), *rows),
        fields=tuple(fields),
        hints=(
            Message(
                "Lessons 4, 6, 8 and 12 have controls. A good one keeps all but the thing that the claim is about."
            ),
            Message("Say what the claim credits (training, a layer, a head, a token), and take just that away."),
        ),
        why=Message(
            "A number alone shows nothing: it is compared with what comes out where the credited thing is missing. "
            "What is left of the result is the difference."
        ),
    )


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
        asked = interpret.fill_mask(town, text.replace(old, new) if old else text, 1, word="cost").masks[-1].asked
        assert asked is not None
        return asked.probability

    trace = interpret.trace_text(town, text)
    row = trace.attentions[:, :, trace.tokens.index("[MASK]")].mean((0, 1))
    attention = [float(row[trace.tokens.index(word)]) for word in words]
    whole, swapped = chance(), [chance(word, new) for word, new in swaps.items()]
    effects = [math.log(whole / value) for value in swapped]
    most_read, most_needed = attention.index(max(attention)), effects.index(max(effects))
    least_needed = effects.index(min(effects))
    named = {"needed": words[most_needed], "least": words[least_needed]}
    readings = [
        Message("It depends most on “{needed}”: with another word there its probability changes most.", **named),
        Message("It depends on “{least}”, since the model reads it.", **named),
        Message("It depends on all four alike, since each has some attention."),
        Message("Nothing can be said: a model cannot be asked what a prediction depends on."),
    ]  # fmt: skip
    order = draw.sample(range(4), 4)
    return Task(
        lesson=8,
        prompt=(
            Message(
                "tiny-town, just measured: “cost” has a probability of {whole} at `[MASK]`. For each word: the "
                "attention "
                "of `[MASK]`, averaged over all heads, and the probability of “cost” with another word in its place.",
                whole=Number(whole, ".4f"),
            ),
        ),
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
        hints=(
            Message("Lesson 8: a weight says what is read, an intervention what it does."),
            Message(
                "The effect is the logarithm of a ratio of two probabilities; compare the last row with the first "
                "number."
            ),
        ),
        why=Message(
            "Attention ranks “{read}” first. With another word for “{needed}” “cost” falls to {lowest}, an effect of "
            "{effect} nats. Which word the verb depends on is what the intervention says, not the attention.",
            read=words[most_read],
            needed=words[most_needed],
            lowest=Number(swapped[most_needed], ".4f"),
            effect=Number(effects[most_needed], ".2f"),
        ),
    )
