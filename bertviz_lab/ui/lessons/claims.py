"""What lessons 1 to 5 and 8 say of the models, measured: numbers, the choice that they bear out, and on how many texts.

Imports are inside the functions: a page is built long before somebody asks for the first number.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

from bertviz_lab.ui.languages import Message, Number, Series
from bertviz_lab.ui.lazy import Checkpoint, interpret
from bertviz_lab.ui.lessons.lesson import CASES, ENGLISH, MASK_ONLY, TINY, TOWN, Finding, Lesson
from bertviz_lab.ui.state.app_state import AppState

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bertviz_lab.interpret import TextTrace

BIKE = "Leo has a [MASK] bike. The blue bike of Leo is fast."
BIKES = "Leo has a blue bike, and Mia has a red bike."
NO_LOG = Message("This copy of the lab has no training log of {model}, so there is nothing to compare.", model=ENGLISH)


def word_probability(checkpoint: Checkpoint, text: str, word: str, **options: Any) -> float:
    """Return the probability of a word in a masked token of a text; `options` are those of `fill_mask`."""
    asked = interpret.fill_mask(checkpoint, text, 1, word=word, **options).masks[0].asked
    assert asked is not None
    return asked.probability


def percent(value: float) -> Number:
    """Format a probability; only one that is 1 to three digits is 100%."""
    return Number(value, ".1%" if value < 0.9995 else ".0%")


def percent_bars(named: Iterable[tuple[str, float]]) -> tuple[tuple[str, float, str], ...]:
    """Return named probabilities as the bars of a `Finding`."""
    return tuple((name, float(value), percent(value)) for name, value in named)


def cosine_bars(named: Iterable[tuple[str, float]]) -> tuple[tuple[str, float, str], ...]:
    """Return named cosines as the bars of a `Finding`; a negative one has no length."""
    return tuple((name, min(1.0, max(0.0, float(value))), Number(float(value), ".2f")) for name, value in named)


def only_choice(*holds: bool) -> int | None:
    """Return the one choice that holds; None if several do, or none."""
    return holds.index(True) if sum(holds) == 1 else None


def right_context(session: AppState, lesson: Lesson) -> Finding:
    """Measure a word's probability with the context after it and without."""
    checkpoint = session.models.open(lesson.model)
    pairs = [
        tuple(word_probability(checkpoint, text, word, causal=causal) for causal in (False, True))
        for text, word in CASES["right_context"]
    ]
    both, causal = pairs[0]
    town = session.models.open(TOWN)
    before = [
        fmean(word_probability(town, text, word, causal=causal) for text, word in CASES["copied"])
        for causal in (False, True)
    ]
    numbers = {"both": percent(both), "causal": percent(causal), "town": percent(word_probability(town, BIKE, "blue")),
               "guess": percent(word_probability(town, BIKE, "blue", causal=True)), "before": f"{len(CASES['copied'])}",
               "before_both": percent(before[0]), "before_causal": percent(before[1])}  # fmt: skip
    answer = only_choice(0.5 * both < causal < 1.1 * both, causal > 1.1 * both, both > 0.1 and causal < both / 20)
    names = Message("bidirectional"), Message("causal mask")
    bars, control = (percent_bars(zip(names, shares, strict=True)) for shares in (pairs[0], before))
    return Finding(answer, numbers, bars, [causal < both / 5 for both, causal in pairs], control)


