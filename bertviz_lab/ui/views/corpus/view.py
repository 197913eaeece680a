"""What Corpus search asks: an index of all heads and neurons, one of them with its examples, and searches in it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bertviz_lab.errors import InputError
from bertviz_lab.figures import corpus as figures
from bertviz_lab.figures.payload import Payload, facts_payload, message_payload
from bertviz_lab.ui.lazy import interpret
from bertviz_lab.ui.server.scheduler import report_progress
from bertviz_lab.ui.server.visitors import Visitor
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.view import Index, ModelName, Text, Upload, Word, questions

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.interpret import CorpusIndex

Extent = Literal["some", "all"]  # as many texts as take seconds, or all


@dataclass(frozen=True)
class Searched:
    """What is searched: a corpus, "" for the one that suits the model, and how much of it."""

    corpus: Word
    extent: Extent


def corpora(state: AppState, visitor: Visitor, model: ModelName, text_a: Text, text_b: Text) -> dict[str, Any]:
    """Return the corpora to choose from, [[name, title], ...], and the metrics of heads."""
    metrics = [[name, title] for name, (title, _) in figures.METRICS.items()]
    return {"corpora": state.corpora.choices(_name(state, model), visitor), "metrics": metrics}


def heads(
    state: AppState,
    visitor: Visitor,
    model: ModelName,
    text_a: Text,
    text_b: Text,
    searched: Searched,
    file: Upload | None,
    x: Word,
    y: Word,
    layer: Index | None,
    head: Index,
) -> dict[str, Any]:
    """Return what was indexed (`facts`), all heads by two metrics (`map`), and one of them: by default the most
    content-based head. It has a `role`, a `profile` of distances and `examples`."""
    if not {x, y} <= figures.METRICS.keys():
        raise InputError(f"Choose two of {', '.join(figures.METRICS)}.")
    index, tokenizer = _index(state, visitor, model, searched, file), state.models.open(model).tokenizer
    roles, (layers, each) = interpret.head_roles(index), index.metrics["content"].shape
    if layer is None or layer >= layers or head >= each:
        layer, head = (int(at) for at in np.unravel_index(index.metrics["content"].argmax(), (layers, each)))
    items = [("Corpus", index.name), ("Texts", f"{len(index.texts):,}"), ("Tokens", f"{index.tokens:,}")]
    return {
        "chosen": [layer, head],
        "heads": each,
        "facts": facts_payload(items),
        "map": figures.heads_payload(index, roles, (x, y), (layer, head)),
        "role": figures.head_facts(index, layer, head, roles[layer][head]),
        "profile": figures.profile_payload(index, layer, head),
        "examples": figures.head_examples_payload(index, tokenizer, layer, head),
    }


def pairs(
    state: AppState,
    visitor: Visitor,
    model: ModelName,
    text_a: Text,
    text_b: Text,
    searched: Searched,
    file: Upload | None,
    query: Index | None,
    key: Index | None,
) -> dict[str, Any]:
    """Return the `tokens` of the input, [[position, words], ...], and the heads that link two of them (`map`).

    Without a `query` it is the first [MASK] or the last token, without a `key` the token whose occlusion lowers the
    prediction there most, or without a prediction the one that a head attends to most.
    """
    checkpoint = state.models.open(model)
    trace = interpret.trace_text(checkpoint, text_a, text_b)
    encoding, mask = trace.encoding, checkpoint.tokenizer.mask_id
    own = encoding.unmasked_positions(mask)
    if query is None:
        query = next(iter(encoding.mask_positions(mask)), own[-1] if own else 0)
    others = [at for at in own if at != query]
    if key is None and others and query < len(encoding):
        scores = trace.attentions[:, :, query].max((0, 1))
        if encoding.ids[query] == mask and "token" in interpret.target_kinds(checkpoint):
            inputs = interpret.encode_inputs(checkpoint, text_a, text_b)
            target = interpret.choose_target(checkpoint, inputs, position=query)
            scores = interpret.attribute(checkpoint, text_a, encoding.text_b, method="occlusion", target=target).scores
        key = others[int(scores[others].argmax())]
    chosen = {"tokens": [[at, f"{token} ({at})"] for at, token in enumerate(encoding.tokens)], "query": query}
    if key is None:
        return chosen | {"key": query, "map": message_payload("The text needs two tokens that are not masked.")}
    try:
        index = _index(state, visitor, model, searched, file)
        found = interpret.find_heads(
            checkpoint, index, text_a, encoding.text_b, query=query, key=key, on_progress=report_progress
        )
        return chosen | {"key": key, "map": figures.head_search_payload(found)}
    except InputError as error:
        return chosen | {"key": key, "map": message_payload(str(error))}


def neurons(
    state: AppState,
    visitor: Visitor,
    model: ModelName,
    text_a: Text,
    text_b: Text,
    searched: Searched,
    file: Upload | None,
    position: Index | None,
    neuron: Word,
) -> dict[str, Any]:
    """Return the neurons that are `firing` at a token, by default the first [MASK] or token; and of one, by default the
    first of them, its `examples` and the tokens that it `promoted`, None without a masked-LM head."""
    checkpoint = state.models.open(model)
    index, tokenizer = _index(state, visitor, model, searched, file), checkpoint.tokenizer
    encoding = interpret.encode_inputs(checkpoint, text_a, text_b).encoding
    if position is None:
        position = next(iter(encoding.mask_positions(tokenizer.mask_id)), 1)
    position = min(position, len(encoding) - 1)
    found = interpret.find_neurons(checkpoint, index, text_a, encoding.text_b, position=position)
    layer, number = found[0].layer, found[0].neuron
    if neuron.strip():
        layer, number = figures.place_of(neuron, *index.neurons.shape[:2])
    promoted = interpret.promoted_tokens(checkpoint, index, layer, number)
    return {
        "firing": figures.firing_payload(index, tokenizer, found, f"{encoding.tokens[position]} ({position})"),
        "examples": figures.neuron_examples_payload(index, tokenizer, layer, number),
        "promoted": promoted and figures.promoted_payload(promoted, layer, number),
    }


def training(
    state: AppState,
    visitor: Visitor,
    model: ModelName,
    text_a: Text,
    text_b: Text,
    searched: Searched,
    file: Upload | None,
    layer: Index,
    head: Index,
) -> Payload:
    """Return how a head came to do what it does, over the snapshots of the run."""
    name = _name(state, model)
    if not state.snapshots.has_snapshots(name):
        raise InputError("This model has no snapshots: choose a training run, wiki-mini or tiny-town.")
    index, reader = _index(state, visitor, model, searched, file), state.snapshots.reader(name)
    steps, of_steps = reader.steps(), []
    for done, step in enumerate(steps):
        report_progress(done / len(steps))
        checkpoint = state.snapshots.open(name, step)
        of_steps.append(state.corpora.of_snapshot(name, step, checkpoint, index, state.models.version(name)))
    last = of_steps[-1].metrics["content"]
    if layer >= last.shape[0] or head >= last.shape[1]:
        raise InputError("That layer or head is not there.")
    return figures.training_payload(steps, [each.metrics for each in of_steps], layer, head, len(of_steps[-1].texts))


def _name(state: AppState, model: str) -> str:
    return model.strip() or state.models.default()


def _index(state: AppState, visitor: Visitor, model: str, searched: Searched, file: Upload | None) -> "CorpusIndex":
    return state.corpora.index(_name(state, model), visitor, searched.corpus, file, all_texts=searched.extent == "all")


QUESTIONS = questions(corpora, slow=[heads, pairs, neurons, training])
