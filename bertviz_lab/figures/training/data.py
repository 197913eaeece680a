"""Training data: the health of a corpus; labeled examples as a preview, in charts, and with predictions."""

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bertviz_lab.data.examples import FORMATS, Example, FileInfo, LabelledWords, Question
from bertviz_lab.figures.payload import MOST_LABELS, Payload, figure, message_payload, to_json

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.data.corpora.health_report import HealthReport
    from bertviz_lab.data.tasks.task_report import ClassCount, LengthHistogram, TaskReport
    from bertviz_lab.tokenization.added_pieces import NewPiece


def health_payload(report: "HealthReport", name: str) -> Payload:
    """Return the payload of the health cards; `name` is that of the text."""
    about = "about " if report.tokens_estimated else ""
    cards = [
        ("Documents", f"{report.documents:,}", ""),
        ("Sentences", f"{report.sentences:,}", ""),
        ("Words", f"{report.words:,}", ""),
        ("Tokens", f"{about}{report.tokens:,}", "words and subwords, the units of the model"),
        ("Vocabulary", f"{report.vocab_size:,}", "distinct tokens"),
        ("Unknown tokens", f"{report.unk_rate:.2%}", "[UNK] in held-out text"),
        ("Sentence pairs", f"{report.pairs:,}", "adjacent sentences, for NSP"),
        ("Unigram-entropy baseline", f"{report.unigram_entropy:.2f}", "MLM loss from token frequencies alone, in nats"),
    ]
    count = len(report.warnings)
    verdict = f"{'can be trained on' if count else 'is fit to train on'}. "
    verdict += f"It has {'' if report.nsp_possible else 'no '}sentence pairs for NSP."
    verdict += f" {count} warning{'s' * (count > 1)}." * bool(count)
    body = {"name": name, "verdict": verdict, "cards": cards, "warnings": report.warnings}
    return to_json({**body, "frequent": report.frequent, "reading": report.reading})


_ROWS, _WORDS, _CHARACTERS = 8, 60, 300  # maximum that is sent; the page truncates further
#: What the columns of each kind of file are used as, by their roles; those of questions are known.
_USED = {
    "table": {"a": "text", "label": "label"},
    "pair": {"a": "text A", "b": "text B", "label": "label", "negative": "negative"},
    "words": {"a": "words", "label": "labels"},
}
_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}


def preview_payload(reading: FileInfo, examples: Sequence[Example] = ()) -> Payload:
    """Return a preview: raw rows, or for such `examples` sentences with their labels, or questions."""
    width = max(map(len, reading.rows), default=0)
    roles = dict.fromkeys(reading.negatives, "negative")
    roles |= {reading.label: "label", reading.text_b: "b", reading.text_a: "a", "": ""}
    columns = [(str(name), roles.get(str(name), "")) for name in reading.columns or range(1, width + 1)]
    body: dict[str, Any] = {"kind": "table"}
    if sentences := [example for example in examples[:_ROWS] if isinstance(example, LabelledWords)]:
        lines = [list(zip(example.words[:_WORDS], example.labels, strict=False)) for example in sentences]
        body = {"kind": "words", "sentences": lines}
    elif questions := [example for example in examples[:_ROWS] if isinstance(example, Question)]:
        columns = [("passage", "b"), ("question", "a"), ("answer", "label")]
        rows = [[_cut(example.passage), _cut(example.question), _answers(example)] for example in questions]
        body = {"kind": "questions", "rows": rows}
    elif reading.rows:
        body["rows"] = [[_cut(str(cell)) for cell in row] for row in reading.rows[:_ROWS]]
    else:
        return message_payload(f"{reading.name} has no rows to show.")
    used = _USED.get("pair" if body["kind"] == "table" and any(role == "b" for _, role in columns) else body["kind"])
    named = [{"name": name, "role": role, "words": used and used.get(role, "")} for name, role in columns]
    return to_json({"title": reading.name, "sentence": _how_read(reading), "columns": named} | body)


