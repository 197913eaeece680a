"""Tasks about the network: a row of attention, parameters, the order of an encoder layer, heads and losses."""

import math
from collections.abc import Callable
from random import Random

from bertviz_lab.ui.languages import Message, Number, Series
from bertviz_lab.ui.lessons.exam.task import PROSE, Field, Task

_TOKENS = ("the", "kite", "flies", "[PAD]")


def attention_row(draw: Random) -> Task:
    """Ask for the weights of one query over four keys, the last of them padding, and for what is read."""
    size = len(_TOKENS)
    query = [draw.randrange(0, 3) for _ in range(4)]
    query[draw.randrange(4)] = 2
    keys = [[draw.randrange(-1, 3) for _ in range(4)] for _ in _TOKENS]
    values = draw.sample(range(1, 10), size)
    scores = [sum(q * k for q, k in zip(query, key, strict=True)) / math.sqrt(4) for key in keys]
    parts = [math.exp(score) for score in scores[:-1]] + [0.0]
    weights = [part / sum(parts) for part in parts]
    read = sum(weight * value for weight, value in zip(weights, values, strict=True))
    return PROSE["attention_row"].task(
        query=", ".join(map(str, query)),
        scores=Series(Number(score, ".1f") for score in scores),
        weights=Series(Number(weight, ".3f") for weight in weights[:-1]),
        read=Number(read, ".2f"),
        table=(
            (Message("token"), *_TOKENS),
            (Message("key"), *(f"({', '.join(map(str, key))})" for key in keys)),
            (Message("value, component 1"), *values),
        ),
        fields=(
            *(
                Field(Message("Weight of {token}, to two decimals", token=token), weight, tolerance=0.011)
                for token, weight in zip(_TOKENS, weights, strict=True)
            ),
            Field(Message("What is read, component 1, to one decimal"), read, tolerance=0.11),
        ),
    )


def parameters(draw: Random) -> Task:
    """Ask for the numbers of parameters of a small BERT."""
    hidden, layers, heads = draw.choice((64, 128, 256, 512)), draw.choice((2, 3, 4, 6, 8)), draw.choice((2, 4))
    vocabulary, positions = draw.choice((1000, 2000, 5000, 8192, 30522)), draw.choice((64, 128, 256, 512))
    embeddings = (vocabulary + positions + 2) * hidden + 2 * hidden
    layer = 4 * (hidden * hidden + hidden) + 2 * 4 * hidden * hidden + 4 * hidden + hidden + 2 * 2 * hidden
    pooler = hidden * hidden + hidden
    mlm = hidden * hidden + hidden + 2 * hidden + vocabulary
    return PROSE["parameters"].task(
        hidden=hidden,
        layers=layers,
        heads=heads,
        vocabulary=Number(vocabulary, ",d"),
        positions=positions,
        layer=Number(layer, ",d"),
        fields=(
            Field(Message("Embeddings, with their LayerNorm"), embeddings),
            Field(Message("One encoder layer"), layer),
            Field(Message("Embeddings, all layers and the pooler"), embeddings + layers * layer + pooler),
            Field(Message("The MLM head adds, its decoder tied to the token embeddings"), mlm),
            Field(Message("Twice as many heads add"), 0),
        ),
    )


def encoder_order(draw: Random) -> Task:
    """Ask for the order of the parts of an encoder layer, post-norm, and for two shapes."""
    prose = PROSE["encoder_order"]
    steps = prose.options("steps")
    parts = [*steps, *prose.options("others")]
    draw.shuffle(parts)
    batch, tokens, heads = draw.choice((2, 4, 8)), draw.choice((16, 32, 64)), draw.choice((2, 3, 4, 6))
    hidden = heads * draw.choice((16, 32, 64))
    return prose.task(
        batch=batch,
        tokens=tokens,
        heads=heads,
        hidden=hidden,
        fields=(
            *(
                Field(Message("Part {number}", number=number), parts.index(step), tuple(parts))
                for number, step in enumerate(steps, 1)
            ),
            Field(Message("The shape of the scores, sizes with blanks between"), f"{batch} {heads} {tokens} {tokens}"),
            Field(Message("The shape behind W₁"), f"{batch} {tokens} {4 * hidden}"),
        ),
    )


_Counted = Callable[[int, int], int]
#: Tasks with {n}, what their head reads, their loss, and the logits of a text of S tokens as a function of n and S.
_TASKS: tuple[tuple[str, int, int, _Counted], ...] = (
    (Message("Topic of a text, one of {n}"), 0, 0, lambda n, _: n),
    (Message("Emotions in a text, any of {n}, also several"), 0, 1, lambda n, _: n),
    (Message("Similarity of two sentences, a number from 0 to 5"), 0, 2, lambda *_: 1),
    (Message("Named entities of {n} kinds, BIO tags"), 1, 0, lambda n, tokens: (2 * n + 1) * tokens),
    (Message("Part of speech of each word, one of {n}"), 1, 0, lambda n, tokens: n * tokens),
    (Message("Extractive question answering"), 1, 3, lambda _, tokens: 2 * tokens),
)


def heads_and_losses(draw: Random) -> Task:
    """Ask for the head, the loss and the number of logits of three tasks."""
    of_text, of_tokens = draw.sample(_TASKS[:3], 2), draw.choice(_TASKS[3:])
    tokens, hidden = draw.choice((16, 32, 48, 64)), draw.choice((128, 256, 312))
    classes = draw.sample(range(3, 13), 3)
    prose, fields = PROSE["heads_and_losses"], list[Field]()
    for (text, reads, loss, logits), n in zip((*of_text, of_tokens), classes, strict=True):
        named = Message(text, n=n) if "{n}" in text else Message(text)
        fields += [
            Field(Message("{task}: the head reads", task=named), reads, prose.options("reads")),
            Field(Message("{task}: the loss", task=named), loss, prose.options("losses")),
            Field(Message("{task}: logits of one text", task=named), logits(n, tokens)),
        ]
    outputs = logits(n, 1)
    fields.append(Field(Message("Parameters of the last of these heads"), outputs * (hidden + 1)))
    return prose.task(tokens=tokens, hidden=hidden, outputs=outputs, fields=fields)
