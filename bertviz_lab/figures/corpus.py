"""What heads and neurons do on a corpus: all heads by two metrics, one head or neuron with examples, and searches."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.errors import InputError
from bertviz_lab.figures.charts import bars_payload, columns_payload, lines_payload, matrix_payload, points_payload
from bertviz_lab.figures.payload import Payload, facts_payload, to_json
from bertviz_lab.tokenization import Tokenizer

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab import interpret

#: Each metric of a `CorpusIndex`: its name on the page, and what it is.
METRICS = {
    "content": ("content-based", "squared weights that distance does not explain"),
    "position": ("position-based", "squared weights that the mean weight at each distance explains"),
    "previous": ("previous token", "share of attention to the previous token"),
    "next": ("next token", "share of attention to the next token"),
    "self": ("token itself", "share of attention to the token itself"),
    "same_word": ("same word", "share of attention to other places of the same token, where there are any"),
    "separator": ("separator", "share of attention to the separator, [SEP]"),
    "cls": ("[CLS]", "share of attention to [CLS]"),
    "entropy": ("attention entropy", "in nats: 0 is a single token, ln(tokens) is uniform attention"),
    "distance": ("distance", "mean distance of the tokens attended to, in tokens"),
}
_NOT_SHARES = ("entropy", "distance")
_NO_USE = (
    "Attention shows where a head gathers information, not whether a prediction uses it (Jain and Wallace 2019): "
    "Causes and head ablation measure that."
)
_NEURON_NOTE = (
    "The strongest examples make a neuron look purer than it is: most of its activations are weaker and may be about "
    "something else (Bolukbasi et al. 2021)."
)


def head_name(layer: int, head: int) -> str:
    """Return a head as papers write it: "3.2" is the second head of the third layer."""
    return f"{layer + 1}.{head + 1}"


def place_of(name: str, layers: int, count: int) -> tuple[int, int]:
    """Return layer and number of a head or neuron, from 0, of a name such as "3.2".

    Raises `InputError` for one that is not there.
    """
    layer, _, number = name.strip().partition(".")
    if layer.isdecimal() and number.isdecimal() and 1 <= int(layer) <= layers and 1 <= int(number) <= count:
        return int(layer) - 1, int(number) - 1
    raise InputError(f"Name a head or neuron as layer.number, from 1.1 to {layers}.{count}, not {name.strip()!r}.")


def heads_payload(
    index: "interpret.CorpusIndex", roles: Sequence[Sequence[str]], axes: tuple[str, str], chosen: tuple[int, int]
) -> Payload:
    """Return all heads by two of `METRICS`; a click sends the number of a head, counted through all layers."""
    x, y = (index.metrics[name] for name in axes)
    layers, heads = x.shape
    places = [(layer, head) for layer in range(layers) for head in range(heads)]
    words = [METRICS[roles[layer][head]][0] if roles[layer][head] else "no single role" for layer, head in places]
    titles = [METRICS[name][0] for name in axes]
    return points_payload(
        np.stack([x.ravel(), y.ravel()], 1),
        [f"head {head_name(*place)}: {word}" for place, word in zip(places, words, strict=True)],
        title=f"All heads on {len(index.texts):,} texts",
        axes=(titles[0], titles[1]),
        groups=[layer * min(4, layers) // layers for layer, _ in places],
        group_names=_layer_groups(layers),
        marked=[place == chosen for place in places],
        picks=range(len(places)),
        what="head",
        fits=axes[1] in _NOT_SHARES,
        sentence=f"Means over {index.tokens:,} tokens: {titles[0]} is {METRICS[axes[0]][1]}; {titles[1]}, "
        f"{METRICS[axes[1]][1]}. The cross is head {head_name(*chosen)}. Click a head to see where it attends.",
        note=_NO_USE,
        file="heads-on-corpus",
    )


def _layer_groups(layers: int) -> list[str]:
    """Return what the four colors of the layers are: a layer each, or a quarter of many."""
    count = min(4, layers)
    groups = [[n + 1 for n in range(layers) if n * count // layers == group] for group in range(count)]
    return [f"layers {group[0]} to {group[-1]}" if group[1:] else f"layer {group[0]}" for group in groups]


def head_facts(index: "interpret.CorpusIndex", layer: int, head: int, role: str) -> Payload:
    """Return what a head does on average, in numbers."""
    items = [("Head", head_name(layer, head)), ("Role on the corpus", METRICS[role][0] if role else "no single role")]
    values = {name: float(index.metrics[name][layer, head]) for name in METRICS}
    items += [(METRICS[name][0], f"{v:.2f}" if name in _NOT_SHARES else f"{v:.0%}") for name, v in values.items()]
    return facts_payload(items)


def profile_payload(index: "interpret.CorpusIndex", layer: int, head: int) -> Payload:
    """Return a head's mean weight by distance, between tokens of a text."""
    profile = index.profile[layer, head]
    reach = len(profile) // 2
    names = [f"{offset:+d}" if offset else "itself" for offset in range(-reach, reach + 1)]
    names[0], names[-1] = f"{names[0]} or more", f"{names[-1]} or more"
    return columns_payload(
        profile,
        names,
        [f"{name}: {value:.3f}" for name, value in zip(names, profile, strict=True)],
        title=f"Head {head_name(layer, head)}: mean weight by distance",
        sentence="Between tokens of the text, in tokens: what is left of 0 comes before.",
        file="distance-profile",
    )


