"""What lessons 5 and 8 say of attention, measured; see `claims`."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bertviz_lab.ui.languages import Message, Number, Series
from bertviz_lab.ui.lessons.cases import COPIED, OTHER_PLACES, OTHER_THINGS, PLAIN, PLURALS
from bertviz_lab.ui.lessons.claims import count_held, only_choice, percent, percent_bars, word_probability
from bertviz_lab.ui.lessons.lesson import TOWN, Finding, Lesson
from bertviz_lab.ui.state.app_state import AppState

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bertviz_lab.interpret import TextTrace
    from bertviz_lab.training.checkpoints.checkpoint import Checkpoint


def values(session: AppState, lesson: Lesson) -> Finding:
    """Measure what heads that attend mostly to [CLS] add, and the length of the value vectors that they read there."""
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


def explanation(session: AppState, lesson: Lesson) -> Finding:
    """Measure a verb's probability when the place with most attention is replaced, and when its subject is."""
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
