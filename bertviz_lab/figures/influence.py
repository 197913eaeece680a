"""Which sentences taught a prediction: their influence by TracIn, BM25 as baseline, and training without them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bertviz_lab.figures.payload import Payload, facts_payload, figure

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.interpret import TrainingInfluence

_LISTED = 10  # sentences at each end
_NO_PROOF = (
    "A gradient shows how one step of gradient descent on the sentence alone would move the prediction: not what "
    "training, with its optimizer and all other sentences, would come to without it. Leave the sentences out and train "
    "again to see that."
)


def influence_facts(influence: "TrainingInfluence", probability: float, count: int) -> Payload:
    """Return what was compared, and how many of the first `count` sentences by TracIn are among those by BM25."""
    shared = len({*influence.helpful(count)} & {*influence.nearest(count)})
    total, compared = influence.total, len(influence.sentences)
    items = [
        ("Prediction explained", influence.target.title),
        ("Probability", f"{probability:.1%}"),
        ("Sentences compared", f"{compared:,} of {total:,} different ones"),
        ("Snapshots", ", ".join(f"{step:,}" for step in influence.steps)),
        (f"In the first {count} of both methods", f"{shared}"),
    ]
    note = "" if compared == total else "Half of those compared are the first by BM25, half are spread over the text."
    return facts_payload(items, note=note)


def tracin_payload(influence: "TrainingInfluence") -> Payload:
    """Return the most helpful training sentences and the most harmful ones, relative to the largest influence."""
    places = [*influence.helpful(_LISTED), *reversed(influence.harmful(_LISTED))]
    values = influence.tracin[places]
    peak = float(abs(values).max(initial=0)) or 1.0
    ranks = _ranks(influence.nearest(len(influence.sentences)))
    return figure(
        "bars",
        groups=[influence.sentences[at] for at in places],
        series=[("TracIn", values.tolist())],
        texts=[[f"{100 * value / peak:+.0f}" for value in values]],
        peak=1.25 * peak,  # room for the numbers
        extra_columns=[
            ("rank by BM25", [ranks.get(at) for at in places]),
            ("times in the text", influence.counts[places].tolist()),
        ],
        title=f"TracIn: sentences that taught {influence.target.title}",
        sentence="Bars to the right raise the prediction, bars to the left lower it; 100 is the largest influence.",
        note=_NO_PROOF,
        file="tracin",
    )


def bm25_payload(influence: "TrainingInfluence") -> Payload:
    """Return the training sentences that are most relevant to the text by the words that they share."""
    places, ranks = influence.nearest(_LISTED), _ranks(influence.helpful(len(influence.sentences)))
    return figure(
        "bars",
        groups=[influence.sentences[at] for at in places],
        series=[("BM25", influence.bm25[places].tolist())],
        number_format=".1f",
        extra_columns=[
            ("rank by TracIn", [ranks.get(at) for at in places]),
            ("times in the text", influence.counts[places].tolist()),
        ],
        title="BM25, the baseline: sentences with the same words",
        sentence="A search engine's ranking, which knows no model: a method of influence has to beat it.",
        file="bm25",
    )


def _ranks(places: Sequence[int]) -> dict[int, float]:
    return {at: float(rank) for rank, at in enumerate(places, 1)}


def retrained_payload(names: Sequence[str], runs: Sequence[tuple[str, Sequence[float]]]) -> Payload:
    """Return the probabilities of some tokens, `names`, by the model and by runs that were trained again."""
    return figure(
        "bars",
        groups=names,
        series=runs,
        number_format=".1%",
        title="The prediction after training without these sentences",
        sentence="Same text, vocabulary, seed and number of steps, but for the sentences that were left out.",
        note="A run draws other batches as soon as a sentence is missing, which alone can change a prediction: leave "
        "out as many at random, or none, to see by how much.",
        file="retrained",
    )
