"""Vectors: the sum that goes into the encoder, sentences beside each other, a word's way through the layers."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.figures.charts import bars_payload, lines_payload, matrix_payload, plane_payload
from bertviz_lab.figures.interpret.tokens import EncodingLike
from bertviz_lab.figures.payload import Payload
from bertviz_lab.figures.training.scores import ScoreRow, scores_payload


class SumLike(Protocol):
    """Token, segment and position vectors with their sum."""

    @property
    def encoding(self) -> EncodingLike: ...
    def norms(self) -> dict[str, NDArray[np.floating]]: ...
    def cosines(self) -> dict[str, NDArray[np.floating]]: ...


def embedding_payload(found: SumLike) -> Payload:
    """How long each of the three vectors is, and how far it points where their sum points."""
    norms, cosines = found.norms(), found.cosines()
    peak = max(float(norm.max()) for norm in norms.values())
    rows = [
        ScoreRow(
            name,
            f"Length of the {name} vector" if name != "sum" else "Length of the sum of all three",
            norm,
            "bar",
            peak=peak,
        )
        for name, norm in norms.items()
    ]
    rows += [
        ScoreRow(
            f"cos {name}",
            f"Cosine between the {name} vector and the sum: 1 points the same way, 0 is at right angles",
            values,
            peak=1.0,
            plus=True,
        )
        for name, values in cosines.items()
    ]
    return scores_payload(
        found.encoding,
        rows,
        title="token + segment + position",
        sentence="The model starts from the sum of three learnt vectors; bars show their lengths.",
        note="The sum is then shifted and scaled by LayerNorm (Devlin et al. 2018, figure 2).",
        file="embeddings",
    )


def similarity_payload(texts: Sequence[str], cosines: NDArray[np.floating]) -> Payload:
    """The cosine of each pair of sentences."""
    names = [_name(text, place) for place, text in enumerate(texts)]
    others = cosines[~np.eye(len(texts), dtype=bool)]
    every = f" (here every pair has at least {others.min():.2f})" if others.size else ""
    return matrix_payload(
        cosines,
        names,
        [str(place + 1) for place in range(len(texts))],
        title="How alike the sentences are",
        column_name="and",
        peak=1.0,
        file="similarity",
        sentence="The cosine between their vectors: 1 points the same way.",
        note=f"Vectors of a model that was not trained to compare sentences all point much the same way{every}, so "
        "look at which pair has more, not at how much (Reimers and Gurevych 2019).",
    )


def map_payload(texts: Sequence[str], points: NDArray[np.floating], explained: float) -> Payload:
    """Sentences in the plane in which they differ most."""
    return plane_payload(
        points,
        [str(place + 1) for place in range(len(texts))],
        title="Sentences on a map",
        details=[_name(text, place) for place, text in enumerate(texts)],
        file="map",
        sentence="The two directions in which the vectors differ most (principal components).",
        note=f"These two directions hold {explained:.0%} of all differences.",
    )


def neighbours_payload(word: str, neighbours: Sequence[Any]) -> Payload:
    """The nearest tokens as bars."""
    cosines = [float(n.cosine) for n in neighbours]
    return bars_payload(
        [n.token for n in neighbours],
        [("cosine", cosines)],
        title=f"Tokens nearest to {word}",
        texts=[[f"{c:.2f}" for c in cosines]],
        peak=1.0,
        file="neighbours",
        sentence="By the cosine between word embeddings, before any layer has seen a context.",
    )


def context_payloads(movement: Any) -> tuple[Payload, Payload]:
    """A word in two sentences: how alike it is at each layer, and both ways on a map."""
    layers = ["embeddings", *(str(layer) for layer in range(1, len(movement.cosines)))]
    lines = lines_payload(
        layers,
        [
            ("the two against each other", movement.cosines),
            ("in A, against the layer before", movement.moved_a),
            ("in B, against the layer before", movement.moved_b),
        ],
        title=f"{movement.word} in two sentences",
        place_name="layer",
        low=float(min(0.0, movement.cosines.min())),
        high=1.0,
        file="movement",
        sentence="Cosines: a word starts almost alike and takes on what its sentence says about it.",
    )
    count = len(layers)
    plane = plane_payload(
        np.concatenate([movement.map_a, movement.map_b]),
        [("start" if at == 0 else str(at)) for _ in range(2) for at in range(count)],
        title=f"The way of {movement.word} through the layers",
        groups=[0] * count + [1] * count,
        group_names=["in A", "in B"],
        ways=[list(range(count)), list(range(count, 2 * count))],
        details=[f"{name}: {layers[at]}" for name in ("in A", "in B") for at in range(count)],
        file="way",
        note=f"The two directions in which these vectors differ most; they hold {movement.explained:.0%} of all "
        "differences.",
    )
    return lines, plane


def _name(text: str, place: int) -> str:
    return f"{place + 1}. {text}"
