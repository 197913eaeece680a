"""What lessons 5 to 8 say of the models, measured; see `claims`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from bertviz_lab.errors import InputError
from bertviz_lab.ui.languages import Message, Number, Series
from bertviz_lab.ui.lessons.cases import COPIED, OPPOSITES, OTHER_PLACES, OTHER_THINGS, PLAIN, PLURALS
from bertviz_lab.ui.lessons.claims import BIKE, count_held, only_choice, percent, percent_bars, word_probability
from bertviz_lab.ui.lessons.lesson import ENGLISH, TOWN, Finding, Lesson
from bertviz_lab.ui.server.visitors import NOBODY
from bertviz_lab.ui.state.app_state import AppState

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bertviz_lab.interpret import TextTrace
    from bertviz_lab.training.checkpoints.checkpoint import Checkpoint

#: Sentences that many small models take for blame; the lesson shows the first that its model does.
TRAPS = ("not bad at all", "not boring at all", "a film that is never boring", "I expected a bad film and was wrong.")


def values(session: AppState, lesson: Lesson) -> Finding:
    """What heads add that attend mostly to [CLS], and how long the value vectors are that they read there."""
    import numpy as np

    from bertviz_lab.interpret import trace_text

    checkpoint = session.models.open(lesson.model)
    held: list[bool] = []
    shown = _Sink()
    for text in PLAIN:
        trace = trace_text(checkpoint, text)
        read_HLKD = value_vectors(checkpoint, trace)
        added = np.linalg.norm(trace.attentions @ read_HLKD, axis=-1).mean(-1)  # (layers, heads)
        lengths = np.linalg.norm(read_HLKD, axis=-1)  # (layers, heads, tokens)
        words = np.array(trace.encoding.special_tokens_mask) == 0
        sinks = []
        for layer, head in np.argwhere(trace.attentions[..., 0].mean(-1) > 0.5):
            weights, others = trace.attentions[layer, head], np.delete(added[layer], head).mean()
            parts = weights * lengths[layer, head]  # of what each token reads, from each token
            sink = _Sink(
                int(layer), int(head), float(weights[:, 0].mean()),
                float(lengths[layer, head, 0] / lengths[layer, head, words].mean()),
                float(added[layer, head]), float(others), float((parts[:, 0] / parts.sum(-1)).mean()),
            )  # fmt: skip
            sinks.append(sink)
            held.append(sink.added < sink.others)
        if text == PLAIN[0]:
            shown = max(sinks, key=lambda sink: sink.weight, default=shown)
    numbers = {"sink": Message("Head {head} of layer {layer}", head=shown.head + 1, layer=shown.layer + 1),
               "layer": f"{shown.layer}", "head": f"{shown.head}", "weight": percent(shown.weight),
               "length": percent(shown.length), "from_sink": percent(shown.share),
               "added": Number(shown.added, ".1f"), "others": Number(shown.others, ".1f")}  # fmt: skip
    little = shown.weight > 0.5 and shown.added < shown.others / 2
    named = (
        (Message("share of the attention"), shown.weight),
        (Message("length of its value vector"), min(1.0, shown.length)),
        (Message("length of what the head adds"), min(1.0, shown.added / shown.others)),
    )
    answer = only_choice(shown.weight > 0.5 and not little, False, little)
    return Finding(answer, numbers | _copying(session), percent_bars(named), *count_held(held))


@dataclass(frozen=True)
class _Sink:
    """A head that attends mostly to [CLS], by what it does in one text."""

    layer: int = 0
    head: int = 0
    weight: float = 0.0  # of [CLS], averaged over the tokens
    length: float = 1.0  # of the value vector of [CLS], relative to those of the words
    added: float = 1.0  # mean length of what the head adds to a token
    others: float = 1.0  # the same of the other heads of its layer
    share: float = 0.0  # of the lengths that it reads, from [CLS]


def value_vectors(checkpoint: "Checkpoint", trace: "TextTrace") -> "NDArray[np.float32]":
    """Each token's value vector through its head's part of the output matrix, (layers, heads, tokens, hidden size).

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
    """The head of Tiny Town that attends most to a word far away, and the one that does to the previous token."""
    import numpy as np

    from bertviz_lab.interpret import fill_mask, trace_text

    town, (text, word) = session.models.open(TOWN), COPIED[0]
    trace = trace_text(town, text)
    mask = trace.tokens.index("[MASK]")
    looks = trace.attentions[:, :, mask]  # (layers, heads, tokens)
    far, before = looks[:, :, trace.tokens.index(word)], looks[:, :, mask - 1]
    copier, neighbour = (np.unravel_index(int(weights.argmax()), weights.shape) for weights in (far, before))

    def without(*ablated: Any) -> float:
        head_mask = np.ones(far.shape)
        for head in ablated:
            head_mask[head] = 0
        asked = fill_mask(town, text, 1, word=word, head_mask=head_mask).masks[0].asked
        return asked.probability if asked else 0.0

    return {
        "copier": Message("head {head} of layer {layer}", head=copier[1] + 1, layer=copier[0] + 1),
        "neighbour": Message("Head {head} of layer {layer}", head=neighbour[1] + 1, layer=neighbour[0] + 1),
        "far": percent(float(far[copier])),
        "before": percent(float(before[neighbour])),
        "ablated": f"{copier[0]}.{copier[1]}",
        "whole": percent(without()),
        "without": percent(without(copier)),
        "unhurt": percent(without(neighbour)),
    }


