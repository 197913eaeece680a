"""Layer by layer: the logit lens, and norms of hidden states; and the surprisal of each token."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from bertviz_lab.figures.charts import lines_payload, matrix_payload
from bertviz_lab.figures.payload import Payload
from bertviz_lab.figures.strips import ScoreRow, scores_payload, words_row

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.interpret import LogitLens, NormsByLayer, PseudoLogLikelihood


def logit_lens_payload(lens: "LogitLens", masks: Sequence[int] = (), *, is_prenorm: bool = False) -> Payload:
    """Return the top predictions of each layer, shaded by probability.

    `masks` are the positions of all [MASK]s, so that the title says of which of several it is. Hidden states of a
    pre-norm model go through its final LayerNorm first.
    """
    place = lens.target.position
    which = f"masked token {list(masks).index(place) + 1}, " if len(masks) > 1 and place in masks else ""
    names = ["embeddings", *(f"layer {prediction.layer}" for prediction in lens.layers[1:])]
    ranks = [prediction.rank for prediction in lens.layers]
    first = ranks.index(1) if 1 in ranks else len(ranks)
    stability = f" It ranks first from {names[first]} on." if set(ranks[first:]) == {1} else ""
    head = "final LayerNorm and the MLM head" if is_prenorm else "MLM head"
    return matrix_payload(
        np.array([[c.probability for c in prediction.candidates] for prediction in lens.layers]),
        names,
        [f"top {rank + 1}" for rank in range(len(lens.layers[0].candidates))],
        words=[[c.token for c in prediction.candidates] for prediction in lens.layers],
        peak=1.0,
        title=f"Logit lens: {which}the prediction at every layer",
        sentence=f"The {head} applied to the hidden state of every layer. The last row is the model's prediction: "
        f"{lens.target.name}, {lens.layers[-1].probability:.1%}.{stability}",
        file="logit-lens",
        note="The head was trained on the last layer only; on earlier layers its output is an approximation.",
    )


def surprisal_payload(scored: "PseudoLogLikelihood") -> Payload:
    """Return each token's surprisal in nats, with the top prediction where it differs."""
    predictions = [
        candidate.token if candidate and candidate.token != token else ""
        for candidate, token in zip(scored.expected, scored.encoding.tokens, strict=True)
    ]
    surprisals, probabilities = -scored.log_probabilities, np.exp(scored.log_probabilities)
    return scores_payload(
        scored.encoding,
        [
            ScoreRow("surprisal", "-log of its probability, in nats; 0 is certain", surprisals, digits=1),
            ScoreRow(
                "probability",
                "Of the token itself when it and the later pieces of its word are masked",
                probabilities,
                "none",
                ["" if np.isnan(p) else f"{p:.1%}" for p in probabilities],
            ),
            words_row("expected", "The top prediction in its place, where it differs", predictions),
        ],
        title="Surprisal of each token",
        sentence="Each token is masked in turn, with the later pieces of its word; darker means higher surprisal.",
        note=f"Pseudo-log-likelihood {scored.total:.1f} nats, pseudo-perplexity {scored.perplexity:.1f}: the model is "
        f"on average as uncertain as among {scored.perplexity:.1f} equally likely tokens (Salazar et al. 2020; "
        "Kauf and Ivanova 2023).",
        file="surprisal",
    )


NormKind = Literal["hidden", "attention", "feed_forward"]

NORM_NAMES: dict[NormKind, str] = {
    "hidden": "hidden state",
    "attention": "attention output",
    "feed_forward": "feed-forward output",
}

#: A mean would show those few tokens alone.
MEDIAN_NOTE = (
    "The median over all tokens, since some, often [CLS] and [SEP], have norms many times as large: click a token to "
    "see its own."
)


def norms_payload(norms: "NormsByLayer", position: int | None = None, norm_note: str = "") -> Payload:
    """Return three lines over the layers: for the token at `position`, or the median over all tokens.

    `norm_note` says what the hidden states of a pre-norm model are.
    """
    tokens = norms.encoding.tokens
    selected = position if position is not None and position < len(tokens) else None

    def series(kind: NormKind) -> list[float | None]:
        rows = getattr(norms, kind)
        values = np.median(rows, 1) if selected is None else rows[:, selected]
        return [None] * (len(norms.hidden) - len(values)) + [float(value) for value in values]

    return lines_payload(
        ["embeddings", *(str(layer) for layer in range(1, len(norms.hidden)))],
        [(name, series(kind)) for kind, name in NORM_NAMES.items()],
        title=f"Norms by layer: {'median' if selected is None else f'{tokens[selected]} (position {selected})'}",
        place_name="layer",
        low=0.0,
        file="norms",
        sentence="The Euclidean norm of the hidden state after each layer, and of what self-attention and the "
        f"feed-forward network add to it{'' if norm_note else ' before LayerNorm'}.",
        note=f"{norm_note} {MEDIAN_NOTE * (selected is None)}".strip(),
    )


def token_norms_payload(norms: "NormsByLayer", kind: NormKind, norm_note: str = "") -> Payload:
    """Return the norms with a row for each layer and a column for each token; `norm_note` as in `norms_payload`."""
    rows, name = getattr(norms, kind), NORM_NAMES[kind]
    labels = ["embeddings", *(f"layer {layer}" for layer in range(1, len(norms.hidden)))]
    peak = float(np.max(rows))
    return scores_payload(
        norms.encoding,
        [
            ScoreRow(label, f"Norm of the {name}, {label}", values, peak=peak)
            for label, values in zip(labels[-len(rows) :], rows, strict=True)
        ],
        title=f"Norm of the {name} at each layer",
        note=norm_note,
        file=f"norms-{kind.replace('_', '-')}",
    )
