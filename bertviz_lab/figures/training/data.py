"""Training data: the health of a corpus; labeled examples as a preview, in charts, and with predictions."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bertviz_lab.data.examples import Example, FileInfo, LabelledWords, Question
from bertviz_lab.figures.charts import MOST_LABELS, bars_payload, columns_payload
from bertviz_lab.figures.payload import Payload, message_payload, to_json

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.data.corpora.health import HealthReport
    from bertviz_lab.data.tasks.task_report import ClassCount, LengthHistogram, TaskReport


def health_payload(report: "HealthReport", name: str) -> Payload:
    """Return the payload of the health cards; `name` is that of the text."""
    about = "about " if report.tokens_estimated else ""
    cards: list[tuple[str, str, str]] = [
        ("Documents", f"{report.documents:,}", ""),
        ("Sentences", f"{report.sentences:,}", ""),
        ("Words", f"{report.words:,}", ""),
        ("Tokens", f"{about}{report.tokens:,}", "words and subwords, the units of the model"),
        ("Vocabulary", f"{report.vocab_size:,}", "distinct tokens"),
        ("Unknown tokens", f"{report.unk_rate:.2%}", "[UNK] in held-out text"),
        ("Sentence pairs", f"{report.pairs:,}", "adjacent sentences, for NSP"),
        ("Unigram-entropy baseline", f"{report.unigram_entropy:.2f}", "MLM loss from token frequencies alone, in nats"),
    ]
    body: dict[str, Any] = {
        "name": name,
        "verdict": _verdict(report),
        "cards": [list(card) for card in cards],
        "warnings": list(report.warnings),
        "frequent": [[token, share] for token, share in report.frequent],
        "reading": list(report.reading),
    }
    return to_json(body)


def _verdict(report: "HealthReport") -> str:
    objective = "MLM and NSP" if report.nsp_possible else "MLM only"
    if not report.warnings:
        return f"is fit to train on. Pretraining objective: {objective}."
    count = len(report.warnings)
    return f"can be trained on. Pretraining objective: {objective}. {count} warning{'s' if count > 1 else ''}."


_ROWS, _WORDS, _CHARACTERS = 8, 60, 300  # maximum that is sent; the page truncates further
_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}
_FORMATS = {
    "table": "a table",
    "label-text": "label-text lines",
    "jsonl": "lines of JSON",
    "json": "JSON",
    "parquet": "a Parquet table",
    "conll": "words with their labels, one per line",
    "conllu": "words with their labels, one per line (CoNLL-U)",
    "squad": "questions about passages (SQuAD)",
    "dataset": "a data set from the Hugging Face Hub",
}


def preview_payload(reading: FileInfo, examples: Sequence[Example] = ()) -> Payload:
    """Return a preview: raw rows, or for such `examples` sentences with their labels, or questions."""
    names = [str(name) for name in reading.columns] or [
        str(n + 1) for n in range(max(map(len, reading.rows), default=0))
    ]
    columns = [{"name": name, "role": _role(reading, name)} for name in names]
    body: dict[str, Any] = {"title": reading.name, "sentence": _how_read(reading), "columns": columns}
    sentences = [example for example in examples[:_ROWS] if isinstance(example, LabelledWords)]
    if sentences:
        lines = [
            [list(pair) for pair in zip(example.words[:_WORDS], example.labels, strict=False)] for example in sentences
        ]
        return to_json(body | {"kind": "words", "sentences": lines})
    questions = [example for example in examples[:_ROWS] if isinstance(example, Question)]
    if questions:
        rows = [[_cut(example.passage), _cut(example.question), _answers(example)] for example in questions]
        roles = [("passage", "b"), ("question", "a"), ("answer", "label")]
        return to_json(
            body | {"kind": "questions", "columns": [{"name": n, "role": role} for n, role in roles], "rows": rows}
        )
    if not reading.rows:
        return message_payload(f"{reading.name} has no rows to show.")
    rows = [[_cut(str(cell)) for cell in row] for row in reading.rows[:_ROWS]]
    return to_json(body | {"kind": "table", "rows": rows})


def _role(reading: FileInfo, name: str) -> str:
    """Return the role of a column: "a", "b", "label", or "" if unused."""
    roles = {reading.label: "label", reading.text_b: "b", reading.text_a: "a"}
    return roles.get(name, "") if name else ""


def _how_read(reading: FileInfo) -> str:
    parts = [f"Read as {_FORMATS.get(reading.format, reading.format)}"]
    if reading.format == "table" and reading.delimiter:
        parts[0] += f" with {_DELIMITERS.get(reading.delimiter, repr(reading.delimiter))} as delimiter"
    if reading.format == "table":
        parts.append("with a header row" if reading.header else "no header row")
    if reading.encoding:
        parts.append(f"encoding {reading.encoding}")
    return ", ".join(parts) + "."


def _answers(question: Question) -> str:
    return "; ".join(dict.fromkeys(_cut(answer.text) for answer in question.answers)) or "(not in the passage)"


def _cut(text: str) -> str:
    return text if len(text) <= _CHARACTERS else f"{text[:_CHARACTERS]}…"


def data_charts(report: "TaskReport") -> dict[str, Payload]:
    """Return the charts of the labels and of the sequence lengths of a data set."""
    if report.task == "regression":
        labels = message_payload("This is a regression task: it has numbers, not labels.")
    else:
        labels = balance_payload(report.classes)
    return {"labels": labels, "lengths": lengths_payload(report.lengths)}


def lengths_payload(histogram: "LengthHistogram") -> Payload:
    """Return a histogram of sequence lengths in tokens; bins that are truncated have another style."""
    counts = np.asarray(histogram.counts)
    if not counts.sum():
        return message_payload("There are no texts to measure.")
    bins = [(int(low), int(high) - 1) for low, high in zip(histogram.edges[:-1], histogram.edges[1:], strict=True)]
    names = [str(low) if low == high else f"{low}–{high}" for low, high in bins]
    beyond = [high > histogram.max_length for _, high in bins]
    total = int(counts.sum())
    cut = (
        f"{histogram.cut:,} of {total:,} ({histogram.cut / total:.1%}) are longer than the max sequence length of "
        f"{histogram.max_length} tokens."
        if histogram.cut
        else f"All of them fit into the max sequence length of {histogram.max_length} tokens."
    )
    return columns_payload(
        counts,
        names,
        [f"{name} tokens: {count:,} texts" for name, count in zip(names, counts.tolist(), strict=True)],
        title="Sequence lengths in tokens",
        marked=beyond,
        mark_names=("fits", f"longer than {histogram.max_length} tokens") if any(beyond) else (),
        sentence=f"Half of them have at most {histogram.median:g} tokens; the longest has {histogram.longest:,}. {cut}",
        file="lengths",
    )


def balance_payload(classes: Sequence["ClassCount"]) -> Payload:
    """Return how often each label occurs in the training and in the held-out examples."""
    if len(classes) > MOST_LABELS:
        classes = sorted(classes, key=lambda c: -c.train)
    totals = [sum(c.train for c in classes), sum(c.held_out for c in classes)]
    counts = [[c.train for c in classes], [c.held_out for c in classes]]
    if not sum(totals):
        return message_payload("There are no labels to count.")
    shown = [split for split in (0, 1) if totals[split]]
    names = ["training", "held out"]
    shares = [[count / max(1, totals[split]) for count in counts[split]] for split in (0, 1)]
    majority = max(classes, key=lambda c: c.train)
    return bars_payload(
        [c.label for c in classes],
        [(names[split], shares[split]) for split in shown],
        title="Labels",
        number_format=".1%",
        texts=[
            [f"{share:.1%} ({count:,})" for share, count in zip(shares[split], counts[split], strict=True)]
            for split in shown
        ],
        extra_columns=[(f"{names[split]} (count)", counts[split]) for split in shown],
        sentence=f"{len(classes)} labels on {totals[0]:,} training examples"
        + (f" and {totals[1]:,} held out" if totals[1] else "")
        + f". The most frequent is {majority.label}: {majority.train / max(1, totals[0]):.1%}.",
        note="Shares of the training and of the held-out examples.",
        ranked="most frequent labels",
        file="labels",
    )


_MAX_CHARACTERS = 600  # of a text; the page shows two lines
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
    return _item(index, text, text_b, facts=facts, right=right, probability=float(probability), row=row)


def number_item(index: int, text: str, truth: float, predicted: float, text_b: str | None = None) -> Item:
    """Return a text or pair with its target and the predicted number."""
    error = f"{predicted - truth:+.3f}".replace("-", "−")
    facts = [["true", f"{truth:.3f}"], ["predicted", f"{predicted:.3f}"], ["error", error]]
    return _item(index, text, text_b, facts=facts, row={"truth": float(truth), "predicted": float(predicted)})


def words_item(index: int, words: Sequence[str], truth: Sequence[str], predicted: Sequence[str]) -> Item:
    """Return a sentence with a true and a predicted label per word."""
    lines = [list(line) for line in zip(words, truth, predicted, strict=True)]
    errors = sum(true != label for _, true, label in lines)
    verdict = f"{errors} wrong label{'' if errors == 1 else 's'}" if errors else "all labels correct"
    row = {"words": " ".join(words), "truth": " ".join(truth), "predicted": " ".join(predicted)}
    return {"index": index, "facts": [["", verdict]], "right": errors == 0, "words": lines, "row": row}


def answer_item(
    index: int,
    question: str,
    predicted: str,
    answers: Sequence[str],
    score: float,
    probability: float | None,
    detail: str,
) -> Item:
    """Return a question with the predicted and the reference answers; "" and no references mean no answer.

    `score` is the F1 of its words with the closest reference, 0 to 1; `detail` is the beginning of the passage.
    """
    right, true = score >= 1.0, " / ".join(dict.fromkeys(answers))
    facts = [["predicted", predicted or _NO_ANSWER]]
    facts += [] if right else [["true", true or _NO_ANSWER]]
    facts += [["F1", f"{score:.0%}"]] if 0 < score < 1 else []
    row = {"predicted": predicted, "answers": true, "score": float(score), "probability": probability}
    return _item(index, question, facts=facts, right=right, probability=probability, row=row, detail=detail)


def _item(index: int, text: str, text_b: str | None = None, *, row: dict[str, Any], **more: Any) -> Item:
    texts = [_shortened(text), *([_shortened(text_b)] if text_b else [])]
    row = dict(zip(("text", "text_b"), texts, strict=False)) | row
    return {"index": index, "texts": texts, "row": row, **more}


def examples_payload(items: Sequence[Item], *, title: str, sentence: str = "", key: str = "") -> Payload:
    """Return a list of examples in the order given. `example_select` returns the `index` of an example.

    Lists with the same `key` show the same examples: the selection is kept from one to the next.
    """
    body = {"title": title, "sentence": sentence, "key": key, "file": "examples", "items": list(items)}
    return to_json(body)


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]}…"