def _context(tokenizer: Tokenizer, text: str, marks: dict[int, str]) -> list[list[str]]:
    """Return a text in parts [text, mark]; `marks` are of tokens by their positions, counted with [CLS]."""
    ((_, spans),) = tokenizer.ids_and_spans([text])
    parts, end = [], 0
    for position, mark in sorted(marks.items()):
        start, stop = spans[position - 1]
        parts += [[text[end:start], ""], [text[start:stop], mark]]
        end = stop
    return [part for part in [*parts, [text[end:], ""]] if part[0]]


def _examples_payload(title: str, groups: Sequence[tuple[str, Sequence[dict[str, Any]]]], **captions: str) -> Payload:
    """Return texts with marked tokens: each item has `parts`, `value` (0 to 1), `words` for it, and what a click sends
    as `pick`."""
    shown = [{"name": name, "items": list(items)} for name, items in groups if items]
    return to_json({"title": title, "sentence": "", "note": "", "groups": shown} | captions)


def examples_text(body: dict[str, Any]) -> str:
    """Return a payload of examples as plain text: marked tokens in brackets."""
    lines = [body["title"]]
    for group in body["groups"]:
        lines += ["", group["name"]]
        for item in group["items"]:
            lines.append(
                f"{item['words']:>6}  " + "".join(f"[{text}]" if mark else text for text, mark in item["parts"])
            )
    for name in ("promoted", "suppressed"):
        if name in body:
            lines += ["", f"{name}: " + ", ".join(f"{token} {change:+.3f}" for token, change in body[name])]
    return "\n".join(lines)


def head_examples_payload(index: "interpret.CorpusIndex", tokenizer: Tokenizer, layer: int, head: int) -> Payload:
    """Return the pairs of tokens with a head's strongest attention, and random ones of each interval."""
    from bertviz_lab.interpret import INTERVALS

    counts = index.histogram[layer, head]

    def item(example: NDArray[np.void]) -> dict[str, Any]:
        text, query, key, weight = example.tolist()
        parts = _context(tokenizer, index.texts[text], {query: "from", key: "to"})
        return {"parts": parts, "value": weight, "words": f"{weight:.2f}", "pick": [index.texts[text], query]}

    strongest, *intervals = [
        [item(example) for example in group if example["text"] >= 0] for group in index.heads[layer, head]
    ]
    groups = [("The strongest attention, one pair a text", strongest)]
    for (low, high), items in zip(reversed(INTERVALS), reversed(intervals), strict=True):
        share = counts[round(10 * low) : round(10 * high)].sum() / counts.sum()
        groups.append((f"{low} to {min(1, high):g}: {share:.0%} of tokens", items))
    return _examples_payload(
        f"Where head {head_name(layer, head)} attends",
        groups,
        sentence="The attending token is underlined, the one that it attends to most is filled. Below the strongest: "
        "random tokens by their largest weight to another token. Choose a text to explore it.",
        file=f"head-{head_name(layer, head)}-examples",
    )


