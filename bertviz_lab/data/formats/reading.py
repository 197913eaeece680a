"""What was understood of labeled files, as a value: for the command line, the page and reports in the same words."""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any

from bertviz_lab.config.options import flag_of
from bertviz_lab.data.corpora.reading_notes import pluralized, quoted, quoted_list
from bertviz_lab.data.examples import (
    FORMATS,
    Doubt,
    Dropped,
    Example,
    LabelledText,
    LabelledWords,
    Question,
    RelatedTexts,
    TaskData,
    class_counts,
)
from bertviz_lab.data.formats.column_profile import Profile, is_date
from bertviz_lab.data.formats.columns import SINGLE_TEXT_NAMES
from bertviz_lab.data.formats.labels import are_comma_decimals, label_separator, number_of
from bertviz_lab.data.formats.raw import NO_TEXT
from bertviz_lab.errors import InputError

_LABEL = ("label",)
_ONE_WORD = re.compile(r"[^\s\u0e00-\uffff]+")  # in a script with blanks between words
_LIST = re.compile(r"\[.*\]|\{.*\}", re.DOTALL)
_POINTS = re.compile(r"\d+(?:[.,]\d+)?\s*(?:/\s*\d+(?:[.,]\d+)?|%)")  # 3 / 5, 60%
_SHOWN_LABELS, _SHOWN_CHARACTERS = 12, 100
_SAMPLE = 1_000  # texts that are looked at
_NO_LABELS = frozenset({"-1", "-100", "n/a", "na", "none", "nan", "inf", "-inf", "infinity", "-infinity", "unknown",
                        "unlabeled", "unlabelled", "?", "-", "#ref!", "#value!", "#name?", "#div/0!"})  # fmt: skip


@dataclass(frozen=True)
class Reading:
    """How labeled files were read."""

    format: str  # of the first file, one of `FORMATS`
    task: str  # of the examples
    columns: dict[str, str]  # the columns that are used, by their roles: "text_a", "text_b", "label"
    # each label with the number of its examples (for tokens: words), in their order
    labels: tuple[tuple[str, int], ...]
    scheme: str  # of labels that mark spans
    examples: int  # their number
    first: tuple[dict[str, Any], ...]  # the first three, each as an object
    # rows, by reason
    dropped: tuple[Dropped, ...]
    repaired: tuple[Dropped, ...]
    notes: tuple[str, ...]  # what else a person should know, a sentence each
    doubts: tuple[Doubt, ...]  # what a person should confirm, as far as no option that was given decides it

    @classmethod
    def of(cls, data: TaskData, labelled: bool = True) -> "Reading":
        """Return the reading of examples that `read_task` has read, or of inputs without labels."""
        info = data.files[0]
        counts = class_counts(data.examples) if labelled else Counter()
        roles = {"text_a": info.text_a, "text_b": info.text_b, "label": info.label if labelled else ""}
        suspicions = [*_suspicions(data, counts), *(_lost_or_constant(data) if labelled else ())]
        return cls(
            format=info.format,
            task=data.task,
            columns={role: name for role, name in roles.items() if name},
            labels=tuple((name, counts[name]) for name in data.labels or sorted(counts)),
            scheme=info.scheme,
            examples=len(data.examples),
            first=tuple(_shown(example, labelled) for example in data.examples[:3]),
            dropped=data.dropped,
            repaired=data.repaired,
            notes=(*data.notes, *(doubt.sentence for doubt in suspicions)),
            doubts=tuple(d for d in (*data.doubts, *suspicions) if not set(d.options) & set(data.given)),
        )

    @property
    def sure(self) -> bool:
        """Whether nothing is left for a person to confirm."""
        return not self.doubts

    def require_sure(self) -> None:
        """Raise `InputError` that names the options that decide the reading, where it is not sure."""
        if self.doubts:
            sentences = (next(self.summary()), *(doubt.sentence for doubt in self.doubts), self._decided_by())
            raise InputError(" ".join(sentences))

    def _decided_by(self) -> str:
        values = {"text_b": NO_TEXT, "header": "no"} | self.columns
        options = dict.fromkeys(doubt.options[0] for doubt in self.doubts)
        flags = [f"{flag_of(name)} {_argument(values.get(name, self.task))}" for name in options]
        return f"This reading is not sure: give {' '.join(flags)} to confirm it, or other values."

    def to_dict(self) -> dict[str, Any]:
        """Return the reading ready for JSON."""
        body = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
        body["labels"] = [{"label": label, "count": count} for label, count in self.labels]
        del body["doubts"]
        return body | {"sure": self.sure}

    def lines(self) -> Iterator[str]:
        """Yield the reading as lines for people."""
        yield from self.summary()
        yield from (dropped.sentence for dropped in self.dropped)
        yield from (f"{r.count:,} {r.reason}: {', '.join(r.where)}." for r in self.repaired)
        yield from self.notes
        if not self.sure:
            yield self._decided_by()

    def summary(self) -> Iterator[str]:
        """Yield the format, the columns, the labels and the first examples as lines for people."""
        columns = ", ".join(f"{role} = {quoted(name)}" for role, name in self.columns.items())
        columns = f"columns {columns}" if columns else "a text a line"
        scheme = f", {self.scheme} labels" if self.scheme not in ("", "plain") else ""
        read = FORMATS.get(self.format, self.format)
        yield f"Read as {read}, for {self.task}: {self.examples:,} examples; {columns}{scheme}."
        if self.labels:
            more = len(self.labels) - _SHOWN_LABELS
            names = ", ".join(f"{quoted(label)} {count:,}" for label, count in self.labels[:_SHOWN_LABELS])
            rest = f" and {more:,} more" if more > 0 else ""
            yield f"{pluralized(len(self.labels), 'label<s>')}: {names}{rest}."
        for example in self.first:
            yield "Example: " + " | ".join(f"{name}: {_cut(value)}" for name, value in example.items() if value != "")


