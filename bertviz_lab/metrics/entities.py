"""Scores of a model that finds entities: a name counts when its type, its first and its last word are right.

Labels of single words say little, since most are "O". Labels in a wrong order are read as seqeval's default mode reads
them, and not thrown away: an "I-PER" after "O" begins an entity. For B and I tags this is also how CoNLL's conlleval
counts; for S and E tags its Perl original differs.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bertviz_lab.metrics.classification import ClassScores

_PREFIXES = frozenset("BIES")


@dataclass(frozen=True)
class EntityReport:
    """The scores of a tagger, each between 0 and 1; precision, recall and F1 count all entities alike."""

    precision: float
    recall: float
    f1: float
    token_accuracy: float  # the share of words whose label is right
    per_type: tuple[ClassScores, ...]


def split_tag(tag: str) -> tuple[str, str]:
    """Return a tag's prefix, "B", "I", "E", "S" or "O", and its type: "B-PER" is ("B", "PER").

    A tag without a prefix is a type, inside all the way. A prefix alone has the type "_".
    """
    if not tag or tag == "O" or tag.startswith("O-"):
        return "O", ""
    if tag[0] in _PREFIXES and tag[1:2] in ("", "-"):
        return tag[0], tag[2:] or "_"
    return "I", tag


def marks_entities(labels: Iterable[str]) -> bool:
    """Return whether labels of words mark entities, as BIO does; parts of speech do not."""
    return any(label.startswith(("B-", "I-")) for label in labels)


def entity_spans(tags: Sequence[str]) -> tuple[tuple[str, int, int], ...]:
    """Return the entities of one sentence as (type, first word, word after the last), in order.

    Tags may be BIO, IO, BIOES or a muddle of these. A change of type ends an entity and begins the next, "B" and "S"
    begin one, and whatever follows "E" or "S" does too.
    """
    spans = []
    start, kind, closed = 0, "", True  # closed: the next word cannot continue the span
    for index, tag in enumerate(tags):
        prefix, type_ = split_tag(tag)
        if kind and (prefix in "OBS" or closed or type_ != kind):
            spans.append((kind, start, index))
            kind = ""
        if prefix != "O" and not kind:
            start, kind = index, type_
        closed = prefix in "ES"
    if kind:
        spans.append((kind, start, len(tags)))
    return tuple(spans)


def entity_report(truth: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> EntityReport:
    """Score predicted tags against the true ones: sentences of one tag a word."""
    spans = [[set(entity_spans(tags)) for tags in sentences] for sentences in (truth, predicted)]
    predicted_counts, true_counts, true_positives = Counter[str](), Counter[str](), Counter[str]()
    words = correct = 0
    for true_tags, predicted_tags, true_spans, predicted_spans in zip(truth, predicted, *spans, strict=True):
        true_counts.update(kind for kind, *_ in true_spans)
        predicted_counts.update(kind for kind, *_ in predicted_spans)
        true_positives.update(kind for kind, *_ in true_spans & predicted_spans)
        words += len(true_tags)
        correct += sum(a == b for a, b in zip(true_tags, predicted_tags, strict=True))
    per_type = tuple(
        ClassScores.of_counts(kind, true_positives[kind], predicted_counts[kind], true_counts[kind])
        for kind in sorted(true_counts | predicted_counts)
    )
    overall = ClassScores.of_counts("", true_positives.total(), predicted_counts.total(), true_counts.total())
    return EntityReport(overall.precision, overall.recall, overall.f1, correct / max(1, words), per_type)
