"""What lessons 1 to 4 say of the models, measured: numbers, the choice that they bear out, and on how many texts.

Imports are inside the functions: a page is built long before somebody asks for the first number.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from bertviz_lab.ui.lessons.cases import COPIED, MEANINGS, PAIRS, RIGHT_CONTEXT, TWICE
from bertviz_lab.ui.lessons.lesson import TOWN, Finding, Lesson
from bertviz_lab.ui.state.app_state import AppState

if TYPE_CHECKING:
    from bertviz_lab.training.checkpoints.checkpoint import Checkpoint

BIKE = "Leo has a [MASK] bike. The blue bike of Leo is fast."
BIKES = "Leo has a blue bike, and Mia has a red bike."


def word_probability(checkpoint: "Checkpoint", text: str, word: str, *, causal: bool = False) -> float:
    """The probability of a word in a masked token of a text."""
    from bertviz_lab.interpret import fill_mask

    asked = fill_mask(checkpoint, text, 1, word=word, causal=causal).masks[0].asked
    assert asked is not None
    return asked.probability


def percent(value: float) -> str:
    """A probability for people; only one that is 1 to three digits is 100%."""
    return f"{value:.1%}" if value < 0.9995 else "100%"


def percent_bars(named: Sequence[tuple[str, float]]) -> tuple[tuple[str, float, str], ...]:
    """The bars of a `Finding`, of probabilities by name."""
    return tuple((name, float(value), percent(value)) for name, value in named)


def only_choice(*holds: bool) -> int | None:
    """The one choice that holds; None where several do, or none."""
    return holds.index(True) if sum(holds) == 1 else None


def count_held(held: Iterable[bool]) -> tuple[int, int]:
    """On how many cases a claim holds, and of how many."""
    cases = [bool(holds) for holds in held]
    return sum(cases), len(cases)


def right_context(session: AppState, lesson: Lesson) -> Finding:
    """How probable a word is that what comes after it determines, with that and without it."""
    checkpoint = session.models.open(lesson.model)
    pairs = [
        tuple(word_probability(checkpoint, text, word, causal=causal) for causal in (False, True))
        for text, word in RIGHT_CONTEXT
    ]
    both, causal = pairs[0]
    town = session.models.open(TOWN)
    numbers = {"both": percent(both), "causal": percent(causal), "town": percent(word_probability(town, BIKE, "blue")),
               "guess": percent(word_probability(town, BIKE, "blue", causal=True))}  # fmt: skip
    answer = only_choice(0.5 * both < causal < 1.1 * both, causal > 1.1 * both, both > 0.1 and causal < both / 20)
    bars = percent_bars([("bidirectional", both), ("causal mask", causal)])
    return Finding(answer, numbers, bars, *count_held(causal < both / 5 for both, causal in pairs))


def masking(session: AppState, lesson: Lesson) -> Finding:
    """How many tokens of a thousand a model sees as [MASK] by the rule of 80, 10 and 10."""
    from bertviz_lab.interpret import masking_statistics

    place = lesson.proof[0].place
    draws = int(place.settings["draws"])
    tokenizer = session.models.open(lesson.model).tokenizer

    def shares(text: str) -> dict[str, float]:
        statistics = masking_statistics(tokenizer, text, draws=draws, seed=1)
        tokens = draws * sum(not special for special in statistics.encoding.special_tokens_mask)
        return {outcome.outcome: outcome.observed / tokens for outcome in statistics.outcomes}

    share = shares(place.text_a)
    offered = [int(choice.text) for choice in lesson.choices]
    nearest = min(range(len(offered)), key=lambda at: abs(offered[at] - 1000 * share["mask"]))
    named = {"mask": "replaced by [MASK]", "random": "replaced by a random token", "kept": "selected, unchanged"}
    bars = tuple((named[name], value, f"{1000 * value:.0f} of 1,000") for name, value in share.items())
    numbers = {name: f"{1000 * value:.0f}" for name, value in share.items()} | {"draws": f"{draws:,}"}
    near = (abs(shares(text.replace("[MASK]", word))["mask"] - 0.12) < 0.012 for text, word in COPIED)
    return Finding(nearest, numbers, bars, *count_held(near))


def segments(session: AppState, lesson: Lesson) -> Finding:
    """What becomes of a next sentence when its segment ids are all 0, or those of the other text."""
    from bertviz_lab.interpret import choose_target, class_scores, encode_inputs, next_sentence
    from bertviz_lab.interpret.inputs import with_segment_ids

    checkpoint, town = session.models.open(lesson.model), session.models.open(TOWN)

    def follows(text_a: str, text_b: str, kind: Literal["", "zero", "swapped"]) -> float:
        inputs = encode_inputs(checkpoint, text_a, text_b)
        target = choose_target(checkpoint, inputs, kind="next")
        return float(class_scores(checkpoint, with_segment_ids(inputs, kind) if kind else inputs, target)[0])

    own, zero, swapped = (follows(*PAIRS[0], kind) for kind in ("", "zero", "swapped"))
    held = (follows(*pair, "") > 0.5 > follows(*pair, "zero") for pair in PAIRS)
    told = ("The blue bike of Leo is fast.", "The yellow bike of Leo is fast.", "In spring the two roses are small.")
    true, wrong, other = (next_sentence(town, BIKES, text).is_next for text in told)
    numbers = {"own": percent(own), "zero": percent(zero), "swapped": percent(swapped), "true": percent(true),
               "wrong": percent(wrong), "other": percent(other)}  # fmt: skip
    answer = only_choice(abs(zero - own) < 0.1, own > 0.8 and zero < 0.5, zero > own + 0.01)
    bars = percent_bars([("its own segment ids", own), ("all 0", zero), ("swapped", swapped)])
    return Finding(answer, numbers, bars, *count_held(held))


def embeddings(session: AppState, lesson: Lesson) -> Finding:
    """How alike one word's two vectors are before the first layer; and in two texts, after the last."""
    from bertviz_lab.interpret import compare_contexts, embedding_sum
    from bertviz_lab.interpret.embeddings import cosine

    checkpoint = session.models.open(lesson.model)

    def twice(word: str, text: str) -> tuple[float, float]:
        summed = embedding_sum(checkpoint, text)
        one, other = (at for at, token in enumerate(summed.encoding.tokens) if token == word)
        token, total = (float(cosine(vectors[one], vectors[other])) for vectors in (summed.token, summed.total))
        return token, total

    sums = [twice(word, text) for word, text in TWICE]
    ways = {word: compare_contexts(checkpoint, one, other, word).cosines for word, one, other in MEANINGS}
    (token, total), way = sums[0], ways[MEANINGS[0][0]]
    same_word = [alike > 0.9999 and summed < 0.95 for alike, summed in sums]
    diverge = [steps[-1] < steps[0] - 0.1 for steps in ways.values()]
    answer = only_choice(same_word[0] and bool(way[0] > 0.9), total > 0.9999, bool(way[0] < 0.9))
    numbers = {"token": f"{token:.2f}", "total": f"{total:.2f}", "first": f"{way[0]:.2f}", "last": f"{way[-1]:.2f}",
               "river": MEANINGS[0][1], "city": MEANINGS[0][2]}  # fmt: skip
    named = [("token embeddings", token), ("input embeddings (sums)", total)]
    bars = tuple((name, min(1.0, max(0.0, value)), f"{value:.2f}") for name, value in named)
    return Finding(answer, numbers, bars, *count_held([*same_word, *diverge]))
