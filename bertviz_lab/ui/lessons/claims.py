"""What the lessons say of the models, measured: each claim computes its numbers and which choice they bear out.

Imports are inside the functions: a page is built long before somebody asks for the first number.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bertviz_lab.ui.lessons.lesson import Finding, Lesson
from bertviz_lab.ui.server.visitors import NOBODY
from bertviz_lab.ui.state.app_state import AppState

if TYPE_CHECKING:
    from bertviz_lab.training.checkpoints.checkpoint import Checkpoint

#: Sentences that many small models take for blame; the lesson shows the first that its model does.
TRAPS = ("not bad at all", "not boring at all", "a film that is never boring", "I expected a bad film and was wrong.")
PRAISE = "a warm and funny film"


def _chance(checkpoint: "Checkpoint", text: str, word: str, *, blank: int = 0, causal: bool = False) -> float:
    """The probability of a word in a masked token of a text."""
    from bertviz_lab.interpret import fill_mask

    asked = fill_mask(checkpoint, text, 1, word=word, causal=causal).masks[blank].asked
    assert asked is not None
    return asked.probability


def _share(value: float) -> str:
    return f"{value:.1%}" if value < 0.9995 else "100%"


def _bars(named: Sequence[tuple[str, float]]) -> tuple[tuple[str, float, str], ...]:
    return tuple((name, float(value), _share(value)) for name, value in named)


def _chosen(*holds: bool) -> int | None:
    """The one choice that holds; None where several do, or none."""
    return holds.index(True) if sum(holds) == 1 else None


def both_sides(session: AppState, lesson: Lesson) -> Finding:
    """How sure a model is of a word told by what comes after it, with that and without it."""
    place = lesson.look[0].place
    text, word = place.text_a, place.settings["word"]
    checkpoint = session.models.open(lesson.model)
    both, causal = (_chance(checkpoint, text, word, causal=mask) for mask in (False, True))
    answer = _chosen(causal > 0.9 * both, both > 0.6 and 0.01 < causal < both / 2, causal < 0.01)
    bars = _bars([("bidirectional", both), ("causal mask", causal)])
    return Finding(answer, {"both": _share(both), "causal": _share(causal)}, bars)


def masking(session: AppState, lesson: Lesson) -> Finding:
    """How many tokens of a thousand a model sees as [MASK] by the rule of 80, 10 and 10."""
    from bertviz_lab.interpret import masking_statistics

    place = lesson.proof[0].place
    draws = int(place.settings["draws"])
    statistics = masking_statistics(session.models.open(lesson.model).tokenizer, place.text_a, draws=draws, seed=1)
    tokens = draws * sum(not special for special in statistics.encoding.special_tokens_mask)
    share = {outcome.outcome: outcome.observed / tokens for outcome in statistics.outcomes}
    numbers = {name: f"{1000 * value:.0f}" for name, value in share.items()}
    offered = [int(choice) for choice in lesson.choices]
    nearest = min(range(len(offered)), key=lambda at: abs(offered[at] - 1000 * share["mask"]))
    named = {"mask": "replaced by [MASK]", "random": "replaced by a random token", "kept": "selected, unchanged"}
    bars = tuple((named[name], value, f"{1000 * value:.0f} of 1,000") for name, value in share.items())
    return Finding(nearest, numbers | {"draws": f"{draws:,}"}, bars)


def next_sentence(session: AppState, lesson: Lesson) -> Finding:
    """Whether a sentence that contradicts the first one is taken to follow it."""
    from bertviz_lab.interpret import next_sentence

    checkpoint = session.models.open(lesson.model)
    pairs = [step.place for step in (lesson.look[1], *lesson.proof[:2])]
    true, wrong, other = (next_sentence(checkpoint, pair.text_a, pair.text_b).is_next for pair in pairs)
    told_apart = true > 0.8 and other < 0.2
    answer = _chosen(told_apart and wrong < 0.2, told_apart and wrong > 0.8, told_apart and 0.3 < wrong < 0.7)
    numbers = {"true": _share(true), "wrong": _share(wrong), "other": _share(other)}
    bars = _bars([("the blue bike, which he has", true), ("a yellow bike, which nobody has", wrong),
                  ("two roses in spring", other)])  # fmt: skip
    return Finding(answer, numbers, bars)


def embeddings(session: AppState, lesson: Lesson) -> Finding:
    """How alike one word's two vectors are before the first layer; and in two sentences, after the last."""
    from bertviz_lab.interpret import compare_contexts, embedding_sum
    from bertviz_lab.interpret.embeddings import cosine

    checkpoint, text = session.models.open(lesson.model), lesson.look[0].place.text_a
    embeddings = embedding_sum(checkpoint, text)
    one, other = (at for at, token in enumerate(embeddings.encoding.tokens) if token == "bike")
    token, total = (float(cosine(vectors[one], vectors[other])) for vectors in (embeddings.token, embeddings.total))
    apart = lesson.proof[0].place
    way = compare_contexts(checkpoint, apart.text_a, apart.text_b, apart.settings["common"]).cosines
    diverges = way[0] > 0.999 and way[-1] < 0.95
    answer = _chosen(total > 0.9999, bool(diverges and token > 0.9999 and total < 0.97), False)
    numbers = {"token": f"{token:.2f}", "total": f"{total:.2f}", "first": f"{way[0]:.2f}", "last": f"{way[-1]:.2f}"}
    named = [("token embeddings", token), ("input embeddings (sums)", total)]
    return Finding(answer, numbers, tuple((name, max(0.0, value), f"{value:.2f}") for name, value in named))


