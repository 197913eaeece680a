"""Embeddings: the input embeddings, sentence similarity, a word in two contexts layer by layer."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bertviz_lab.figures.charts import bars_payload, lines_payload, matrix_payload, plane_payload
from bertviz_lab.figures.payload import Payload
from bertviz_lab.figures.strips import ScoreRow, scores_payload

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.interpret import ContextComparison, EmbeddingSum, Neighbour, Similarity

_ALL_SIMILAR = 0.3  # a cosine; that of unrelated sentences is about 0 where a model was trained for their similarity


def embedding_payload(embeddings: "EmbeddingSum", note: str = "") -> Payload:
    """Return the norm of each summand and its cosine with the sum; `note` says what a family lacks."""
    parts = [name for name, part in embeddings.parts().items() if part.any()]
    all_norms = embeddings.norms()
    norms = {name: all_norms[name] for name in [*parts, *["sum"] * (len(parts) > 1)]}
    count = {1: "the token embedding alone", 2: "the sum of two learned vectors"}
    peak = max(float(norm.max()) for norm in norms.values())
    rows = [
        ScoreRow(f"norm {name}", f"Norm of the {name}{' embedding' * (name != 'sum')}", norm, "bar", peak=peak)
        for name, norm in norms.items()
    ]
    rows += [
        ScoreRow(
            f"cos {name}",
            f"Cosine between the {name} embedding and the sum: 1 is the same direction, 0 is orthogonal",
            values,
            peak=1.0,
            plus=True,
        )
        for name, values in embeddings.cosines().items()
        if name in parts and len(parts) > 1
    ]
    return scores_payload(
        embeddings.encoding,
        rows,
        title=" + ".join(parts) if len(parts) > 1 else "Token embedding",
        sentence=f"The input embedding is {count.get(len(parts), 'the sum of three learned vectors')}; bars show "
        f"{'norms' if len(parts) == 1 else 'their norms'}.",
        note=f"LayerNorm then normalizes it (Devlin et al. 2018, figure 2). {note}".strip(),
        file="embeddings",
    )


def similarity_payload(compared: "Similarity") -> Payload:
    """Return the cosine of each pair of sentences."""
    names = [f"{number}. {text}" for number, text in enumerate(compared.texts, 1)]
    off_diagonal = compared.cosines[~np.eye(len(names), dtype=bool)]
    least = float(off_diagonal.min()) if off_diagonal.size else 0.0
    return matrix_payload(
        compared.cosines,
        names,
        [str(index + 1) for index in range(len(names))],
        column_name="and",
        peak=1.0,
        title="Cosine similarity of the sentences",
        file="similarity",
        sentence="Cosine between the sentence embeddings: 1 is the same direction.",
        note=f"Every pair has at least {least:.2f}: the embeddings of a model that was not trained for sentence "
        "similarity are all similar. Compare pairs rather than absolute values (Reimers and Gurevych 2019)."
        if least > _ALL_SIMILAR
        else "",
    )


def map_payload(compared: "Similarity") -> Payload:
    """Return sentence embeddings in the plane of their first two principal components."""
    return plane_payload(
        compared.map,
        [str(index + 1) for index in range(len(compared.texts))],
        title="Map of the sentences (PCA)",
        details=[f"{number}. {text}" for number, text in enumerate(compared.texts, 1)],
        file="map",
        sentence="The first two principal components of the embeddings.",
        note=f"They explain {compared.explained:.0%} of the variance.",
    )


def neighbours_payload(word: str, neighbours: Sequence["Neighbour"]) -> Payload:
    """Return the nearest tokens as bars."""
    return bars_payload(
        [n.token for n in neighbours],
        [("cosine", [float(n.cosine) for n in neighbours])],
        title=f"Nearest neighbors of {word}",
        number_format=".2f",
        peak=1.0,
        file="neighbours",
        sentence="By cosine between token embeddings, before any layer adds context.",
    )


def context_payloads(contexts: "ContextComparison", norm_note: str = "") -> tuple[Payload, Payload]:
    """Return a word in two contexts: its similarity at each layer, and both paths through the layers.

    `norm_note` says what the hidden states of a pre-norm model are.
    """
    count = len(contexts.cosines)
    layers = ["embeddings", *map(str, range(1, count))]
    lines = lines_payload(
        layers,
        [
            ("between the two", contexts.cosines),
            ("in A, to the previous layer", contexts.moved_a),
            ("in B, to the previous layer", contexts.moved_b),
        ],
        title=f"Contextual embeddings of {contexts.word}",
        place_name="layer",
        low=float(min(0.0, contexts.cosines.min())),
        high=1.0,
        file="movement",
        sentence="Cosines: a word's embedding starts almost the same and becomes contextual from layer to layer.",
        note=norm_note,
    )
    plane = plane_payload(
        np.concatenate([contexts.map_a, contexts.map_b]),
        ["start", *layers[1:]] * 2,
        title=f"Trajectory of {contexts.word} through the layers",
        groups=[0] * count + [1] * count,
        group_names=["in A", "in B"],
        paths=[list(range(count)), list(range(count, 2 * count))],
        details=[f"{name}: {layer}" for name in ("in A", "in B") for layer in layers],
        file="way",
        note=f"The first two principal components; they explain {contexts.explained:.0%} of the variance. What lies "
        "together here may differ in the others: the cosines above compare whole vectors.",
    )
    return lines, plane
