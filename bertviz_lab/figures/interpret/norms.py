"""Norms of hidden states, and of what attention and feed-forward network add to them, layer by layer."""

from typing import TYPE_CHECKING, Literal

import numpy as np

from bertviz_lab.figures.charts import lines_payload
from bertviz_lab.figures.payload import Payload
from bertviz_lab.figures.strips import ScoreRow, scores_payload

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.interpret import NormsByLayer

NormKind = Literal["hidden", "attention", "feed_forward"]

_NAMES: dict[NormKind, str] = {
    "hidden": "hidden state",
    "attention": "attention output",
    "feed_forward": "feed-forward output",
}

#: A mean would show those few tokens alone.
_MEDIAN = (
    "The median over all tokens, since some, often [CLS] and [SEP], have norms many times as large: click a token to "
    "see its own."
)


def norms_payload(norms: "NormsByLayer", position: int | None = None, norm_note: str = "") -> Payload:
    """Three lines over the layers: for the token at `position`, or the median over all tokens.

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
        [(name, series(kind)) for kind, name in _NAMES.items()],
        title=f"Norms by layer: {'median' if selected is None else f'{tokens[selected]} (position {selected})'}",
        place_name="layer",
        low=0.0,
        file="norms",
        sentence="The Euclidean norm of the hidden state after each layer, and of what self-attention and the "
        f"feed-forward network add to it{'' if norm_note else ' before LayerNorm'}.",
        note=f"{norm_note} {_MEDIAN * (selected is None)}".strip(),
    )


def token_norms_payload(norms: "NormsByLayer", kind: NormKind, norm_note: str = "") -> Payload:
    """A row for each layer, a column for each token; `norm_note` as in `norms_payload`."""
    rows = getattr(norms, kind)
    name = _NAMES[kind]
    labels = ["embeddings"] if kind == "hidden" else []
    labels += [f"layer {layer}" for layer in range(1, len(norms.hidden))]
    peak = float(np.max(rows))
    return scores_payload(
        norms.encoding,
        [
            ScoreRow(label, f"Norm of the {name}, {label}", values, peak=peak)
            for label, values in zip(labels, rows, strict=True)
        ],
        title=f"Norm of the {name} at each layer",
        note=norm_note,
        file=f"norms-{kind.replace('_', '-')}",
    )
