"""Labels that mark spans of words: which scheme they are in, and all of them as BIO (IOB2).

    IOB1    I-PER I-PER O; B-PER only where a span follows another of its type
    BIO     B-PER I-PER O
    BIOES   B-PER E-PER, S-PER for a span of one word (also with M- inside)
    BILOU   B-PER L-PER, U-PER for a span of one word

Source: Ramshaw & Marcus 1995 (IOB1), Tjong Kim Sang & Veenstra 1999 (IOB2), Ratinov & Roth 2009 (BILOU).
"""

from collections.abc import Iterable, Sequence
from itertools import chain

PLAIN = "plain"
OUTSIDE = "O"
_BEGIN, _SINGLE, _INSIDE, _LAST = "B", ("S", "U"), ("I", "M"), ("E", "L")
_PREFIXES = frozenset("BIOESLUM")


def scheme_of(sentences: Iterable[Sequence[str]]) -> str:
    """ "IOB1", "BIO", "BIOES", "BILOU", or "plain" for labels that mark no spans."""
    sentences = list(sentences)
    labels = set(chain.from_iterable(sentences))
    marks = labels - {OUTSIDE}
    if not marks or not all(label[0] in _PREFIXES - {OUTSIDE} and label[1:2] in ("-", "") for label in marks):
        return PLAIN
    prefixes = {label[0] for label in marks}
    bare = {label for label in marks if len(label) == 1}
    if not prefixes & {"B", "I"} or (bare and OUTSIDE not in labels):
        return PLAIN  # part-of-speech tags of one letter
    if prefixes & {"L", "U"}:
        return "BILOU"
    if prefixes & {"E", "S", "M"}:
        return "BIOES"
    return "IOB1" if _is_iob1(sentences) else "BIO"


def _is_iob1(sentences: Iterable[Sequence[str]]) -> bool:
    """Spans begin with I-, and B- stands only right behind a word of its type."""
    begins_inside = False
    for labels in sentences:
        before = OUTSIDE
        for label in labels:
            if label != OUTSIDE:
                follows = before != OUTSIDE and before[1:] == label[1:]
                if label[0] == _BEGIN and not follows:
                    return False
                begins_inside = begins_inside or not follows
            before = label
    return begins_inside


def to_bio(labels: Sequence[str], scheme: str) -> tuple[tuple[str, ...], int]:
    """The labels of a sentence as BIO, and how many of them could not follow the one before and begin a span now."""
    if scheme == PLAIN:
        return tuple(labels), 0
    result, repaired = [], 0
    open_type: str | None = None  # of the span that may go on
    for label in labels:
        prefix, kind = label[0], label[1:]  # the kind keeps its hyphen
        if label == OUTSIDE:
            result.append(OUTSIDE)
            open_type = None
            continue
        if prefix == _BEGIN or prefix in _SINGLE or open_type != kind:
            repaired += prefix not in (_BEGIN, *_SINGLE) and scheme != "IOB1"
            result.append(_BEGIN + kind)
        else:
            result.append("I" + kind)
        open_type = None if prefix in _SINGLE + _LAST else kind
    return tuple(result), repaired
