"""What figures are drawn of where a result of `interpret` has more than that, or computes it from what it has."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bertviz_lab.tokenization import Tokenizer, explain

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab import interpret

_MOST_WORDS, _MOST_STEPS = 60, 40  # of a text, and of a word


def splits_body(tokenizer: Tokenizer, text: str) -> dict[str, Any]:
    """Return what "word_splits" is drawn of: the first words of a long text, the first steps of a long word."""
    words = explain(tokenizer, text)
    drawn = [
        {
            "word": word.word,
            "pieces": word.pieces,
            "steps": word.steps[:_MOST_STEPS],
            "skipped": max(0, len(word.steps) - _MOST_STEPS),
        }
        for word in words[:_MOST_WORDS]
    ]
    more = max(0, len(words) - _MOST_WORDS)
    unknown = tokenizer.token(tokenizer.unk_id)
    return {"algorithm": tokenizer.algorithm, "unknown": unknown, "words": drawn, "more": more}


def attribution_body(attributions: Sequence["interpret.Attribution"]) -> dict[str, Any]:
    """Return what "attribution" is drawn of: one prediction, by several methods."""
    first, *_ = attributions
    methods = [{"method": a.method, "scores": a.scores, "error": a.error} for a in attributions]
    return {"encoding": first.encoding, "target": first.target, "methods": methods, "change": first.change}


def embedding_body(summed: "interpret.EmbeddingSum") -> dict[str, Any]:
    """Return what "embedding_sum" is drawn of."""
    return {"encoding": summed.encoding, "norms": summed.norms(), "cosines": summed.cosines()}


def runs_body(patching: "interpret.ActivationPatching") -> dict[str, Any]:
    """Return what is the same for every patch: the text, the prediction and its scores in both runs."""
    names = ("encoding", "target", "direction", "clean", "corrupted")
    return {name: getattr(patching, name) for name in names}


def patching_body(patching: "interpret.ActivationPatching", component: "interpret.Component") -> dict[str, Any]:
    """Return what "activation_patching" is drawn of: all patches of a component."""
    return runs_body(patching) | {"component": component, "scores": patching.scores[component]}


def decomposition_body(
    parts: "interpret.LogitDecomposition", patching: "interpret.ActivationPatching"
) -> dict[str, Any]:
    """Return what "logit_decomposition" is drawn of: a logit's components, and the effect of patching each."""
    sign = 1 if patching.direction == "denoising" else -1
    heads, feed_forward = sign * patching.effects("head"), sign * patching.effects("feed_forward")
    patched = {"heads": heads, "feed_forward": feed_forward[:, parts.target.position]}
    return vars(parts) | {"direction": patching.direction, "patched": patched}


def flow_body(flow: "interpret.InformationFlow", position: int) -> dict[str, Any]:
    """Return what "information_flow" is drawn of: each token's contribution to a position, by every method."""
    methods = [("raw attention", flow.contributions["attention"][:, position].mean(0))]
    for method in flow.contributions:
        methods.append(("rollout" if method == "attention" else method, flow.flow(method)[-1, position]))
    return {"encoding": flow.encoding, "position": position, "methods": methods}


def flow_graph_body(
    flow: "interpret.InformationFlow", method: "interpret.FlowMethod", position: int, threshold: float
) -> dict[str, Any]:
    """Return what "flow_graph" is drawn of: the paths to a position, as edges [layer, from, to, share of its state]."""
    edges = flow.paths(method, position)
    kept = [
        [layer, source, target, edges[layer, target, source]]
        for layer, target, source in np.argwhere(edges >= threshold)
    ]
    through = [edges[0].sum(0), *(of_layer.sum(1) for of_layer in edges)]
    about = {"tokens": flow.encoding.tokens, "position": position, "method": method, "threshold": threshold}
    return about | {"edges": kept, "through": np.stack(through)}