def masking(session: AppState, lesson: Lesson) -> Finding:
    """Measure predictions at unmasked tokens after pretraining with two masking rules, and the shares of the rule."""
    place = lesson.look[0].place
    trained = [session.models.open(name) for name in (lesson.model, MASK_ONLY)]
    texts = [text.replace("[MASK]", word) for text, word in CASES["copied"]]
    own, only = (_share_predicted(checkpoint, place.text_a, masked=False) for checkpoint in trained)
    of_texts = [[_share_predicted(checkpoint, text, masked=False) for checkpoint in trained] for text in texts]
    at_masks = [fmean(_share_predicted(checkpoint, text, masked=True) for text in texts) for checkpoint in trained]
    statistics = interpret.masking_statistics(trained[0].tokenizer, place.text_a, draws=10_000, seed=1)
    tokens = 10_000 * sum(not special for special in statistics.encoding.special_tokens_mask)
    numbers: dict[str, str] = {
        outcome.outcome: f"{1000 * outcome.observed / tokens:.0f}" for outcome in statistics.outcomes
    }
    numbers |= {"own": percent(own), "only": percent(only), "next": percent(_share_of_next(trained[1], texts))}
    numbers |= dict(zip(("own_masked", "only_masked"), map(percent, at_masks), strict=True))
    answer = only_choice(own > 0.8 and only < own / 2, only > 0.8, abs(own - only) < 0.05)
    bars = percent_bars([("80/10/10", own), ("100/0/0", only)])
    control = percent_bars(zip(("80/10/10", "100/0/0"), at_masks, strict=True))
    return Finding(answer, numbers, bars, [own > 0.8 and only < own / 2 for own, only in of_texts], control)


def _share_predicted(checkpoint: Checkpoint, text: str, *, masked: bool) -> float:
    """Return the share of tokens that are the top prediction, of all unmasked ones or of the masked ones."""
    drawn = range(10) if masked else (0,)
    return fmean(token == guess for seed in drawn for token, guess, _ in _guesses(checkpoint, text, masked, seed))


def _share_of_next(checkpoint: Checkpoint, texts: Sequence[str]) -> float:
    """Return how often a wrong prediction at an unmasked token is the token that comes next."""
    read = [guesses for text in texts for guesses in _guesses(checkpoint, text, masked=False)]
    wrong = [guess == following for token, guess, following in read if guess != token]
    return fmean(wrong) if wrong else 0.0


def _guesses(checkpoint: Checkpoint, text: str, masked: bool, seed: int = 0) -> Iterator[tuple[str, str, str]]:
    """Yield each predicted token, all or a masked 15%, with its top prediction and the token after it."""
    from bertviz_lab.data.pretraining.batches import masking_rule

    rule = masking_rule(checkpoint.tokenizer, 0.15 if masked else 1.0, mask_share=float(masked), random_share=0.0)
    drawn = interpret.mask_text(checkpoint.tokenizer, text, seed=seed, rule=rule)
    tokens = drawn.encoding.tokens
    for at in interpret.masked_loss(checkpoint, drawn).positions:
        yield tokens[at.position], at.guess.token, tokens[at.position + 1]


def segments(session: AppState, lesson: Lesson) -> Finding:
    """Measure NSP with the true segment ids and with all of them 0."""
    from bertviz_lab.interpret.inputs import with_segment_ids

    checkpoint, tiny, town = (session.models.open(name) for name in (lesson.model, TINY, TOWN))

    def follows(model: Checkpoint, pair: Sequence[str], kind: Literal["", "zero", "swapped"]) -> float:
        text_a, text_b = pair
        inputs = interpret.encode_inputs(model, text_a, text_b)
        target = interpret.choose_target(model, inputs, kind="next")
        return float(interpret.class_scores(model, with_segment_ids(inputs, kind) if kind else inputs, target)[0])

    elsewhere = [(text_a, CASES["pairs"][number - 7][1]) for number, (text_a, _) in enumerate(CASES["pairs"])]

    def of_pairs(model: Checkpoint, kind: Literal["", "zero"]) -> tuple[list[float], list[float]]:
        true, false = ([follows(model, pair, kind) for pair in pairs] for pairs in (CASES["pairs"], elsewhere))
        return true, false

    own, zero, of_tiny = of_pairs(checkpoint, ""), of_pairs(checkpoint, "zero"), of_pairs(tiny, "zero")
    differences = [[true - false for true, false in zip(*probabilities, strict=True)] for probabilities in (own, zero)]
    held = [abs(now) < abs(before) / 2 for before, now in zip(*differences, strict=True)]
    told = ("The blue bike of Leo is fast.", "The yellow bike of Leo is fast.", "In spring the two roses are small.")
    follows_up, wrong, other = (interpret.next_sentence(town, BIKES, text).is_next for text in told)
    swapped = follows(checkpoint, CASES["pairs"][0], "swapped")
    numbers = {"own": percent(own[0][0]), "zero": percent(zero[0][0]), "swapped": percent(swapped),
               "told": percent(follows_up), "wrong": percent(wrong), "other": percent(other)}  # fmt: skip
    named = ("true_own", "false_own"), ("true_zero", "false_zero"), ("true_tiny", "false_tiny")
    for names, probabilities in zip(named, (own, zero, of_tiny), strict=True):
        numbers |= {name: percent(fmean(shares)) for name, shares in zip(names, probabilities, strict=True)}
    before, now = map(fmean, differences)
    same = before > 0.3 and now < before / 2
    neither, both = same and max(map(fmean, zero)) < 0.5, same and min(map(fmean, zero)) > 0.5
    answer = only_choice(now > 0.8 * before, neither, both)
    kinds = (Message("B follows, its own segment ids"), Message("B from elsewhere, its own segment ids"),
             Message("B follows, all 0"), Message("B from elsewhere, all 0"))  # fmt: skip
    bars = percent_bars(zip(kinds, map(fmean, (*own, *zero)), strict=True))
    control = percent_bars([(Message("its own segment ids"), own[0][0]), (Message("all 0"), zero[0][0]),
                            (Message("swapped"), swapped)])  # fmt: skip
    return Finding(answer, numbers, bars, held, control)


