"""What figures of a corpus index are drawn of: all heads by two metrics, and examples of a head or a neuron as text."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from bertviz_lab.errors import InputError
from bertviz_lab.tokenization import Tokenizer

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab import interpret


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


def corpus_heads_body(
    index: "interpret.CorpusIndex", roles: Sequence[Sequence[str]], axes: Iterable[str], chosen: tuple[int, int]
) -> dict[str, Any]:
    """Return what "corpus_heads" is drawn of: all heads by two metrics of the index."""
    values = [{"name": name, "values": index.metrics[name]} for name in axes]
    return {"axes": values, "roles": roles, "chosen": chosen, "texts": len(index.texts), "tokens": index.tokens}


def corpus_head_body(index: "interpret.CorpusIndex", layer: int, head: int, role: str) -> dict[str, Any]:
    """Return what "corpus_head" is drawn of: the metrics of a head."""
    metrics = {name: values[layer, head] for name, values in index.metrics.items()}
    return {"layer": layer, "head": head, "role": role, "metrics": metrics}


def head_examples_body(index: "interpret.CorpusIndex", tokenizer: Tokenizer, layer: int, head: int) -> dict[str, Any]:
    """Return what "head_examples" is drawn of: the strongest pairs of tokens, and random ones of each interval."""
    from bertviz_lab.interpret import INTERVALS

    counts = index.histogram[layer, head]

    def examples(group: Any) -> list[dict[str, Any]]:
        return [
            _example(index, tokenizer, text, {query: "from", key: "to"}, weight)
            for text, query, key, weight in group.tolist()
            if text >= 0
        ]

    strongest, *of_intervals = index.heads[layer, head]
    intervals = [
        [low, high, counts[round(10 * low) : round(10 * high)].sum() / counts.sum(), examples(group)]
        for (low, high), group in zip(INTERVALS, of_intervals, strict=True)
    ]
    return {"layer": layer, "head": head, "strongest": examples(strongest), "intervals": intervals[::-1]}


def neuron_examples_body(
    index: "interpret.CorpusIndex", tokenizer: Tokenizer, layer: int, neuron: int
) -> dict[str, Any]:
    """Return what "neuron_examples" is drawn of: the most activating tokens of a neuron in their texts."""
    examples = [
        _example(index, tokenizer, text, {position: "to"}, activation)
        for text, position, activation in index.neurons[layer, neuron].tolist()
        if text >= 0
    ]
    return {"layer": layer, "neuron": neuron, "active": index.active[layer, neuron], "examples": examples}


def firing_neurons_body(
    index: "interpret.CorpusIndex", tokenizer: Tokenizer, firing: Iterable["interpret.FiringNeuron"]
) -> list[dict[str, Any]]:
    """Return neurons that fire at a token, each with its strongest example of the corpus."""
    strongest = [(each, index.neurons[each.layer, each.neuron][0].tolist()) for each in firing]
    return [
        vars(each) | {"parts": _context(tokenizer, index.texts[text], {position: "to"})}
        for each, (text, position, _) in strongest
    ]


def examples_text(examples: Iterable[dict[str, Any]]) -> list[str]:
    """Return examples as lines of plain text: the value, and marked tokens in brackets."""
    return [
        f"{example['value']:6.2f}  " + "".join(f"[{text}]" if mark else text for text, mark in example["parts"])
        for example in examples
    ]


def _example(
    index: "interpret.CorpusIndex", tokenizer: Tokenizer, text: int, marks: dict[int, str], value: float
) -> dict[str, Any]:
    """Return a text with marked tokens, the first of which is what a click on it selects."""
    shown = index.texts[text]
    return {"parts": _context(tokenizer, shown, marks), "value": value, "pick": [shown, next(iter(marks))]}


def _context(tokenizer: Tokenizer, text: str, marks: dict[int, str]) -> list[list[str]]:
    """Return a text in parts [text, mark]; `marks` are of tokens by their positions, counted with [CLS]."""
    ((_, spans),) = tokenizer.ids_and_spans([text])
    parts, end = [], 0
    for position, mark in sorted(marks.items()):
        start, stop = spans[position - 1]
        parts += [[text[end:start], ""], [text[start:stop], mark]]
        end = stop
    return [part for part in [*parts, [text[end:], ""]] if part[0]]