def heads(session: AppState, lesson: Lesson) -> Finding:
    """What the head does that looks hardest at a far word, which one looks at the word before, and what each is for."""
    import numpy as np

    from bertviz_lab.interpret import fill_mask, trace_text

    checkpoint = session.models.open(lesson.model)
    text, word = lesson.look[0].place.text_a, "black"
    trace = trace_text(checkpoint, text)
    blank = trace.tokens.index("[MASK]")
    looks = trace.attentions[:, :, blank]  # (layers, heads, tokens)
    far, before = looks[:, :, trace.tokens.index(word)], looks[:, :, blank - 1]
    copier, neighbour = (np.unravel_index(int(weights.argmax()), weights.shape) for weights in (far, before))
    head_mask = np.ones(far.shape)
    head_mask[copier] = 0
    asked = [fill_mask(checkpoint, text, 1, word=word, head_mask=g).masks[0].asked for g in (None, head_mask)]
    whole, without = (candidate.probability for candidate in asked if candidate)
    own = copier != neighbour and far[copier] > 0.4 and before[neighbour] > 0.4 and without < whole / 2
    even = looks.max() < 0.3
    numbers = {
        "copier": f"head {copier[1] + 1} of layer {copier[0] + 1}",
        "neighbour": f"head {neighbour[1] + 1} of layer {neighbour[0] + 1}",
        "far": _share(float(far[copier])),
        "before": _share(float(before[neighbour])),
        "ablated": f"{copier[0]}.{copier[1]}",
        "whole": _share(whole),
        "without": _share(without),
    }
    bars = _bars([("with all heads", whole), (f"without {numbers['copier']}", without)])
    return Finding(_chosen(far.max() < 0.1, bool(own), bool(even)), numbers, bars)


def classifier(session: AppState, lesson: Lesson) -> Finding:
    """How many of a classifier's numbers are its own, and what it makes of praise in words of blame."""
    from bertviz_lab.interpret import classify
    from bertviz_lab.training.checkpoints.checkpoint import parameter_count

    checkpoint = session.models.open(lesson.model)
    config, total = checkpoint.config, parameter_count(checkpoint.model)
    new = len(config.labels) * (config.hidden_size + 1)
    said = {text: classify(checkpoint, text).labels for text in (PRAISE, *TRAPS)}
    trap = next((text for text in TRAPS if said[text][0].label == "negative"), TRAPS[0])
    liked = {
        text: next(prediction.score for prediction in said[text] if prediction.label == "positive")
        for text in (PRAISE, trap)
    }
    works = liked[PRAISE] > 0.8 and liked[trap] < 0.5
    share = new / total
    numbers = {
        "new": f"{new:,}", "total": f"{total:,}", "share": f"{share:.2%}", "labels": f"{len(config.labels)}",
        "hidden": f"{config.hidden_size}", "trap": trap, "trapped": _share(1 - liked[trap]),
    }  # fmt: skip
    answer = _chosen(works and share > 0.3, works and 0.05 < share < 0.15, works and share < 0.001)
    return Finding(answer, numbers, _bars([(f"“{text}”", score) for text, score in liked.items()]))