def embeddings(session: AppState, lesson: Lesson) -> Finding:
    """Measure the similarity of a word's two input embeddings, and in two texts after the last layer."""
    from bertviz_lab.interpret.embeddings import cosine

    checkpoint = session.models.open(lesson.model)

    def twice(word: str, text: str) -> tuple[float, float]:
        summed = interpret.embedding_sum(checkpoint, text)
        one, other = (at for at, token in enumerate(summed.encoding.tokens) if token == word)
        token, total = (float(cosine(vectors[one], vectors[other])) for vectors in (summed.token, summed.total))
        return token, total

    sums = [twice(word, text) for word, text in CASES["twice"]]
    ways, same = (
        [interpret.compare_contexts(checkpoint, one, other, word).cosines for word, one, other in CASES[name]]
        for name in ("meanings", "same_meaning")
    )
    changed, unchanged = (fmean(float(steps[-1]) for steps in cosines) for cosines in (ways, same))
    (token, total), way = sums[0], ways[0]
    same_word = [alike > 0.9999 and summed < 0.95 for alike, summed in sums]
    diverge = [steps[-1] < steps[0] - 0.1 for steps in ways]
    answer = only_choice(same_word[0] and bool(way[0] > 0.9), total > 0.9999, bool(way[0] < 0.9))
    cosines = {"token": token, "total": total, "first": way[0], "last": way[-1], "same": same[0][-1],
               "changed": changed, "unchanged": unchanged}  # fmt: skip
    numbers = {name: Number(float(value), ".2f") for name, value in cosines.items()}
    bars = cosine_bars([(Message("token embeddings"), token), (Message("input embeddings (sums)"), total)])
    control = cosine_bars([(Message("another meaning, another text"), changed),
                           (Message("the same meaning, another text"), unchanged)])  # fmt: skip
    texts = {"river": CASES["meanings"][0][1], "city": CASES["meanings"][0][2], "pairs": f"{len(same)}"}
    return Finding(answer, numbers | texts, bars, [*same_word, *diverge], control)


