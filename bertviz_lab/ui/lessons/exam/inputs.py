"""Tasks about what goes in: an example of MLM, a pair of sentences, and which kind of model a job needs."""

import math
from random import Random

from bertviz_lab.ui.languages import Message, Number
from bertviz_lab.ui.lessons.exam.task import PROSE, Field, Task

_NAMES = ("Leo", "Mia", "Ben", "Emma", "Noah", "Sara", "Tom", "Yuki")
_COLOURS = ("red", "blue", "green", "yellow", "white", "black")
_THINGS = ("kite", "bike", "drum", "book", "truck", "hat", "coat", "ball")
_PLACES = ("farm", "pond", "park", "garden", "harbour", "forest", "beach", "field")
_RANDOM = ("seven", "train", "rain", "keys", "moon", "bread")  # tokens that stand nowhere in the sentences


def mlm_example(draw: Random) -> Task:
    """Ask for the input, the labels and the loss of an example of masked language modeling."""
    colour, thing, place = draw.choice(_COLOURS), draw.choice(_THINGS), draw.choice(_PLACES)
    tokens = ["[CLS]", "the", colour, thing, "of", draw.choice(_NAMES).lower(), "is", "at", "the", place, ".", "[SEP]"]
    masked, replaced, kept = draw.sample(range(1, len(tokens) - 1), 3)
    other = draw.choice(_RANDOM)
    read = [*tokens]
    read[masked], read[replaced] = "[MASK]", other
    selected = {masked, replaced, kept}
    labels = [token if at in selected else "-" for at, token in enumerate(tokens)]
    chances = [draw.randrange(2, 96) / 100 for _ in tokens]
    loss = -sum(math.log(chances[at]) for at in selected) / 3
    first, second, third = (Number(chances[at], ".2f") for at in (masked, replaced, kept))
    return PROSE["mlm_example"].task(
        masked=masked,
        replaced=replaced,
        kept=kept,
        other=other,
        first=first,
        second=second,
        third=third,
        loss=Number(loss, ".3f"),
        table=(
            (Message("position"), *range(len(tokens))),
            (Message("token"), *tokens),
            (Message("probability"), *(Number(chance, ".2f") for chance in chances)),
        ),
        fields=(
            Field(Message("The input, token by token"), " ".join(read)),
            Field(
                Message("The labels, token by token, with - where there is none (-100 in the code)"), " ".join(labels)
            ),
            Field(Message("The MLM loss in nats, to two decimals"), loss, tolerance=0.011),
        ),
    )


def pair_layout(draw: Random) -> Task:
    """Ask for the tokens, segment ids and attention mask of a padded pair of sentences."""
    name, thing, place = draw.choice(_NAMES), draw.choice(_THINGS), draw.choice(_PLACES)
    first = draw.choice((f"{name} has a {thing}.", f"The {thing} of {name} is at the {place}.", f"{name} is here."))
    second = draw.choice((f"The {thing} is {draw.choice(_COLOURS)}.", "It is fast.", f"It is at the {place}."))
    words_a, words_b = (text.lower().replace(".", " .").split() for text in (first, second))
    tokens = ["[CLS]", *words_a, "[SEP]", *words_b, "[SEP]"]
    length = len(tokens) + draw.randrange(2, 5)
    padding = length - len(tokens)
    segments = [0] * (len(words_a) + 2) + [1] * (len(words_b) + 1) + [0] * padding
    mask = [1] * len(tokens) + [0] * padding
    return PROSE["pair_layout"].task(
        length=length,
        first=len(words_a) + 2,
        second=len(words_b) + 1,
        real=len(tokens),
        padding=padding,
        example=(f"A: {first}", f"B: {second}"),
        fields=(
            Field(Message("The {length} tokens", length=length), " ".join([*tokens, *["[PAD]"] * padding])),
            Field(Message("The segment ids (padding has 0)"), " ".join(map(str, segments))),
            Field(Message("The attention mask"), " ".join(map(str, mask))),
            Field(Message("The position id of the last [SEP]"), len(tokens) - 1),
        ),
    )


_KINDS = tuple(PROSE["kinds_of_model"].choices)
#: Jobs, and the kind of model that was made for each: an index of `_KINDS`.
_JOBS = [(job, at) for at, kind in enumerate(_KINDS) for job in PROSE["kinds_of_model"].options(kind)]


def kinds_of_model(draw: Random) -> Task:
    """Ask which of BERT, GPT and T5 four jobs need, and for the span corruption of a sentence."""
    jobs = [draw.choice([job for job in _JOBS if job[1] == kind]) for kind in range(3)]
    jobs.append(draw.choice([job for job in _JOBS if job not in jobs]))
    draw.shuffle(jobs)
    words = [
        "the", draw.choice(_COLOURS), draw.choice(_THINGS), "of", draw.choice(_NAMES).lower(),
        *draw.choice((("is", "at", "the"), ("lies", "near", "the"))), draw.choice(_PLACES), "today",
    ]  # fmt: skip
    start = draw.randrange(1, 4)
    later = draw.randrange(start + 3, 8)
    spans = [(start, start + 2), (later, later + draw.choice((1, 2)))]
    (one, end_one), (two, end_two) = spans
    corrupted = [*words[:one], "<1>", *words[end_one:two], "<2>", *words[end_two:]]
    target = ["<1>", *words[one:end_one], "<2>", *words[two:end_two], "<3>"]
    dropped = " / ".join(" ".join(words[begin:end]) for begin, end in spans)
    return PROSE["kinds_of_model"].task(
        spans=dropped,
        example=(" ".join(words),),
        fields=(
            *(Field(job, kind, _KINDS) for job, kind in jobs),
            Field(Message("The input of T5's encoder"), " ".join(corrupted)),
            Field(Message("The target of T5's decoder"), " ".join(target)),
        ),
    )