def classifier(session: AppState, lesson: Lesson) -> Finding:
    """Which phrase lies nearest to which before fine-tuning and after it; and how much of a classifier is new."""
    from bertviz_lab.interpret import classify, untrained
    from bertviz_lab.training.checkpoints.checkpoint import parameter_count

    tuned, plain = session.models.open(lesson.model), session.models.open(ENGLISH)
    before, after = (_neighbours(checkpoint, "cls") for checkpoint in (plain, tuned))
    phrases = len(before)
    half = phrases // 2  # the praise comes first, then its opposites in the same order

    def is_twin(found: Sequence[int]) -> list[bool]:
        return [near == (at + half) % phrases for at, near in enumerate(found)]

    def is_same(found: Sequence[int]) -> list[bool]:
        return [near // half == at // half for at, near in enumerate(found)]

    twin, same = is_twin(before), is_same(after)
    said = {text: classify(tuned, text).labels[0] for text in TRAPS}
    trap = next((text for text in TRAPS if said[text].label == "negative"), TRAPS[0])
    config, total = tuned.config, parameter_count(tuned.model)
    new = len(config.labels) * (config.hidden_size + 1)
    numbers = {
        "twins": f"{sum(twin)}", "phrases": f"{phrases}", "same": f"{sum(same)}",
        "twins_mean": f"{sum(is_twin(_neighbours(plain, 'mean')))}",
        "twins_random": f"{sum(is_twin(_neighbours(untrained(plain), 'cls')))}",
        "same_mean": f"{sum(is_same(_neighbours(tuned, 'mean')))}",
        "new": Number(new, ","), "total": Number(total, ","), "share": Number(new / total, ".2%"),
        "labels": f"{len(config.labels)}",
        "hidden": f"{config.hidden_size}", "trap": trap, "trapped": percent(said[trap].score),
    }  # fmt: skip
    shares = [sum(is_same(found)) / phrases for found in (before, after)]
    first = before[0] // half
    answer = only_choice(first == 0, twin[0] and same[0], False)
    held = (one and other for one, other in zip(twin, same, strict=True))
    names = Message("without fine-tuning"), Message("after fine-tuning")
    bars = percent_bars(list(zip(names, shares, strict=True)))
    return Finding(answer, numbers, bars, *count_held(held))


def _neighbours(checkpoint: "Checkpoint", pooling: Literal["cls", "mean"]) -> list[int]:
    """The nearest other phrase of each of `OPPOSITES`, all praise first, by the cosine of their vectors."""
    import numpy as np

    from bertviz_lab.interpret import encode

    phrases = [praise for praise, _ in OPPOSITES] + [blame for _, blame in OPPOSITES]
    vectors = encode(checkpoint, phrases, pooling=pooling, normalize=True)
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -2)
    return [int(near) for near in cosines.argmax(1)]


def curves(session: AppState, lesson: Lesson) -> Finding:
    """What the losses of the runs did that made a classifier; and what pretraining changes."""
    trials = [_overfitting(*trial) for trial in _trials(session.log_of(lesson.model))]
    if not trials:
        raise InputError(
            Message(
                "This copy of the lab has no training log of {model}, so there is no curve to look at.",
                model=lesson.model,
            )
        )
    first = trials[0]
    losses = {"least": first.lowest, "last": first.last, "then": first.training_then, "end": first.training_last}
    numbers = {name: Number(loss, ".2f") for name, loss in losses.items()}
    numbers |= {"lowest": Number(first.lowest_at, ".0%"), "accuracy_then": percent(first.accuracy_then),
                "accuracy_last": percent(first.accuracy_last)}  # fmt: skip
    named = (
        (Message("first evaluation"), first.first),
        (Message("lowest"), first.lowest),
        (Message("last"), first.last),
    )
    bars = tuple((name, min(1.0, loss), Number(loss, ".2f")) for name, loss in named)
    answer = only_choice(first.holds, first.last == first.lowest < first.first, first.lowest == first.first)
    return Finding(answer, numbers | _learnt(session), bars, *count_held(trial.holds for trial in trials))


@dataclass(frozen=True)
class _Overfitting:
    """Losses of a run: held-out (`first`, `lowest`, `last`), and training when it was lowest and at the end."""

    first: float
    lowest: float
    last: float
    lowest_at: float  # share of the steps
    training_then: float
    training_last: float
    accuracy_then: float  # held-out, when the held-out loss was lowest
    accuracy_last: float

    @property
    def holds(self) -> bool:
        """Whether the held-out loss fell and rose again while the training loss fell."""
        return self.first > self.lowest < self.last / 1.02 and self.training_last < self.training_then