def values(session: AppState, lesson: Lesson) -> Finding:
    """Measure what heads that attend mostly to [SEP] add, and the length of the value vectors that they read there."""
    import numpy as np

    checkpoint = session.models.open(lesson.model)
    held: list[bool] = []
    busy, idle = list[float](), list[float]()  # lengths of what heads add, relative to their layers' means
    shown, busiest = _Sink(), (0, 0)
    for text in CASES["plain"]:
        trace = interpret.trace_text(checkpoint, text)
        read_HLKD = value_vectors(checkpoint, trace)
        added = np.linalg.norm(trace.attentions @ read_HLKD, axis=-1).mean(-1)  # (layers, heads)
        lengths = np.linalg.norm(read_HLKD, axis=-1)  # (layers, heads, tokens)
        words = np.array(trace.encoding.special_tokens_mask) == 0
        to_end = trace.attentions[..., -1].mean(-1)
        relative = added / added.mean(-1, keepdims=True)
        busy += relative[to_end < 0.1].tolist()
        idle += relative[to_end > 0.5].tolist()
        sinks = []
        for layer, head in np.argwhere(to_end > 0.5):
            weights, others = trace.attentions[layer, head], np.delete(added[layer], head).mean()
            parts = weights * lengths[layer, head]  # of what each token reads, from each token
            sink = _Sink(
                int(layer), int(head), float(weights[:, -1].mean()),
                float(lengths[layer, head, -1] / lengths[layer, head, words].mean()),
                float(added[layer, head]), float(others), float((parts[:, -1] / parts.sum(-1)).mean()),
            )  # fmt: skip
            sinks.append(sink)
            held.append(sink.added < sink.others)
        if text == CASES["plain"][0]:
            shown = max(sinks, key=lambda sink: sink.weight, default=shown)
            layer, head = np.unravel_index(int(to_end.argmin()), to_end.shape)
            busiest = int(layer), int(head)
    numbers = {"sink": Message("Head {head} of layer {layer}", head=shown.head + 1, layer=shown.layer + 1),
               "layer": f"{shown.layer}", "head": f"{shown.head}", "weight": percent(shown.weight),
               "length": percent(shown.length), "from_sink": percent(shown.share),
               "added": Number(shown.added, ".1f"), "others": Number(shown.others, ".1f"),
               "busy": percent(fmean(busy or [0])), "idle": percent(fmean(idle or [0])),
               "busy_layer": f"{busiest[0]}", "busy_head": f"{busiest[1]}"}  # fmt: skip
    is_less = shown.weight > 0.5 and shown.added < 0.9 * shown.others
    names = (Message("share of the attention"), Message("length of its value vector"),
             Message("length of what the head adds"))  # fmt: skip
    shares = shown.weight, min(1.0, shown.length), min(1.0, shown.added / shown.others)
    answer = only_choice(shown.weight > 0.5 and not is_less, False, is_less)
    bars = percent_bars(zip(names, shares, strict=True))
    lengths_added = (
        (Message("heads with less than a tenth on [SEP]"), fmean(busy or [0])),
        (Message("heads with more than half on [SEP]"), fmean(idle or [0])),
    )
    most = max(1.0, *(length for _, length in lengths_added))
    control = tuple((name, share / most, words) for name, share, words in percent_bars(lengths_added))
    return Finding(answer, numbers | _copying(session), bars, held, control)


@dataclass(frozen=True)
class _Sink:
    """A head that attends mostly to [SEP], by what it does in one text."""

    layer: int = 0
    head: int = 0
    weight: float = 0.0  # of [SEP], averaged over the tokens
    length: float = 1.0  # of the value vector of [SEP], relative to those of the words
    added: float = 1.0  # mean length of what the head adds to a token
    others: float = 1.0  # the same of the other heads of its layer
    share: float = 0.0  # of the lengths that it reads, from [SEP]


def value_vectors(checkpoint: Checkpoint, trace: "TextTrace") -> "NDArray[np.float32]":
    """Return value vectors through their head's part of the output matrix, (layers, heads, tokens, hidden size).

    What a head reads of a token is this times the weight (Kobayashi et al. 2020, equation 3).
    """
    import numpy as np

    from bertviz_lab.interpret.inputs import backbone

    layers: Any = backbone(checkpoint).encoder.layers
    read = []
    for layer, of_layer in zip(layers, trace.layers, strict=True):
        values_HLK = of_layer.value_states[0].float().numpy()
        heads, _, size = values_HLK.shape
        matrix_HKD = layer.attention.output.weight.detach().float().numpy().T.reshape(heads, size, -1)
        read.append(values_HLK @ matrix_HKD)
    return np.stack(read)


