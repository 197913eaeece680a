"""The label check on the page: doubted examples, the dataset map, near-duplicates."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bertviz_lab.data.examples import Label, LabelledText
from bertviz_lab.figures.payload import Payload, figure
from bertviz_lab.figures.training.data import Item, text_item

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.training.finetuning.example_dynamics import DataMap
    from bertviz_lab.training.finetuning.label_check import Doubt

_MOST_POINTS = 1500
_CORRECTNESS = ("predicted correctly in most epochs", "in some epochs", "in few or none")


def label_words(label: Label | None) -> str:
    """Return a label, or several, as words; None is of an example that is left out."""
    if label is None:
        return "left out"
    return (", ".join(label) or "no label") if isinstance(label, tuple) else str(label)


def doubt_item(
    place: int, text: LabelledText, doubt: "Doubt | None", epochs: int, decisions: Mapping[LabelledText, Label | None]
) -> Item:
    """Return a training example with its label, what the evidence says of it, and what was decided about it."""
    facts = [["given", label_words(text.label)]]
    row: dict[str, str | int] = {"given": label_words(text.label)}
    detail, share = "The evidence does not doubt this label.", None
    if doubt:
        facts.append(["suggested", label_words(doubt.suggested)])
        row["suggested"], share = label_words(doubt.suggested), doubt.suggested_share
        detail = (
            f"Models of other examples give the suggestion {doubt.unseen_share:.0%}. During training the "
            f"given label was predicted in {doubt.right_epochs} of {epochs} epochs."
        )
    if text in decisions:
        decided = label_words(decisions[text])
        row["decided"] = decided
        facts.append(["decided", "keep" if decisions[text] == text.label else decided])
    row |= {"file": text.file, "row": text.row}
    detail = f"Row {text.row}{text.file and f' of {text.file}'}. {detail}"
    return text_item(place, text.text_a, text.text_b, row=row, facts=facts, probability=share, detail=detail)


def alike_item(number: int, share: float, texts: Sequence[tuple[str, LabelledText]]) -> Item:
    """Return examples that are nearly the same, each with the name of its split."""
    facts = [[split, label_words(text.label)] for split, text in texts]
    shown = [text.text_a for _, text in texts]
    detail = "the same words" if share == 1 else f"{share:.0%} of the words in common"
    rows = [f"{text.file} {text.row}".strip() for _, text in texts]
    row = {"texts": " | ".join(shown), "rows": " | ".join(rows)}
    body = {"facts": facts, "texts": list(dict.fromkeys(shown))[:3], "row": row}
    return {"index": number, **body, "detail": detail}


def map_payload(points: "DataMap", texts: Sequence[LabelledText], doubted: Sequence[int]) -> Payload:
    """Return the dataset map: confidence against variability, a point for each training example or a sample of them."""
    others = np.setdiff1d(np.arange(len(texts)), doubted)
    room = max(1, _MOST_POINTS - len(doubted))
    shown = [*doubted, *others[:: max(1, -(-len(others) // room))].tolist()]
    shown.sort(key=lambda place: float(points.confidence[place]))
    groups = [0 if share >= 0.75 else 1 if share >= 0.25 else 2 for share in points.correctness[shown]]
    known, drawn = set(doubted), f"{len(shown):,} of {len(texts):,} examples are drawn" * (len(shown) < len(texts))
    return figure(
        "points",
        points=np.stack([points.variability[shown], points.confidence[shown]], axis=1),
        names=[f"{label_words(texts[place].label)}: {texts[place].text_a[:90]}" for place in shown],
        title="Dataset map",
        axes=("variability", "confidence"),
        groups=groups,
        group_names=_CORRECTNESS,
        marked=[place in known for place in shown],
        picks=shown,
        extra_columns=[("correctness", [float(points.correctness[place]) for place in shown])],
        sentence=f"Over {points.epochs} epochs of training. Top left is easy to learn, right is ambiguous, bottom left "
        f"is hard to learn, where wrong labels gather. Crosses are doubted. {drawn}".strip(),
        note="Confidence is the mean probability of the given label, variability its standard deviation. Click a point "
        "to see its example.",
        file="dataset-map",
    )
