"""SQuAD 1.1 and 2.0: nested as they are published, or one question a record as on the hub.

An answer that is not at its stated offset is taken from its nearest occurrence in the passage, which is counted.
Source: Rajpurkar et al. 2016 and 2018.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bertviz_lab.data.corpora.reading_notes import quoted
from bertviz_lab.data.examples import Answer, Example, FileInfo, Question
from bertviz_lab.data.formats.options import ReadOptions
from bertviz_lab.data.formats.raw import DropReport, RawQuestions, preview
from bertviz_lab.errors import InputError

_UNIT = "question"
#: Characters before and after the stated offset in which a misplaced answer is searched for. Without a limit a file of
#: one long passage and many misplaced answers takes time quadratic in its size.
_SEARCH_RADIUS = 50_000
_MOVED = (
    "answer was not at its stated offset and was taken from its nearest occurrence",
    "answers were not at their stated offsets and were taken from their nearest occurrences",
)
_RENAMED = "question had the id of another and got a new one", "questions had the ids of others and got new ones"


def is_squad(record: Any) -> bool:
    """Is this an article with paragraphs, a paragraph with questions, or a question with a context and answers?"""
    if not isinstance(record, dict):
        return False
    return (
        isinstance(record.get("paragraphs"), list)
        or (isinstance(record.get("qas"), list) and "context" in record)
        or ("question" in record and "context" in record and "answers" in record)
    )


def read_squad(records: list[Any], info: FileInfo, options: ReadOptions, report: DropReport) -> RawQuestions:
    """All questions of the records, in order.

    Raises:
        InputError: there are no questions, or more than `options.max_examples`.
    """
    questions: list[Question] = []
    for number, (entry, passage, title) in enumerate(_entries(records), 1):
        question = _question(entry, passage, title, number, info.name, report)
        if isinstance(question, str):
            report.drop(question, info.name, _UNIT, number)
            continue
        questions.append(question)
        options.check_count(len(questions), info.name)
    if not questions:
        reason = f" ({report.dropped[0].reason})" if report.dropped else ""
        raise InputError(f"{quoted(info.name)} holds no question with a passage{reason}; give data in SQuAD's format.")
    shown = [(q.question, q.passage, q.answers[0].text if q.answers else "") for q in questions[:100]]
    info = replace(
        info, format="squad" if info.format in ("json", "jsonl") else info.format, rows=preview(shown),
        columns=("question", "context", "answers"), text_a="question", text_b="context", label="answers",
    )  # fmt: skip
    return RawQuestions(info, questions)


def with_unique_ids(files: Sequence[RawQuestions], report: DropReport) -> list[Example]:
    """The questions of all files, in order; one with the id of another gets a new one, which is counted."""
    questions: list[Example] = []
    ids: set[str] = set()
    copies: Counter[str] = Counter()
    for file in files:
        for question in file.questions:
            unique = question.id
            while unique in ids:  # predictions are told apart by these ids
                copies[question.id] += 1
                unique = f"{question.id}#{copies[question.id] + 1}"
            if unique != question.id:
                report.repair(*_RENAMED, file.info.name, _UNIT, question.row)
            ids.add(unique)
            questions.append(replace(question, id=unique))
    return questions


def _entries(records: list[Any]) -> Iterator[tuple[Mapping[str, Any], Any, str]]:
    """Each question as the file has it, with its passage and its title."""
    for record in records:
        if not isinstance(record, dict):
            continue
        title = str(record.get("title") or "")
        if "question" in record:
            yield record, record.get("context"), title
            continue
        for paragraph in record["paragraphs"] if isinstance(record.get("paragraphs"), list) else [record]:
            entries = paragraph.get("qas") if isinstance(paragraph, dict) else None
            for entry in entries if isinstance(entries, list) else []:
                if isinstance(entry, dict):
                    yield entry, paragraph.get("context"), title


def _question(
    entry: Mapping[str, Any], passage: Any, title: str, number: int, file_name: str, report: DropReport
) -> Question | str:
    """The question, or the reason why it is dropped."""
    text = entry.get("question")
    if not isinstance(passage, str) or not passage.strip():
        return "its passage is empty"
    if not isinstance(text, str) or not text.strip():
        return "the question is empty"
    stated = _answers(entry.get("answers"))
    if entry.get("is_impossible") is True:
        stated = []
    elif stated is None:
        return "it has no answers and does not say that there are none"
    answers = []
    for answer_text, start in stated:
        answer = _find_answer(answer_text, start, passage)
        if answer is None:
            continue
        if answer.start != start + len(answer_text) - len(answer_text.lstrip()):
            report.repair(*_MOVED, file_name, _UNIT, number)
        answers.append(answer)
    if stated and not answers:
        return "none of its answers is in the passage"
    return Question(str(entry.get("id") or number), text, passage, tuple(answers), number, title)


def _answers(value: Any) -> list[tuple[str, int]] | None:
    """Texts and offsets, of a list of objects or of two lists (as on the hub); None where it is neither."""
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


def _find_answer(text: str, start: int, passage: str) -> Answer | None:
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