def _overfitting(steps: Sequence[Mapping[str, Any]], evaluations: Sequence[Mapping[str, Any]]) -> _Overfitting:
    lowest = min(evaluations, key=lambda row: float(row["loss"]))
    then = [row["loss"] for row in steps if row["step"] <= lowest["step"]][-10:]
    last = [row["loss"] for row in steps][-10:]
    return _Overfitting(
        evaluations[0]["loss"],
        lowest["loss"],
        evaluations[-1]["loss"],
        (evaluations.index(lowest) + 1) / len(evaluations),
        sum(then) / max(1, len(then)),
        sum(last) / len(last),
        lowest["accuracy"],
        evaluations[-1]["accuracy"],
    )


def _trials(rows: Sequence[Mapping[str, Any]]) -> list[tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]]:
    """The training points and the evaluations of each trial of a fine-tuning."""
    trials: list[tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]] = []
    for row in rows:
        if row.get("event") == "TrialStarted":
            trials.append(([], []))
        elif trials and row.get("event") in ("StepDone", "EvalDone"):
            trials[-1][row["event"] == "EvalDone"].append(row)
    return [(steps, evaluations) for steps, evaluations in trials if steps and evaluations]


def _learnt(session: AppState) -> dict[str, str]:
    """What Tiny Town predicted before its first training step, and what it predicts now."""
    from bertviz_lab.interpret import untrained

    town = session.models.open(TOWN)
    before, now = word_probability(untrained(town), BIKE, "blue"), word_probability(town, BIKE, "blue")
    return {"vocabulary": Number(town.config.vocab_size, ","), "before": Number(before, ".2%"), "now": percent(now),
            "between": _between(session)}  # fmt: skip


def _between(session: AppState) -> str:
    """When Tiny Town came to write colours into the masked token, and when the right one; "" without its snapshots.

    They are few and spaced by their logarithms, so that the steps are rough.
    """
    from bertviz_lab.data.samples.tiny_town.world import COLOURS

    kept = [name for _, name in session.snapshots.choices(NOBODY)]
    steps = session.snapshots.reader(TOWN).steps() if TOWN in kept else ()
    kind = right = None
    for step in steps:
        checkpoint = session.snapshots.open(TOWN, step)
        chances = {colour: word_probability(checkpoint, BIKE, colour) for colour in COLOURS}
        kind = step if kind is None and sum(chances.values()) > 0.5 else kind
        right = step if right is None and chances["blue"] > 0.5 else right
    if kind is None or right is None or kind >= right:
        return ""
    return Message(
        "By step {kind} it predicted some colour here; by step {right} the right one.",
        kind=Number(kind, ","),
        right=Number(right, ","),
    )


def explanation(session: AppState, lesson: Lesson) -> Finding:
    """What becomes of a verb when the place is exchanged that has the attention, and when its subject is."""
    import numpy as np

    from bertviz_lab.interpret import METHODS, attribute, choose_target, encode_inputs, trace_text

    checkpoint = session.models.open(lesson.model)

    def effects(text: str, thing: str) -> tuple[float, list[float], list[float]]:
        places = [word_probability(checkpoint, text.replace("market", place), "cost") for place in OTHER_PLACES]
        things = [word_probability(checkpoint, text.replace(thing, other), "cost") for other in OTHER_THINGS]
        return word_probability(checkpoint, text, "cost"), places, things

    measured = [effects(text, thing) for text, thing in PLURALS]
    held = (whole > 0.5 and min(places) > whole / 2 and max(things) < 0.1 for whole, places, things in measured)
    whole, (place, *_), (thing, *_) = measured[0]
    text, subject = PLURALS[0]
    trace = trace_text(checkpoint, text)
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
    target = choose_target(checkpoint, encode_inputs(checkpoint, text), choice="cost", against="costs")
    ranked = {method: trace.tokens[int(attribute(checkpoint, text, method=method, target=target).scores.argmax())]
              for method in METHODS}  # fmt: skip
    numbers = {"whole": percent(whole), "place": percent(place), "thing": percent(thing), "heads": heads,
               "lowest": percent(min(min(places) for _, places, _ in measured)),
               "methods": Series(Message("{method} “{token}”", method=method, token=token)
                                 for method, token in ranked.items())}  # fmt: skip
    meant = top == "market" and whole > 0.8 and thing < 0.1 and subject in ranked.values()
    answer = only_choice(meant and place < 0.5, False, meant and place > 0.6)
    names = Message("as it is"), Message("“school” for “market”"), Message("“bike” for “skates”")
    bars = percent_bars(list(zip(names, (whole, place, thing), strict=True)))
    return Finding(answer, numbers, bars, *count_held(held))
