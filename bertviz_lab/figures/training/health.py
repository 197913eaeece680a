"""The health report of a corpus: key figures and warnings."""

from typing import TYPE_CHECKING, Any

from bertviz_lab.figures.payload import Payload, to_json

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.data.corpora.health import HealthReport


def health_payload(report: "HealthReport", name: str) -> Payload:
    """The payload of the health cards; `name` is that of the text."""
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