def _copying(session: AppState) -> dict[str, str]:
    """Measure Tiny Town's head that attends most to a distant word, and the one that attends to the previous token."""
    import numpy as np

    town, (text, word) = session.models.open(TOWN), CASES["copied"][0]
    trace = interpret.trace_text(town, text)
    mask = trace.tokens.index("[MASK]")
    looks = trace.attentions[:, :, mask]  # (layers, heads, tokens)
    far, before = looks[:, :, trace.tokens.index(word)], looks[:, :, mask - 1]
    copier, neighbour = (np.unravel_index(int(weights.argmax()), weights.shape) for weights in (far, before))

    def without(*ablated: Any) -> float:
        head_mask = np.ones(far.shape)
        for head in ablated:
            head_mask[head] = 0
        return word_probability(town, text, word, head_mask=head_mask)

    shares = {"far": far[copier], "before": before[neighbour]}
    shares |= {"whole": without(), "without": without(copier), "unhurt": without(neighbour)}
    return {
        "copier": Message("head {head} of layer {layer}", head=copier[1] + 1, layer=copier[0] + 1),
        "neighbour": Message("Head {head} of layer {layer}", head=neighbour[1] + 1, layer=neighbour[0] + 1),
        "ablated": f"{copier[0]}.{copier[1]}",
        **{name: percent(float(share)) for name, share in shares.items()},
    }


def explanation(session: AppState, lesson: Lesson) -> Finding:
    """Measure a verb's probability when the place with most attention is replaced, and when its subject is."""
    import numpy as np

    checkpoint = session.models.open(lesson.model)

    def effects(text: str, thing: str) -> tuple[float, list[float], list[float]]:
        def cost(old: str = "", new: str = "") -> float:
            return word_probability(checkpoint, text.replace(old, new), "cost")

        places = [cost("market", place) for place in CASES["other_places"]]
        return cost(), places, [cost(thing, other) for other in CASES["other_things"]]

    measured = [effects(text, thing) for text, thing in CASES["plurals"]]
    held = [whole > 0.5 and min(places) > whole / 2 and max(things) < 0.1 for whole, places, things in measured]
    whole, (place, *_), (thing, *_) = measured[0]
    colors = [
        word_probability(checkpoint, text.replace(text.split()[1], color), "cost")
        for text, _ in CASES["plurals"]
        for color in CASES["other_colors"]
    ]
    text, subject = CASES["plurals"][0]
    trace = interpret.trace_text(checkpoint, text)
    looks = trace.attentions[:, :, trace.tokens.index("[MASK]")].copy()  # (layers, heads, tokens)
    looks[..., [bool(special) or token == "[MASK]" for special, token in
                zip(trace.encoding.special_tokens_mask, trace.tokens, strict=True)]] = 0  # fmt: skip
    top = trace.tokens[int(looks.mean((0, 1)).argmax())]
    heads = Series(
        Message(
            "head {head} of layer {layer} “{token}” ({weight})",
            head=head + 1,
            layer=layer + 1,
            token=trace.tokens[int(looks[layer, head].argmax())],
            weight=percent(float(looks[layer, head].max())),
        )
        for layer, head in np.ndindex(looks.shape[:2])
    )
    target = interpret.choose_target(
        checkpoint, interpret.encode_inputs(checkpoint, text), choice="cost", against="costs"
    )
    attributions = (interpret.attribute(checkpoint, text, method=name, target=target) for name in interpret.METHODS)
    ranked = {found.method: trace.tokens[int(found.scores.argmax())] for found in attributions}
    numbers = {"whole": percent(whole), "place": percent(place), "thing": percent(thing), "heads": heads,
               "lowest": percent(min(min(places) for _, places, _ in measured)),
               "color": percent(fmean(colors)), "color_lowest": percent(min(colors)),
               "methods": Series(Message("{method} “{token}”", method=method, token=token)
                                 for method, token in ranked.items())}  # fmt: skip
    meant = top == "market" and whole > 0.8 and thing < 0.1 and subject in ranked.values()
    answer = only_choice(meant and place < 0.5, False, meant and place > 0.6)
    names = Message("as it is"), Message("“school” for “market”"), Message("“bike” for “skates”")
    bars = percent_bars(zip(names, (whole, place, thing), strict=True))
    control = percent_bars([(Message("another color, mean"), fmean(colors)), (Message("“bike” for “skates”"), thing)])
    return Finding(answer, numbers, bars, held, control)
