"""Tasks about the network: a row of attention, parameters, the order of an encoder layer, heads and losses."""

import math
from collections.abc import Callable
from random import Random

from bertviz_lab.ui.languages import Message, Number, Series
from bertviz_lab.ui.lessons.exam.task import Field, Task

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
    shown = ", ".join(map(str, query))
    return Task(
        lesson=5,
        prompt=(
            Message(
                "A head of size 4: the query of `kite` is ({query}). The attention mask is 1 for the first three "
                "tokens and 0 for `[PAD]`. Of the values only the first component is shown.",
                query=shown,
            ),
        ),
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
        hints=(
            Message("Lesson 5 has the formula, lesson 11 says what the mask does to a score."),
            Message(
                "The scores are {scores}, the last one before the mask. Make that one −∞, then take the softmax.",
                scores=Series(Number(score, ".1f") for score in scores),
            ),
        ),
        why=Message(
            "softmax of q · k / √4 over the three real tokens: {weights}; padding has weight 0 whatever its key is. "
            "The weighted sum of the values is {read}.",
            weights=Series(Number(weight, ".3f") for weight in weights[:-1]),
            read=Number(read, ".2f"),
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
    named = {"hidden": hidden, "layers": layers, "heads": heads, "vocabulary": Number(vocabulary, ",d"),
             "positions": positions}  # fmt: skip
    return Task(
        lesson=10,
        prompt=(
            Message(
                "A BERT with hidden size {hidden}, {layers} layers, {heads} heads, a feed-forward network four times "
                "as wide, {vocabulary} tokens, {positions} positions, 2 segments. All linear layers have a bias, each "
                "LayerNorm a scale and a shift. Write integers.",
                **named,
            ),
        ),
        fields=(
            Field(Message("Embeddings, with their LayerNorm"), embeddings),
            Field(Message("One encoder layer"), layer),
            Field(Message("Embeddings, all layers and the pooler"), embeddings + layers * layer + pooler),
            Field(Message("The MLM head adds, its decoder tied to the token embeddings"), mlm),
            Field(Message("Twice as many heads add"), 0),
        ),
        hints=(
            Message("Lesson 10 has the parts of a layer, lesson 14 a formula without biases."),
            Message(
                "A layer: four linear layers H → H, one H → 4H, one 4H → H, two LayerNorms. The head: one linear layer "
                "H → H, a LayerNorm, and a bias for each token."
            ),
        ),
        why=Message(
            "With H = {hidden}: embeddings (V + P + 2) · H + 2H, a layer 12H² + 13H = {layer}, the pooler H² + H, the "
            "MLM head H² + 3H + V. The heads share the same matrices: more of them are only smaller.",
            hidden=hidden,
            layer=Number(layer, ",d"),
        ),
    )


_STEPS = (
    Message("Three linear maps of x: queries, keys and values"),
    Message("Scores q · k / √d, and the padding mask"),
    Message("Softmax over the keys"),
    Message("Weighted sums of the values, all heads side by side through the output matrix"),
    Message("Add x, then LayerNorm: this gives a"),
    Message("W₁ makes a four times as wide; GELU"),
    Message("W₂ makes it narrow again"),
    Message("Add a, then LayerNorm: this gives y"),
)
_NOT_STEPS = (
    Message("LayerNorm of x, before anything else"),
    Message("A causal mask over the later tokens"),
    Message("Softmax over the vocabulary"),
)


def encoder_order(draw: Random) -> Task:
    """Ask for the order of the parts of an encoder layer, post-norm, and for two shapes."""
    parts = [*_STEPS, *_NOT_STEPS]
    draw.shuffle(parts)
    batch, tokens, heads = draw.choice((2, 4, 8)), draw.choice((16, 32, 64)), draw.choice((2, 3, 4, 6))
    hidden = heads * draw.choice((16, 32, 64))
    return Task(
        lesson=10,
        prompt=(
            Message(
                "Put the parts of one encoder layer of BERT in order, from its input x to its output y. Three of the "
                "parts offered do not belong there."
            ),
            Message(
                "For the shapes: {batch} texts of {tokens} tokens, {heads} heads, hidden size {hidden}.",
                batch=batch,
                tokens=tokens,
                heads=heads,
                hidden=hidden,
            ),
        ),
        fields=(
            *(
                Field(Message("Part {number}", number=number), parts.index(step), tuple(parts))
                for number, step in enumerate(_STEPS, 1)
            ),
            Field(Message("The shape of the scores, sizes with blanks between"), f"{batch} {heads} {tokens} {tokens}"),
            Field(Message("The shape behind W₁"), f"{batch} {tokens} {4 * hidden}"),
        ),
        hints=(
            Message("Lesson 10. BERT is post-norm: where does that put LayerNorm?"),
            Message("Attention first, with a sum and a LayerNorm; then the feed-forward network, with the same two."),
        ),
        why=Message(
            "a = LayerNorm(x + SelfAttention(x)), y = LayerNorm(a + W₂ · GELU(W₁ · a)). LayerNorm before a part is "
            "pre-norm (ModernBERT); a causal mask is GPT's; the softmax over the vocabulary is in the loss of the MLM "
            "head. Scores: texts × heads × tokens × tokens."
        ),
    )


_READS = (
    Message("the pooled vector of [CLS]"),
    Message("the last hidden state of every token"),
    Message("the last hidden states of the selected tokens only"),
)
_LOSSES = (
    Message("cross-entropy over the classes"),
    Message("binary cross-entropy, a sigmoid for each label"),
    Message("mean squared error"),
    Message("cross-entropy over the positions, once for the start and once for the end"),
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
    fields = []
    for (text, reads, loss, logits), n in zip((*of_text, of_tokens), classes, strict=True):
        named = Message(text, n=n) if "{n}" in text else Message(text)
        fields += [
            Field(Message("{task}: the head reads", task=named), reads, _READS),
            Field(Message("{task}: the loss", task=named), loss, _LOSSES),
            Field(Message("{task}: logits of one text", task=named), logits(n, tokens)),
        ]
    outputs = logits(n, 1)
    fields.append(Field(Message("Parameters of the last of these heads"), outputs * (hidden + 1)))
    return Task(
        lesson=6,
        prompt=(
            Message(
                "Each text has {tokens} tokens, the hidden size is {hidden}. Each head is one linear layer with a "
                "bias.",
                tokens=tokens,
                hidden=hidden,
            ),
        ),
        fields=tuple(fields),
        hints=(
            Message("Lesson 6 has the head of a text, lesson 18 those of tags and answers."),
            Message(
                "Ask of each task: one output for the text, or one for every token? Exactly one class, several labels, "
                "a number, or two positions? BIO has two tags for each kind, and O."
            ),
        ),
        why=Message(
            "One output for a text comes from the pooled `[CLS]`, outputs for tokens from their own last hidden "
            "states. The last head has {outputs} outputs: {outputs} · ({hidden} + 1) parameters, whatever the length "
            "of the text.",
            outputs=outputs,
            hidden=hidden,
        ),
    )
