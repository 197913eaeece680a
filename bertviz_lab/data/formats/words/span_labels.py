"""Labels that mark spans of words: however a file spells and arranges them, they become BIO (IOB2).

    IOB1    I-PER I-PER O; B-PER only where a span follows another of its type
    BIO     B-PER I-PER O
    BIOES   B-PER E-PER, S-PER for a span of one word (also with M- inside)
    BILOU   B-PER L-PER, U-PER for a span of one word

Source: Ramshaw & Marcus 1995 (IOB1), Tjong Kim Sang & Veenstra 1999 (IOB2), Ratinov & Roth 2009 (BILOU).
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, pairwise

PLAIN, OUTSIDE = "plain", "O"


def bio_scheme(sentences: Sequence[Sequence[str]]) -> str:
    """ "IOB1", "BIO", "BIOES", "BILOU", or "plain" for labels that do not mark spans."""
    labels = set(chain.from_iterable(sentences))
    span_labels = labels - {OUTSIDE}
    if not span_labels or not all(map(_marks_span, span_labels)):
        return PLAIN
    prefixes = {label[0] for label in span_labels}
    has_untyped = any(len(label) == 1 for label in span_labels)
    if not prefixes & {"B", "I"} or (has_untyped and OUTSIDE not in labels):
        return PLAIN  # part-of-speech tags of one letter
    if prefixes & {"L", "U"}:
        return "BILOU"
    if prefixes & {"E", "S", "M"}:
        return "BIOES"
    return "IOB1" if _is_iob1(sentences) else "BIO"


def _marks_span(label: str) -> bool:
    return label[:1] in tuple("BIESLUM") and label[1:2] in ("-", "")


def _is_iob1(sentences: Sequence[Sequence[str]]) -> bool:
    """Return whether spans begin with I-, and B- occurs only directly after a word of its type."""
    begins_inside = False
    for labels in sentences:
        for previous, label in pairwise((OUTSIDE, *labels)):
            if label != OUTSIDE:
                continues = previous != OUTSIDE and previous[1:] == label[1:]
                if label[0] == "B" and not continues:
                    return False
                begins_inside = begins_inside or not continues
    return begins_inside


def to_bio(labels: Sequence[str], scheme: str) -> tuple[tuple[str, ...], int]:
    """Return the labels of a sentence as BIO, and how many continued no span: they begin one now."""
    if scheme == PLAIN:
        return tuple(labels), 0
    bio_labels, repaired = [], 0
    open_type: str | None = None  # of the span that the next label may continue
    for label in labels:
        prefix, span_type = label[0], label[1:]  # the type keeps its hyphen
        if label == OUTSIDE or not _marks_span(label):  # a test set may have labels that decided no scheme
            bio_labels.append(label)
            open_type = None
            continue
        if prefix in "BSU" or open_type != span_type:
            repaired += prefix not in "BSU" and scheme != "IOB1"
            bio_labels.append("B" + span_type)
        else:
            bio_labels.append("I" + span_type)
        open_type = None if prefix in "SUEL" else span_type
    return tuple(bio_labels), repaired


def mark_spans(labels: Iterable[str]) -> bool:
    """Return whether labels mark spans, however they are spelled."""
    return bio_scheme([canonical_labels(labels)]) != PLAIN


def canonical_labels(labels: Iterable[str]) -> list[str]:
    """Return labels with the spelling of BIO where nearly all of them mark spans in it; see `spelling_repairs`."""
    labels = list(labels)
    repairs = spelling_repairs(Counter(labels))
    return [repairs.get(label, label) for label in labels]


def spelling_repairs(counts: Mapping[str, int]) -> dict[str, str]:
    """Return the labels that are spelled unlike BIO, with what they mean; none for labels that do not mark spans.

    `B_PER`, `PER-B` and `b-PER` are B-PER, a type in another case is the frequent one, and `o` and `0` are O, as is the
    only label that marks no span. One of several that is nothing of the kind, and rare, is read as O.
    """
    outside = {label for label in counts if label in ("O", "o", "0", "OUT", "-O-")}
    parts = {label: part for label in counts if label not in outside and (part := span_parts(label))}
    others = [label for label in counts if label not in outside and label not in parts]
    if not outside and len(others) == 1:  # the words outside of spans, whatever they are called
        outside, others = set(others), []
    marks, strays = (sum(counts[label] for label in labels) for labels in (parts, others))
    prefixes, types = ({part[n] for part in parts.values()} for n in (0, 1))
    if not prefixes & {"B", "I"} or not types - {""} or strays > max(1, 0.02 * marks) or (strays and not outside):
        return {}
    spelled: Counter[str] = Counter()  # how often each spelling of a type occurs, those of BIO labels first
    for label, (prefix, name) in parts.items():
        spelled[name] += counts[label] if label == f"{prefix}-{name}" else 0
    usual: dict[str, str] = {}
    for name, _ in sorted(spelled.items(), key=lambda item: (-item[1], item[0])):
        usual.setdefault(name.lower(), name)
    meant = dict.fromkeys([*outside, *others], OUTSIDE)
    for label, (prefix, name) in parts.items():
        meant[label] = f"{prefix}-{usual[name.lower()]}" if name else prefix
    return {label: name for label, name in meant.items() if label != name}


def span_parts(label: str) -> tuple[str, str] | None:
    """Return the prefix and the type of a label that marks a span; None for another."""
    if match := re.fullmatch(r"([BIESLUM])(?:[-_](.+))?", label, re.IGNORECASE):
        return match[1].upper(), match[2] or ""
    if match := re.fullmatch(r"(.+)[-_]([BIESLU])", label):
        return match[2], match[1]
    return None