def _argument(value: str) -> str:
    """Return a value as a command line takes it."""
    return f'"{value}"' if " " in value else value


def _cut(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "..."


def _shown(example: Example, labelled: bool) -> dict[str, Any]:
    if isinstance(example, Question):
        answers = [asdict(answer) for answer in example.answers]
        return {"question": example.question, "context": example.passage, "answers": answers}
    shown: dict[str, Any] = dict(zip(("text_a", "text_b"), example.inputs, strict=True))
    if labelled:
        if isinstance(example, LabelledWords):
            shown = {"words": example.words, "labels": example.labels}
        elif isinstance(example, RelatedTexts):
            shown |= {"negatives": example.negatives or None, "label": example.score}
        else:
            shown["label"] = example.label
    return {name: list(v) if isinstance(v, tuple) else v for name, v in shown.items() if v is not None}


def _lost_or_constant(data: TaskData) -> Iterator[Doubt]:
    if data.dropped_rows > len(data.examples):
        advice = "check the columns, and fill each row of merged cells"
        yield Doubt(f"More rows were left out ({data.dropped_rows:,}) than are examples: {advice}.", _LABEL)
    labels = {example.label for example in data.examples if isinstance(example, LabelledText)}
    if len(data.examples) > 1 and len(labels) == 1 and isinstance(labels.pop(), float):
        yield Doubt("All examples have the same number: check that --label names theirs.", _LABEL)


def _suspicions(data: TaskData, counts: Counter[str]) -> Iterator[Doubt]:
    """Yield what looks like a wrong reading or like labels of bad quality."""
    alike: dict[str, list[str]] = defaultdict(list)
    for label in counts:
        number = number_of(label)
        alike[_plain(label) if number is None else str(number)].append(label)
    for names in alike.values():
        if len(names) > 1:
            look_alike = f"The labels {quoted_list(sorted(names))} look alike"
            yield Doubt(f"{look_alike}: make them one if they mean the same.", _LABEL)
    marks = _NO_LABELS if "0" in counts or len(counts) > 3 else _NO_LABELS - {"-1"}
    if missing := sorted(label for label in counts if label.strip().lower() in marks):
        times = pluralized(sum(counts[name] for name in missing), "example<s> <has|have>")
        yield Doubt(f"{times} the label {quoted_list(missing)}, which looks like a missing one.", _LABEL)
    if data.task in ("classification", "multilabel"):
        separators = re.escape(f"|,;{label_separator(counts).strip()}")
        parts = {label: {part.strip() for part in re.split(f"[{separators}]", label)} for label in counts}
        labels_with = Counter(chain.from_iterable(parts.values()))
        several = [label for label in counts if _may_be_several(label, parts[label], labels_with)]
        lists = [label for label in counts if _LIST.fullmatch(label)]
        for labels, what in ((several, "several labels in a cell"), (lists, "a list of labels")):
            if labels and data.task == "multilabel":
                yield Doubt(f"{quoted(labels[0])} is no label: check that --label names labels.", _LABEL)
            elif labels:
                tasks = "multilabel if so"
                tasks += ", or to regression to read decimals" if are_comma_decimals(counts.keys()) else ""
                yield Doubt(f"{quoted(labels[0])} may be {what}: set --task to {tasks}.", ("task",))
        if counts and all(map(_POINTS.fullmatch, counts)):
            read = f"The points or percentages ({quoted(min(counts))}) were read as classes"
            yield Doubt(f"{read}: name another label with --label, or write numbers for --task regression.", _LABEL)
        few = max(20, len(data.examples) // 5) if len(data.examples) > 20 else max(2, len(data.examples) // 3)
        if len(counts) > few:
            labels_and_examples = f"{len(counts):,} labels for {len(data.examples):,} examples"
            yield Doubt(f"There are {labels_and_examples}: check that --label names labels.", _LABEL)
    if data.task == "tokens" and counts and all(number_of(label) is not None for label in counts):
        yield Doubt("The labels of words are numbers: scores of entities need their names (B-PER ...).", ("task",))
    spans = [label for label in counts if label[0] == "B" != label and f"I{label[1:]}" in counts]
    if data.files[0].scheme == "plain" and spans:
        alike_spans = f"The labels {quoted(spans[0])} and {quoted('I' + spans[0][1:])} look like those of spans"
        yield Doubt(f"{alike_spans}: scores of entities need all labels spelled as B-PER, I-PER and O.", ("task",))
    texts = [example.inputs[0] for example in data.examples[:_SAMPLE]]
    if sum(number_of(text) is not None or is_date(text) for text in texts) > 0.5 * len(texts):
        yield Doubt("Most texts are numbers or dates: name the column of the text with --text-a.", ("text_a",))
    words = [word for text in texts if not text.isascii() for word in text.split(" ") if not word.isascii()]
    garbled = [word for word in words if _ungarbled(word) != word]
    if len(garbled) > max(len(words) / 2, len(texts) / 100):
        example = f"{quoted(garbled[0])} for {quoted(_ungarbled(garbled[0]))}"
        yield Doubt(f"The texts are garbled ({example}): export them again as UTF-8.", ("text_a",))
    if Profile.of(texts).objects > 0.5 and data.files[0].text_a.lower() not in SINGLE_TEXT_NAMES:
        advice = "name the column of the text with --text-a; entities need a start, an end and a label each"
        yield Doubt(f"Most texts are records: {advice}.", ("text_a",))
    if Profile.of([example.inputs[1] or "" for example in data.examples[:_SAMPLE]]).objects > 0.5:
        advice = "name the column of the second text with --text-b, or give --text-b none for single texts"
        yield Doubt(f"Most second texts are lists or records: {advice}.", ("text_b",))
    if data.task != "tokens" and sum(bool(_ONE_WORD.fullmatch(text)) for text in texts) > 0.9 * len(texts) > 9:
        yield Doubt("Most texts are single words: check that --text-a names the text.", ("text_a",))


def _ungarbled(word: str) -> str:
    """Return what a word was before its UTF-8 was read as Windows-1252; a word of which that is not so as it is."""
    try:
        return word.encode("cp1252").decode()
    except UnicodeError:
        return word


def _may_be_several(label: str, parts: set[str], labels_with: Counter[str]) -> bool:
    """Return whether other labels have or are parts of a label, or all of its parts are numbers."""
    in_blanks = len(label.split()) > 1 and all(map(str.isdigit, label.split()))
    shared = any(labels_with[part] > 1 for part in parts) or all(map(str.isdigit, parts))
    return in_blanks or (len(parts) > 1 and shared)


def _plain(label: str) -> str:
    """Return a label without case, blanks, signs and zero-width characters, in one normal form."""
    text = unicodedata.normalize("NFKC", label).casefold()
    return "".join(c for c in text if not c.isspace() and unicodedata.category(c) not in ("Cf", "Mn")).strip("._-")