def head_search_payload(found: "interpret.HeadSearch") -> Payload:
    """Return for each head how much more it links such tokens than their distance explains."""
    lift, (query, key) = found.lift, found.example
    layer, head = np.unravel_index(int(lift.argmax()), lift.shape)
    best = (layer, head)
    meant = f"{query} ({found.masked}, masked)" if found.masked else query
    queries, keys = (", ".join(tokens[:5]) for tokens in found.alike)
    alike = f"{queries} → {keys}" if keys else f"the same twice: {queries}"
    details = [
        [
            f"head {head_name(n, m)}: {found.weights[n, m]:.3f} on average, {found.expected[n, m]:.3f} at these "
            f"distances, largest of the text in {found.largest[n, m]:.0%}; here {found.example_weights[n, m]:.3f}"
            for m in range(lift.shape[1])
        ]
        for n in range(lift.shape[0])
    ]
    return matrix_payload(
        lift,
        [f"layer {n + 1}" for n in range(lift.shape[0])],
        [str(m + 1) for m in range(lift.shape[1])],
        column_name="head",
        texts=[[f"{value:+.2f}" for value in row] for row in lift],
        details=details,
        peak=max(0.2, float(np.abs(lift).max())),
        picks=(range(lift.shape[0]), range(lift.shape[1])),
        title=f"Heads that link {meant} to {key}",
        sentence=f"{found.pairs:,} pairs of the corpus ({alike}): the mean weight minus what the head gives to the "
        f"same distances anyway. Head {head_name(*map(int, best))} gives them {found.weights[best]:.2f} instead of "
        f"{found.expected[best]:.2f}, more than to any other token of the text in {found.largest[best]:.0%}.",
        note="Tokens are alike by their word embeddings, which do not know the sentence. " + _NO_USE,
        file="head-search",
    )


def firing_payload(
    index: "interpret.CorpusIndex", tokenizer: Tokenizer, found: Sequence["interpret.FiringNeuron"], token: str
) -> Payload:
    """Return the neurons that fire at a token, each with its strongest example of the corpus."""
    items = []
    for each in found:
        text, position, _ = index.neurons[each.layer, each.neuron][0].tolist()
        name = head_name(each.layer, each.neuron)
        parts = [[f"{name}: ", ""], *_context(tokenizer, index.texts[text], {position: "to"})]
        items.append({"parts": parts, "value": min(1.0, each.share), "words": f"{each.share:.0%}", "pick": name})
    return _examples_payload(
        f"Neurons that fire at {token}",
        [("Activation here, as a share of the largest in the corpus", items)],
        sentence="Each with its most activating text. Choose one to see more of it.",
        note=_NEURON_NOTE,
        file="firing-neurons",
    )


def neuron_examples_payload(index: "interpret.CorpusIndex", tokenizer: Tokenizer, layer: int, neuron: int) -> Payload:
    """Return the most activating tokens of a neuron in their texts."""
    examples = [each.tolist() for each in index.neurons[layer, neuron] if each["text"] >= 0]
    peak = max((value for *_, value in examples), default=0.0) or 1.0
    items = [
        {"parts": _context(tokenizer, index.texts[text], {position: "to"}), "value": max(0.0, value / peak),
         "words": f"{value:.2f}", "pick": [index.texts[text], position]}
        for text, position, value in examples
    ]  # fmt: skip
    return _examples_payload(
        f"Neuron {head_name(layer, neuron)}: most activating tokens, one a text",
        [(f"Active (above 0) at {index.active[layer, neuron]:.0%} of tokens", items)],
        note=_NEURON_NOTE,
        file=f"neuron-{head_name(layer, neuron)}",
    )


def promoted_payload(found: "interpret.PromotedTokens", layer: int, neuron: int) -> Payload:
    """Return the tokens that a neuron promotes and suppresses."""
    tokens = [*found.promoted, *reversed(found.suppressed)]
    skipped = "" if found.is_exact else " The layers after this one are skipped, as by the logit lens."
    return bars_payload(
        [token for token, _ in tokens],
        [("", [change for _, change in tokens])],
        number_format="+.3f",
        title=f"Neuron {head_name(layer, neuron)}: tokens that it promotes and suppresses",
        sentence="Change of the log-probability in nats: the masked-LM head on this layer's output with the neuron, "
        f"minus without it, at its most activating tokens (after Geva et al. 2022).{skipped}",
        note="What a neuron writes goes through LayerNorm and the head, so what it promotes depends on the state that "
        "it is added to: at other tokens it may be different.",
        file="promoted-tokens",
    )


def training_payload(
    steps: Sequence[int], metrics: Sequence[dict[str, NDArray[np.float64]]], layer: int, head: int, texts: int
) -> Payload:
    """Return how a head came to do what it does: its four largest shares at the end, at each snapshot."""
    values = {name: [float(of_step[name][layer, head]) for of_step in metrics] for name in METRICS}
    names = sorted((name for name in METRICS if name not in _NOT_SHARES), key=lambda name: -values[name][-1])[:4]
    return lines_payload(
        [f"{step:,}" for step in steps],
        [(METRICS[name][0], values[name]) for name in names],
        place_name="step",
        low=0,
        high=1,
        title=f"Head {head_name(layer, head)} over training",
        sentence=f"The same index at each snapshot, over {texts:,} texts of the corpus.",
        file="head-over-training",
    )
