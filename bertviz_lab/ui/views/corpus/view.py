"""What Corpus search asks: an index of all heads and neurons, one of them with its examples, and searches in it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bertviz_lab.errors import InputError
from bertviz_lab.figures.corpus import (
    corpus_head_body,
    corpus_heads_body,
    firing_neurons_body,
    head_examples_body,
    neuron_examples_body,
    place_of,
)
from bertviz_lab.figures.payload import Payload, figure, message_payload
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.ui.lazy import interpret
from bertviz_lab.ui.server.scheduler import report_progress
from bertviz_lab.ui.server.visitors import Visitor
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.view import Index, Input, Upload, Word, questions

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.interpret import CorpusIndex

Extent = Literal["some", "all"]  # as many texts as take seconds, or all


@dataclass(frozen=True)
class Asked(Input):
    """What is searched: a corpus, "" for the one that suits the model, and how much of it."""

    corpus: Word
    extent: Extent
    file: Upload | None

    def index(self, state: AppState, visitor: Visitor) -> "CorpusIndex":
        """Return the index of the corpus, which is made where none is kept."""
        all_texts = self.extent == "all"
        return state.corpora.index(self.name(state), visitor, self.corpus, self.file, all_texts=all_texts)


def corpora(state: AppState, visitor: Visitor, asked: Asked) -> list[tuple[str, str]]:
    """Return the corpora to choose from, [[name, title], ...]."""
    return state.corpora.choices(asked.name(state), visitor)


def heads(
    state: AppState, visitor: Visitor, asked: Asked, x: Word, y: Word, layer: Index | None, head: Index
) -> dict[str, Any]:
    """Return what was indexed (`facts`), all heads by two metrics (`map`), and one of them: by default the most
    content-based head. It has a `role`, a `profile` of distances and `examples`."""
    index, tokenizer = asked.index(state, visitor), asked.checkpoint(state).tokenizer
    if not {x, y} <= index.metrics.keys():
        raise InputError(f"Choose two of {', '.join(index.metrics)}.")
    layers, each = index.metrics["content"].shape
    if layer is None or layer >= layers or head >= each:
        layer, head = (int(at) for at in np.unravel_index(index.metrics["content"].argmax(), (layers, each)))
    return head_answer(index, tokenizer, (x, y), layer, head)


def head_answer(
    index: "CorpusIndex", tokenizer: Tokenizer, axes: Sequence[str], layer: int, head: int
) -> dict[str, Any]:
    """Return what `heads` does, of one head."""
    roles = interpret.head_roles(index)
    return {
        "chosen": [layer, head],
        "heads": len(roles[0]),
        "facts": figure("indexed_corpus", name=index.name, texts=len(index.texts), tokens=index.tokens),
        "map": figure("corpus_heads", **corpus_heads_body(index, roles, axes, (layer, head))),
        "role": figure("corpus_head", **corpus_head_body(index, layer, head, roles[layer][head])),
        "profile": figure("head_profile", layer=layer, head=head, values=index.profile[layer, head]),
        "examples": figure("head_examples", **head_examples_body(index, tokenizer, layer, head)),
    }


def pairs(state: AppState, visitor: Visitor, asked: Asked, query: Index | None, key: Index | None) -> dict[str, Any]:
    """Return the `tokens` of the input, [[position, words], ...], and the heads that link two of them (`map`).

    Without a `query` it is the first [MASK] or the last token, without a `key` the token whose occlusion lowers the
    prediction there most, or without a prediction the one that a head attends to most.
    """
    checkpoint = asked.checkpoint(state)
    trace = interpret.trace_text(checkpoint, *asked.texts)
    encoding, mask = trace.encoding, checkpoint.tokenizer.mask_id
    own = encoding.unmasked_positions(mask)
    if query is None:
        query = next(iter(encoding.mask_positions(mask)), own[-1] if own else 0)
    others = [at for at in own if at != query]
    if key is None and others and query < len(encoding):
        scores = trace.attentions[:, :, query].max((0, 1))
        if encoding.ids[query] == mask and "token" in interpret.target_kinds(checkpoint):
            inputs = interpret.encode_inputs(checkpoint, *asked.texts)
            target = interpret.choose_target(checkpoint, inputs, position=query)
            scores = interpret.attribute(checkpoint, *encoding.texts, method="occlusion", target=target).scores
        key = others[int(scores[others].argmax())]
    chosen = {"tokens": [[at, f"{token} ({at})"] for at, token in enumerate(encoding.tokens)], "query": query}
    if key is None:
        return chosen | {"key": query, "map": message_payload("The text needs two tokens that are not masked.")}
    try:
        index = asked.index(state, visitor)
        search = interpret.find_heads(
            checkpoint, index, *encoding.texts, query=query, key=key, on_progress=report_progress
        )
        return chosen | {"key": key, "map": figure("head_search", **vars(search))}
    except InputError as error:
        return chosen | {"key": key, "map": message_payload(str(error))}


def neurons(state: AppState, visitor: Visitor, asked: Asked, position: Index | None, neuron: Word) -> dict[str, Any]:
    """Return the neurons that are `firing` at a token, by default the first [MASK] or token; and of one, by default the
    first of them, its `examples` and the tokens that it `promoted`, None without a masked-LM head."""
    checkpoint = asked.checkpoint(state)
    index, tokenizer = asked.index(state, visitor), checkpoint.tokenizer
    encoding = interpret.encode_inputs(checkpoint, *asked.texts).encoding
    if position is None:
        position = next(iter(encoding.mask_positions(tokenizer.mask_id)), 1)
    position = min(position, len(encoding) - 1)
    firing = interpret.find_neurons(checkpoint, index, *encoding.texts, position=position)
    layer, number = firing[0].layer, firing[0].neuron
    if neuron.strip():
        layer, number = place_of(neuron, *index.neurons.shape[:2])
    promoted = interpret.promoted_tokens(checkpoint, index, layer, number)
    token, neurons = encoding.tokens[position], firing_neurons_body(index, tokenizer, firing)
    return {
        "firing": figure("firing_neurons", token=token, position=position, neurons=neurons),
        "examples": figure("neuron_examples", **neuron_examples_body(index, tokenizer, layer, number)),
        "promoted": promoted and figure("promoted_tokens", layer=layer, neuron=number, **vars(promoted)),
    }


def training(state: AppState, visitor: Visitor, asked: Asked, layer: Index, head: Index) -> Payload:
    """Return how a head came to do what it does, over the snapshots of the run."""
    name = asked.name(state)
    if not state.snapshots.has_snapshots(name):
        raise InputError("This model has no snapshots: choose a training run, wiki-mini or tiny-town.")
    index, reader = asked.index(state, visitor), state.snapshots.reader(name)
    steps, of_steps = reader.steps(), []
    for done, step in enumerate(steps):
        report_progress(done / len(steps))
        checkpoint = state.snapshots.open(name, step)
        of_steps.append(state.corpora.of_snapshot(name, step, checkpoint, index, state.models.version(name)))
    last = of_steps[-1].metrics["content"]
    if layer >= last.shape[0] or head >= last.shape[1]:
        raise InputError("That layer or head is not there.")
    metrics = {metric: [float(each.metrics[metric][layer, head]) for each in of_steps] for metric in index.metrics}
    texts = len(of_steps[-1].texts)
    return figure("head_over_training", layer=layer, head=head, steps=steps, metrics=metrics, texts=texts)


QUESTIONS = questions(corpora, slow=[heads, pairs, neurons, training])
