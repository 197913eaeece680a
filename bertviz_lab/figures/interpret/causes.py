"""What a prediction is caused by: effects of patches, components of a logit, and contributions of tokens."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.figures.charts import MOST_LABELS, bars_payload, matrix_payload
from bertviz_lab.figures.payload import Payload
from bertviz_lab.figures.strips import ScoreRow, scores_payload

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab import interpret

COMPONENT_TITLES: dict["interpret.Component", str] = {
    "residual": "Residual state",
    "attention": "Attention output",
    "feed_forward": "Feed-forward output",
    "head": "Attention heads",
}
_NO_PROOF = (
    "A patch shows that an activation is enough, or needed, for this change of the text: not that the model uses it "
    "for other texts, and components can compensate for each other (Zhang and Nanda 2024)."
)
_FEWEST_NATS = 0.01  # a smaller difference of two texts has no shares worth reading
_MOST_NAMED = 24  # tokens that all have their name and their numbers in a heat map


def score_text(target: "interpret.Target", score: float) -> str:
    """Write a target's score as people read it: a probability, a log-ratio in nats, or the number of a regression."""
    if target.is_regression:
        return f"{score:.2f}"
    return f"log-ratio {score:+.2f} nats" if target.against else f"{math.exp(score):.1%}"


def patching_payload(patching: "interpret.ActivationPatching", component: "interpret.Component") -> Payload:
    """Return the effect of each patch of a component, layer by token or layer by head, as shares of the difference."""
    target, tokens = patching.target, patching.encoding.tokens
    effects = patching.effects(component)
    is_head = component == "head"
    is_wide = not is_head and len(tokens) > _MOST_NAMED
    has_shares = abs(patching.total) >= _FEWEST_NATS
    shares = 100 * effects / patching.total if has_shares else 0 * effects
    texts = [["" if is_wide or abs(share) < 0.5 else f"{share:.0f}" for share in row] for row in shares]
    runs, what = ("corrupted", "clean"), "returns"
    if patching.direction == "noising":
        runs, what = ("clean", "corrupted"), "is lost"
    unit = "" if target.is_regression else " nats"
    scale = f"100 is the whole difference of the two texts, {patching.total:+.2f}{unit}."
    if not has_shares:
        scale = "Both texts have nearly the same score: change another token."
    return matrix_payload(
        effects,
        _layer_names(len(effects), component),
        [str(head + 1) for head in range(effects.shape[1])] if is_head else tokens,
        column_name="head" if is_head else "",
        unit=unit.strip(),
        texts=texts,
        peak=max(abs(patching.total), float(np.abs(effects).max(initial=0))) or 1.0,
        picks=(range(len(effects)), range(effects.shape[1])),
        axis="token" if is_wide else "",
        title=f"{COMPONENT_TITLES[component]}: {patching.direction} of {target.title}",
        sentence=f"Each cell is the {runs[0]} run with one activation of the {runs[1]} run: how much of the prediction "
        f"{what}. {scale} Click a cell to see the prediction with that patch.",
        note=_NO_PROOF + " A head is patched at all tokens." * is_head,
        file=f"patching-{component.replace('_', '-')}",
    )


def _layer_names(rows: int, component: "interpret.Component") -> list[str]:
    names = [f"layer {layer}" for layer in range(1, rows + 1)]
    return ["embeddings", *names[:-1]] if component == "residual" else names


def patched_payload(
    patching: "interpret.ActivationPatching",
    cell: "interpret.Cell",
    names: Sequence[str],
    runs: Sequence[NDArray[np.floating]],
) -> Payload:
    """Return the probabilities of some classes for the clean and the corrupted text, and with a patch."""
    tokens, rows = patching.encoding.tokens, len(patching.scores[cell.component])
    at = f"head {cell.index + 1}" if cell.component == "head" else f"{tokens[cell.index]} ({cell.index})"
    place = f"{COMPONENT_TITLES[cell.component].lower()}, {_layer_names(rows, cell.component)[cell.layer]}, {at}"
    into, source = ("corrupted", "clean") if patching.direction == "denoising" else ("clean", "corrupted")
    series = zip(("clean text", "corrupted text", "with this patch"), runs, strict=True)
    return bars_payload(
        names,
        [(name, values.tolist()) for name, values in series],
        number_format=".2f" if patching.target.is_regression else ".1%",
        title=f"Prediction with a patch: {place}",
        sentence=f"The {into} run with this one activation of the {source} run.",
        file="patched",
    )