def _how_read(reading: FileInfo) -> str:
    words = f"Read as {FORMATS.get(reading.format, reading.format)}"
    if reading.format == "table":
        delimiter = _DELIMITERS.get(reading.delimiter, repr(reading.delimiter))
        words += f" with {delimiter} as delimiter" * bool(reading.delimiter)
        words += f", {'with a' if reading.header else 'no'} header row"
    return f"{words}{f', encoding {reading.encoding}' if reading.encoding else ''}."


def _answers(question: Question) -> str:
    return "; ".join(dict.fromkeys(_cut(answer.text) for answer in question.answers)) or "(not in the passage)"


def _cut(text: str, most: int = _CHARACTERS) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


def data_charts(report: "TaskReport") -> dict[str, Payload]:
    """Return the charts of the labels and of the sequence lengths of a data set."""
    return {"labels": balance_payload(report), "lengths": lengths_payload(report.lengths)}


def lengths_payload(histogram: "LengthHistogram") -> Payload:
    """Return a histogram of sequence lengths in tokens; bins that are truncated have another style."""
    counts = np.asarray(histogram.counts)
    if not counts.sum():
        return message_payload("There are no texts to measure.")
    bins = [(int(low), int(high) - 1) for low, high in itertools.pairwise(histogram.edges)]
    names = [str(low) if low == high else f"{low}–{high}" for low, high in bins]
    beyond = [high > histogram.max_length for _, high in bins]
    cut = "All of them fit into"
    if histogram.cut:
        cut = f"{histogram.cut:,} of {counts.sum():,} ({histogram.cut / counts.sum():.1%}) are longer than"
    return figure(
        "columns",
        values=counts,
        names=names,
        details=[f"{name} tokens: {count:,} texts" for name, count in zip(names, counts.tolist(), strict=True)],
        title="Sequence lengths in tokens",
        marked=beyond,
        mark_names=("fits", f"longer than {histogram.max_length} tokens") if any(beyond) else (),
        sentence=f"Half of the inputs have at most {histogram.median:g} tokens; the longest has {histogram.longest:,}. "
        f"{cut} the max sequence length of {histogram.max_length} tokens.",
        file="lengths",
    )


def balance_payload(report: "TaskReport") -> Payload:
    """Return which share of the training and of the held-out examples, or of their words, has each label."""
    classes: Sequence[ClassCount] = report.classes
    if len(classes) > MOST_LABELS:
        classes = sorted(classes, key=lambda c: -c.train)
    counts = {"training": [c.train for c in classes], "held out": [c.held_out for c in classes]}
    if not any(map(sum, counts.values())):
        return message_payload("There are no labels to count: this task predicts numbers or vectors.")
    unit, trained, held_out = report.counted, report.train_counted, report.held_counted
    several = [trained, held_out] != [*map(sum, counts.values())]  # then examples have any number of labels
    totals = {"training": trained, "held out": held_out}
    shown = {name: split for name, split in counts.items() if totals[name]}
    majority = max(classes, key=lambda c: c.train)
    return figure(
        "bars",
        groups=[c.label for c in classes],
        series=[(name, [count / totals[name] for count in split]) for name, split in shown.items()],
        title="Labels",
        number_format=".1%",
        texts=[[f"{count / totals[name]:.1%} ({count:,})" for count in split] for name, split in shown.items()],
        extra_columns=[(f"{name} (count)", split) for name, split in shown.items()],
        sentence=f"{len(classes)} labels on {trained:,} training {unit}"
        + (f" and {held_out:,} held out" if held_out else "")
        + f". The most frequent is {majority.label}: {majority.train / max(1, trained):.1%}.",
        note=f"Shares of the training and of the held-out {unit}{', which may have several labels' * several}.",
        ranked="most frequent labels",
        file="labels",
    )


_MAX_CHARACTERS = 600  # of a text; the page shows two lines
_BEGINNING = 200  # characters of a passage
_NO_ANSWER = "not in the passage"


#: An example as the page shows it, with its row in a file.
Item = dict[str, Any]