def training(session: AppState, lesson: Lesson) -> Finding:
    """What a model says before its first step of training, and what the trained one does."""
    from bertviz_lab.interpret import fill_mask, untrained

    checkpoint, place = session.models.open(lesson.model), lesson.look[0].place
    text, word = place.text_a, place.settings["word"]
    size, random = checkpoint.config.vocab_size, untrained(checkpoint)
    before, now = _chance(random, text, word), _chance(checkpoint, text, word)
    likeliest = fill_mask(random, text, 1).masks[0].candidates[0].probability
    learnt = now > 0.6
    answer = _chosen(False, learnt and likeliest * size < 10, learnt and likeliest > 0.3)
    numbers = {"vocabulary": f"{size:,}", "even": f"{1 / size:.2%}", "before": f"{before:.2%}",
               "likeliest": f"{likeliest:.2%}", "now": _share(now), "between": _between(session, lesson)}  # fmt: skip
    bars = (("before training", before, numbers["before"]), ("after training", now, numbers["now"]))
    return Finding(answer, numbers, bars)


def _between(session: AppState, lesson: Lesson) -> str:
    """When a model came to write colours into the masked token, and when the right one; "" where it ships no snapshots.

    The snapshots are few and spaced by their logarithms, so that the steps are rough.
    """
    from bertviz_lab.data.samples.tiny_town.world import COLOURS

    place, kept = lesson.look[0].place, [name for _, name in session.snapshots.choices(NOBODY)]
    steps = session.snapshots.reader(lesson.model).steps() if lesson.model in kept else ()
    kind = right = None
    for step in steps:
        checkpoint = session.snapshots.open(lesson.model, step)
        chances = {colour: _chance(checkpoint, place.text_a, colour) for colour in COLOURS}
        kind = step if kind is None and sum(chances.values()) > 0.5 else kind
        right = step if right is None and chances[place.settings["word"]] > 0.5 else right
    if kind is None or right is None or kind >= right:
        return ""
    return f"By step {kind:,} it predicted some colour here; by step {right:,} the right one."


def explanation(session: AppState, lesson: Lesson) -> Finding:
    """The word that gets most attention against the word on which the answer rests."""
    import numpy as np

    from bertviz_lab.interpret import attribute, choose_target, encode_inputs, trace_text

    checkpoint = session.models.open(lesson.model)
    asked, without_top, without_key = (step.place for step in (lesson.look[0], lesson.proof[1], lesson.proof[2]))
    text, word = asked.text_a, asked.settings["word"]
    trace = trace_text(checkpoint, text)
    blank = trace.tokens.index("[MASK]")
    looks = trace.attentions[:, :, blank].mean((0, 1)) * (1 - np.array(trace.encoding.special_tokens_mask))
    looks[blank] = 0.0
    top, key = int(looks.argmax()), trace.tokens.index("skates")
    whole = _chance(checkpoint, text, word)
    less_top = _chance(checkpoint, without_top.text_a, word, blank=1)  # of two masked tokens the first hides the noun
    less_key = _chance(checkpoint, without_key.text_a, word, blank=1)
    target = choose_target(checkpoint, encode_inputs(checkpoint, text), choice=word, against="costs")
    blamed = trace.tokens[int(attribute(checkpoint, text, target=target).scores.argmax())]
    meant = (
        blamed == "skates"
        and trace.tokens[top] == "market"
        and whole > 0.8
        and less_key < 0.5
        and looks[key] < looks[top]
    )
    answer = _chosen(meant and less_top < 0.5, meant and less_top > 0.6 and less_top - less_key > 0.3, False)
    numbers = {"whole": _share(whole), "top": trace.tokens[top], "top_weight": _share(float(looks[top])),
               "key_weight": _share(float(looks[key])), "less_top": _share(less_top),
               "less_key": _share(less_key), "blamed": f"“{blamed}”"}  # fmt: skip
    bars = _bars([("nothing else masked", whole), ("“market” masked", less_top), ("“skates” masked", less_key)])
    return Finding(answer, numbers, bars)