def decomposition_payload(parts: "interpret.LogitDecomposition", patching: "interpret.ActivationPatching") -> Payload:
    """Return what each component adds to a logit, next to the effect of patching it, where it can be patched."""
    target = parts.target
    rows: list[tuple[str, float, float | None]] = [
        (f"{name} embedding", v, None) for name, v in parts.embeddings.items()
    ]
    sign = 1 if patching.direction == "denoising" else -1
    heads, feed_forward = (sign * patching.effects(name) for name in ("head", "feed_forward"))
    for layer, (of_heads, of_layer) in enumerate(zip(parts.heads, parts.feed_forward, strict=True)):
        for head, value in enumerate(of_heads):
            rows.append((f"layer {layer + 1} head {head + 1}", value, heads[layer, head]))
        rows.append((f"layer {layer + 1} feed-forward", of_layer, feed_forward[layer, target.position]))
    rows.append(("biases", parts.biases, None))
    if len(rows) > MOST_LABELS:
        rows.sort(key=lambda row: -abs(row[1]))
    verb = "restored" if patching.direction == "denoising" else "lost"
    what = f"the logit of {target.name}" + (f" minus that of {target.against.name}" if target.against else "")
    return bars_payload(
        [name for name, _, _ in rows],
        [
            ("added to the logit", [float(value) for _, value, _ in rows]),
            (f"{verb} when patched", [None if effect is None else float(effect) for _, _, effect in rows]),
        ],
        number_format="+.2f",
        peak=1.25 * max(abs(value) for row in rows for value in row[1:] if value is not None),  # room for the numbers
        ranked="largest contributions",
        title=f"Components of {what}",
        sentence=f"The contributions sum to {parts.total:.4f}; the model computes {parts.logit:.4f}. Next "
        f"to them is the effect of patching the same component ({patching.direction}).",
        note="Direct contributions only, at the position of the prediction: what a component does through later ones "
        "is counted there, and patching counts it here. Patching measures the change to the corrupted text, heads at "
        "all tokens. A logit without a contrast is not a probability, which depends on all other logits too.",
        file="decomposition",
    )


_FLOW_DESCRIPTIONS: dict["interpret.FlowMethod", str] = {
    "attention": "Attention rollout: mean attention of all heads, and the identity for the residual connection, "
    "multiplied through the layers (Abnar and Zuidema 2020)",
    "value zeroing": "Change of the position's state, as cosine distance, when the value vector of this token is zero "
    "(Mohebbi et al. 2023)",
    "norm": "Norm of the vector that this token adds, through heads, residual connection and LayerNorm "
    "(Kobayashi et al. 2021)",
    "ALTI": "How near that vector comes to the whole output (Ferrando et al. 2022)",
}


def flow_payload(flow: "interpret.InformationFlow", position: int) -> Payload:
    """Return each token's contribution to a position after all layers, by every method, next to raw attention."""
    raw = flow.contributions["attention"][:, position].mean(0)
    rows = [ScoreRow("raw attention", "Mean attention of all layers and heads from the position", raw)]
    for method, description in _FLOW_DESCRIPTIONS.items():
        label = "rollout" if method == "attention" else method
        rows.append(ScoreRow(label, description, flow.flow(method)[-1, position]))
    return scores_payload(
        flow.encoding,
        rows,
        title=f"What reaches {flow.encoding.tokens[position]} ({position})",
        sentence="Each row sums to 1. Where the rows differ, attention alone does not show what flows.",
        note="A contribution is how much of a token is mixed in, not what it does to the prediction: it has no sign. "
        "Value zeroing measures the feed-forward layer too, norm and ALTI leave it out.",
        file="information-flow",
    )


def flow_by_layer_payload(flow: "interpret.InformationFlow", method: "interpret.FlowMethod", position: int) -> Payload:
    """Return each token's contribution to a position within every layer, by one method."""
    layers = flow.contributions[method][:, position]
    return scores_payload(
        flow.encoding,
        [ScoreRow(f"layer {n + 1}", f"Contribution within layer {n + 1}", row) for n, row in enumerate(layers)],
        title=f"Contributions to {flow.encoding.tokens[position]} ({position}) layer by layer: {method}",
        file=f"information-flow-{method.replace(' ', '-').lower()}",
    )