def label_item(
    index: int, text: str, truth: str, predicted: str, probability: float, text_b: str | None = None
) -> Item:
    """Return a text or pair with its true label, the predicted one and its probability, 0 to 1."""
    right = truth == predicted
    facts = [["true and predicted", truth]] if right else [["true", truth], ["predicted", predicted]]
    row = {"truth": truth, "predicted": predicted, "probability": float(probability)}
    return text_item(index, text, text_b, facts=facts, right=right, probability=float(probability), row=row)


def number_item(index: int, text: str, truth: float, predicted: float, text_b: str | None = None) -> Item:
    """Return a text or pair with its target and the predicted number."""
    error = f"{predicted - truth:+.3f}".replace("-", "−")
    facts = [["true", f"{truth:.3f}"], ["predicted", f"{predicted:.3f}"], ["error", error]]
    return text_item(index, text, text_b, facts=facts, row={"truth": float(truth), "predicted": float(predicted)})


def words_item(index: int, words: Sequence[str], truth: Sequence[str], predicted: Sequence[str]) -> Item:
    """Return a sentence with a true and a predicted label per word."""
    lines = [list(line) for line in zip(words, truth, predicted, strict=True)]
    errors = sum(true != label for _, true, label in lines)
    verdict = f"{errors} wrong label{'' if errors == 1 else 's'}" if errors else "all labels correct"
    row = {"words": " ".join(words), "truth": " ".join(truth), "predicted": " ".join(predicted)}
    return {"index": index, "facts": [["", verdict]], "right": errors == 0, "words": lines, "row": row}


def answer_item(index: int, question: Question, predicted: str, score: float, probability: float) -> Item:
    """Return a question with the predicted and the reference answers; "" and no references mean no answer.

    `score` is the F1 of its words with the closest reference, `probability` that of the predicted answer, 0 to 1.
    """
    right, true = score >= 1.0, " / ".join(dict.fromkeys(answer.text for answer in question.answers))
    facts = [["predicted", predicted or _NO_ANSWER], *[["true", true or _NO_ANSWER]] * (not right)]
    facts += [["F1", f"{score:.0%}"]] * (0 < score < 1)
    share, detail = probability if predicted else None, question.passage[:_BEGINNING]
    row = {"predicted": predicted, "answers": true, "score": score, "probability": share}
    return text_item(index, question.question, facts=facts, right=right, probability=share, row=row, detail=detail)


def text_item(index: int, text: str, text_b: str | None = None, *, row: dict[str, Any], **more: Any) -> Item:
    """Return a text or pair with facts about it, their `row` in a file, and a `probability` and `detail`, if any."""
    texts = [_cut(each, _MAX_CHARACTERS) for each in (text, *filter(None, [text_b]))]
    row = dict(zip(("text", "text_b"), texts, strict=False)) | row
    return {"index": index, "texts": texts, "row": row, **more}


def gained_payload(pieces: Sequence["NewPiece"]) -> Payload:
    """Return the pieces that a vocabulary has gained, by the tokens of the training text that each saves."""
    useful = sorted(pieces, key=lambda piece: -piece.saved)
    return figure(
        "bars",
        groups=[piece.piece for piece in useful],
        series=[("tokens saved", [piece.saved for piece in useful])],
        title="Words gained",
        number_format=".0f",
        extra_columns=[
            ("occurrences", [piece.count for piece in useful]),
            ("was", [" ".join(piece.parts) for piece in useful]),
        ],
        sentence=f"The vocabulary has {len(useful):,} new pieces, which save {sum(p.saved for p in useful):,} tokens "
        "of the text, or of the sample by which they were chosen.",
        note="Each began as the mean of the pieces that it joins. ## marks the continuation of a word.",
        ranked="most useful pieces",
        file="words-gained",
    )


def examples_payload(items: Sequence[Item], *, title: str, sentence: str = "", key: str = "") -> Payload:
    """Return a list of examples in the order given. `example_select` returns the `index` of an example.

    Lists with the same `key` show the same examples: the selection is kept from one to the next.
    """
    return to_json({"title": title, "sentence": sentence, "key": key, "file": "examples", "items": list(items)})
