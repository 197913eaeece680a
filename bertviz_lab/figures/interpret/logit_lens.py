"""A prediction layer by layer, and a sentence's surprises."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.figures.charts import matrix_payload
from bertviz_lab.figures.interpret.tokens import EncodingLike
from bertviz_lab.figures.payload import Payload
from bertviz_lab.figures.training.scores import ScoreRow, scores_payload


class LensLike(Protocol):
    """The readings of each layer."""

    @property
    def target(self) -> Any: ...
    @property
    def layers(self) -> Sequence[Any]: ...


def logit_lens_payload(lens: LensLike) -> Payload:
    """A row a layer: its first guesses, shaded by probability."""
    width = len(lens.layers[0].candidates)
    names = ["embeddings", *(f"layer {guess.layer}" for guess in lens.layers[1:])]
    values = np.array([[c.probability for c in guess.candidates] for guess in lens.layers])
    texts = [[c.token for c in guess.candidates] for guess in lens.layers]
    last = lens.layers[-1]
    first_right = next((names[at] for at, guess in enumerate(lens.layers) if guess.rank == 1), None)
    where = f" It is first in line from {first_right} on." if _stays_first(lens.layers) else ""
    return matrix_payload(
        values,
        names,
        [f"guess {place + 1}" for place in range(width)],
        title="The answer, layer by layer",
        sentence=f"What the masked-word head would say if the model ended at each layer. The last row is the answer: "
        f"{lens.target.name}, {last.probability:.1%}.{where if first_right else ''}",
        texts=texts,
        peak=1.0,
        file="logit-lens",
        note="The head was trained to read the last layer only; what it sees in earlier ones is a view of them.",
    )


def _stays_first(layers: Sequence[Any]) -> bool:
    """Whether the answer, once first, is never overtaken."""
    ranks = [guess.rank for guess in layers]
    start = ranks.index(1) if 1 in ranks else len(ranks)
    return all(rank == 1 for rank in ranks[start:])


def surprisal_payload(
    encoding: EncodingLike,
    log_probabilities: NDArray[np.floating],
    expected: Sequence[Any],
    total: float,
    perplexity: float,
) -> Payload:
    """Each token's surprise in nats, beside what the model expected in its place."""
    words = [
        "" if guess is None or guess.token == token else guess.token
        for guess, token in zip(expected, encoding.tokens, strict=True)
    ]
    shares = np.exp(log_probabilities)
    return scores_payload(
        encoding,
        [
            ScoreRow("surprise", "-log of its probability, in nats: 0 is certain", -log_probabilities, digits=1),
            ScoreRow(
                "probability",
                "Of the token itself, when it is hidden and all others are seen",
                shares,
                "none",
                ["" if np.isnan(p) else f"{p:.1%}" for p in shares],
            ),
            ScoreRow(
                "expected", "The likeliest token in its place, where it is another", [None] * len(words), "none", words
            ),
        ],
        title="How surprising each word is",
        sentence="Each token is hidden in turn, with the rest of its word; the darker, the less expected it is.",
        note=f"Pseudo-log-likelihood {total:.1f} nats, pseudo-perplexity {perplexity:.1f}: at each place the model is "
        f"on average as unsure as between {perplexity:.1f} equally likely tokens (Salazar et al. 2020).",
        file="surprise",
    )
