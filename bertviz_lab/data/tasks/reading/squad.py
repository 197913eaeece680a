"""Questions about passages: SQuAD 1.1 and 2.0, nested as they are published or a record a question as on the hub.

An answer that does not stand where the file says is looked for: the nearest place where its text stands is taken and
counted. Source: Rajpurkar et al. 2016 and 2018.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from bertviz_lab.data.corpora.file_names import quoted
from bertviz_lab.data.tasks.examples import Answer, Question, Reading
from bertviz_lab.data.tasks.reading.raw_data import Ledger, Questions, Repairs, preview
from bertviz_lab.data.tasks.reading.read_options import Wishes
from bertviz_lab.data.tasks.reading.tables import too_many
from bertviz_lab.errors import InputError

UNIT = "question"
#: Characters before and after the stated offset in which a misplaced answer is searched for. Without a limit a file of
#: one long passage and many misplaced answers takes time quadratic in its size.
_SEARCH_RADIUS = 50_000


def is_squad(record: Any) -> bool:
    """Is this an article with paragraphs, a paragraph with questions, or a question with a context and answers?"""
    if not isinstance(record, dict):
        return False
    return (
        isinstance(record.get("paragraphs"), list)
        or (isinstance(record.get("qas"), list) and "context" in record)
        or ("question" in record and "context" in record and "answers" in record)
    )


@dataclass
class _Found:
    """One question as the file has it."""

    raw: Mapping[str, Any]
    passage: Any
    title: str


def read_squad(records: list[Any], reading: Reading, wishes: Wishes, ledger: Ledger) -> Questions:
    """All questions of the records, in order.

    Raises:
        InputError: there are no questions, or more than may be read.
    """
    part = Questions(replace(reading, format="squad" if reading.format in ("json", "jsonl") else reading.format))
    moved = Repairs(reading.name, UNIT)
    for number, found in enumerate(_questions(records), 1):
        question = _question(found, number, moved)
        if isinstance(question, str):
            ledger.drop(question, reading.name, UNIT, number)
            continue
        part.questions.append(question)
        if len(part.questions) > wishes.max_examples:
            raise too_many(reading.name, wishes)
    if not part.questions:
        raise InputError(
            f"{quoted(reading.name)} holds no question with a passage{_why(ledger)}; give data in SQuAD's format."
        )
    moved.tell(
        ledger,
        "answer did not stand where its file says and was taken from the nearest place where it does",
        "answers did not stand where their file says and were taken from the nearest place where they do",
    )
    shown = [(q.question, q.passage, q.answers[0].text if q.answers else "") for q in part.questions[:8]]
    part.reading = replace(
        part.reading, columns=("question", "context", "answers"), text_a="question", text_b="context",
        label="answers", rows=preview(shown),
    )  # fmt: skip
    return part


def _why(ledger: Ledger) -> str:
    return f" ({ledger.dropped[0].reason})" if ledger.dropped else ""


def _questions(records: list[Any]) -> Iterator[_Found]:
    for record in records:
        if not isinstance(record, dict):
            continue
        title = str(record.get("title") or "")
        if "question" in record:
            yield _Found(record, record.get("context"), title)
            continue
        for paragraph in record["paragraphs"] if isinstance(record.get("paragraphs"), list) else [record]:
            if not isinstance(paragraph, dict):
                continue
            raws = paragraph.get("qas")
            for raw in raws if isinstance(raws, list) else []:
                if isinstance(raw, dict):
                    yield _Found(raw, paragraph.get("context"), title)


def _question(found: _Found, number: int, moved: Repairs) -> Question | str:
    """The question, or the reason why it is none."""
    raw, passage = found.raw, found.passage
    text = raw.get("question")
    if not isinstance(passage, str) or not passage.strip():
        return "its passage is empty"
    if not isinstance(text, str) or not text.strip():
        return "the question is empty"
    given = _answers(raw.get("answers"))
    if raw.get("is_impossible") is True:
        given = []
    elif given is None:
        return "it has no answers and does not say that there are none"
    answers = []
    for answer, start in given:
        placed = _placed(answer, start, passage)
        if placed is None:
            continue
        if placed.start != start + len(answer) - len(answer.lstrip()):
            moved.add(number)
        answers.append(placed)
    if given and not answers:
        return "no answer of it stands in the passage"
    return Question(str(raw.get("id") or number), text, passage, tuple(answers), number, found.title)


def _answers(value: Any) -> list[tuple[str, int]] | None:
    """Texts and offsets, of a list of objects or of lists of each (as on the hub); None where there are none to see."""
    if isinstance(value, dict):
        texts, starts = value.get("text"), value.get("answer_start")
        if not isinstance(texts, list):
            return None
        starts = starts if isinstance(starts, list) and len(starts) == len(texts) else [-1] * len(texts)
        pairs = list(zip(texts, starts, strict=True))
    elif isinstance(value, list):
        pairs = [(a.get("text"), a.get("answer_start")) for a in value if isinstance(a, dict)]
    else:
        return None
    return [(text, start if isinstance(start, int) else -1) for text, start in pairs if isinstance(text, str)]


def _placed(text: str, start: int, passage: str) -> Answer | None:
    """The answer without the white space around it, at the occurrence nearest to `start`; None where none is near."""
    answer = text.strip()
    if not answer:
        return None
    start = min(start + len(text) - len(text.lstrip()), len(passage))
    if start >= 0 and passage.startswith(answer, start):
        return Answer(answer, start)
    start = max(start, 0)
    before = passage.rfind(answer, max(0, start - _SEARCH_RADIUS), start + len(answer) - 1)
    after = passage.find(answer, start, start + _SEARCH_RADIUS + len(answer))
    offsets = [offset for offset in (before, after) if offset >= 0]
    return Answer(answer, min(offsets, key=lambda offset: abs(offset - start))) if offsets else None
