"""Tasks about what goes in: an example of MLM, a pair of sentences, and which kind of model a job needs."""

import math
from collections.abc import Sequence
from random import Random

from bertviz_lab.ui.languages import Message, Number
from bertviz_lab.ui.lessons.exam.task import Field, Task

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
    numbers = {"masked": masked, "replaced": replaced, "kept": kept, "other": other}
    return Task(
        lesson=2,
        prompt=(
            Message(
                "The positions {masked}, {replaced} and {kept} are selected (the first position is 0). By the 80/10/10 "
                "rule, position {masked} becomes `[MASK]`, position {replaced} the random token `{other}`, and "
                "position {kept} stays as it is.",
                **numbers,
            ),
            Message(
                "The last row is the probability that the model gives, from your input, to the token that was there."
            ),
        ),
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
        hints=(
            Message("Lesson 2 has the three outcomes. A label is what was there, not what the model reads."),
            Message("The loss is the mean of −ln p over the selected positions and no others: three terms here."),
        ),
        why=Message(
            "All three selected positions have a label, also the one that stays. The loss is "
            "−(ln {first} + ln {second} + ln {third}) / 3 = {loss}.",
            first=Number(chances[masked], ".2f"),
            second=Number(chances[replaced], ".2f"),
            third=Number(chances[kept], ".2f"),
            loss=Number(loss, ".3f"),
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
    return Task(
        lesson=3,
        prompt=(
            Message(
                "A and B become one input, padded to {length} tokens. The tokenizer is lower-cased; every word and "
                "every full stop is one token.",
                length=length,
            ),
        ),
        example=(f"A: {first}", f"B: {second}"),
        fields=(
            Field(Message("The {length} tokens", length=length), " ".join([*tokens, *["[PAD]"] * padding])),
            Field(Message("The segment ids (padding has 0)"), " ".join(map(str, segments))),
            Field(Message("The attention mask"), " ".join(map(str, mask))),
            Field(Message("The position id of the last [SEP]"), len(tokens) - 1),
        ),
        hints=(
            Message("Lessons 3 and 11: two kinds of special tokens mark the sentences, a third fills up."),
            Message("`[CLS]` A `[SEP]` B `[SEP]`, then `[PAD]`. The first `[SEP]` belongs to A."),
        ),
        why=Message(
            "A has {first} tokens with its special tokens and B {second}; the mask is 1 for these {real}, and 0 for "
            "{padding} of padding. Positions count from 0.",
            first=len(words_a) + 2,
            second=len(words_b) + 1,
            real=len(tokens),
            padding=padding,
        ),
    )


#: Jobs, and the kind of model that was made for them: an index of _KINDS.
_KINDS = ("BERT", "GPT", "T5")
_JOBS: Sequence[tuple[Message, int]] = (
    (Message("Find all names of people in 10,000 letters."), 0),
    (Message("Mark the span of a text that answers a question."), 0),
    (Message("Rank a million paragraphs by their similarity to a query."), 0),
    (Message("Sort e-mails into six folders, on a CPU."), 0),
    (Message("Score how likely each word of a finished sentence is, given all the others."), 0),
    (Message("Go on with a story from its first line."), 1),
    (Message("Answer anything in a dialogue, from instructions in its text alone."), 1),
    (Message("Give the probability of a whole text as a product over its tokens."), 1),
    (Message("Complete a program while it is typed, token by token."), 1),
    (Message("Translate sentences, read as a whole before the first word is written, after training on pairs."), 2),
    (Message("Turn long articles into summaries, with an encoder for the article and a decoder for the summary."), 2),
    (Message("One model, trained to map text to text, for tasks that differ in a prefix of the input alone."), 2),
)
_SENTINELS = ("<1>", "<2>", "<3>")


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
    return Task(
        lesson=12,
        prompt=(
            Message("Choose for each job the kind of model that was made for it: encoder, decoder, or both."),
            Message(
                "Then write what T5 is trained on here: span corruption drops the spans `{spans}` of this text. The "
                "sentinels are `<1>`, `<2>`, `<3>`.",
                spans=dropped,
            ),
        ),
        example=(" ".join(words),),
        fields=(
            *(Field(job, kind, _KINDS) for job, kind in jobs),
            Field(Message("The input of T5's encoder"), " ".join(corrupted)),
            Field(Message("The target of T5's decoder"), " ".join(target)),
        ),
        hints=(
            Message("Lesson 12 says what each is for, lesson 17 has the three in one table."),
            Message("Each dropped span leaves one sentinel, however long it is. The target ends with the next one."),
        ),
        why=Message(
            "A vector for each token of a finished text: BERT. Text that is written from left to right: GPT. A text "
            "that becomes another one: T5. Its target has the dropped spans only, each after its sentinel."
        ),
    )
