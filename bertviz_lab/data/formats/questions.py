"""SQuAD 1.1 and 2.0: nested as they are published, or one question a record as on the hub.

An answer that is not at its stated offset is taken from its nearest occurrence in the passage, which is counted.
Source: Rajpurkar et al. 2016 and 2018.
"""

import ast
import contextlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bertviz_lab.data.corpora.reading_notes import quoted
from bertviz_lab.data.examples import Answer, FileInfo, Question
from bertviz_lab.data.formats.labels import list_of_labels
from bertviz_lab.data.formats.raw import DropReport, RawQuestions, ReadOptions
from bertviz_lab.errors import InputError

#: Names of fields in SQuAD and its relatives (MRQA, CMRC, DRCD, KorQuAD, Haystack, DuoRC), and of lists of questions.
_QUESTIONS = ("question", "query_text", "query", "question_text", "q")
_PASSAGES = ("context", "passage", "context_text", "paragraph", "document", "plot", "story", "article")
_ANSWERS = ("detected_answers", "answers", "answer", "answer_text", "gold_answers", "a")
_LISTS = ("qas", "qa", "qa_pairs", "question_answer_pairs", "questions")
_STARTS = ("answer_start", "answerStart", "answer_begin", "char_answer_begin", "start", "begin", "start_char",
           "answer_offset", "offset", "char_start", "char_spans", "answer_starts")  # fmt: skip
_ENDS = ("answer_end", "answerEnd", "end", "end_char", "char_end")
_TEXTS = ("text", "answer_text", "answer", "span", "value")
_NONE = ("is_impossible", "no_answer")  # true where the passage has no answer
_LONGEST_LITERAL = 100_000  # characters
_CONVERTED = "offset<s> <counts|count> bytes or UTF-16 units and <was|were> converted to characters"
#: Characters before and after the stated offset in which a misplaced answer is searched for. Without a limit a file of
#: one long passage and many misplaced answers takes time quadratic in its size.
_SEARCH_RADIUS = 50_000
_MOVED = (
    "answer<s> <was|were> not at <its|their> stated offset<s> and <was|were> taken from <its|their> nearest "
    "occurrence<s>"
)
_UNPLACED = "answer<s> <has|have> no offset and <was|were> taken from <its|their> first occurrence<s>"
_JOINED = "passage<s> <is a list|are lists> of texts and <was|were> read as these, a line each"
_RENAMED = "question<s> had the id<s> of <another|others> and got <a new one|new ones>"


def is_squad(record: Any) -> bool:
    """Is this an article with paragraphs, a paragraph with questions, or a question with a context and answers?"""
    if not isinstance(record, dict):
        return False
    return (
        isinstance(record.get("paragraphs"), list)
        or (any(map(_is_entry, _listed(record))) and isinstance(_passage(record), str))
        or _is_question(record)
    )


def _listed(paragraph: Any) -> list[Any]:
    """Return the questions about a passage."""
    listed = _field(paragraph, _LISTS) if isinstance(paragraph, dict) else None
    return listed if isinstance(listed, list) else []


def _is_entry(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(_field(item, _QUESTIONS), str)


def _is_question(record: Mapping[str, Any]) -> bool:
    """Return whether a record is a question with a passage and answers; yes, no and classes are not such answers."""
    question, passage = _field(record, _QUESTIONS), _passage(record)
    if not isinstance(question, str) or not isinstance(passage, str):
        return False
    answers = _stated(record, passage)
    if isinstance(answers, str) and answers and _field(record, _STARTS) is None:
        return answers in passage
    return isinstance(answers, (str, list, dict))


def literal(cell: str) -> Any:
    """Return the list or object that a cell spells in JSON, in Python or as NumPy prints it, or the cell."""
    if cell[:1] not in ("[", "{") or len(cell) > _LONGEST_LITERAL:
        return cell
    items, parsed = list_of_labels(cell), None  # Python joins strings that only blanks divide
    for parse in (json.loads, ast.literal_eval):
        with contextlib.suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            parsed = parse(re.sub(r"\barray\((\[.*?\])(?:, dtype=\w+)?\)", r"\1", cell))
            break
    if items is not None and not (isinstance(parsed, list) and len(parsed) == len(items)):
        return items
    return cell if parsed is None else parsed


def joined_texts(value: Any) -> str:
    """Return the texts of a list, also of one such as [[title, [sentence, ...]]], a line each; "" for other values.

    An object with a list for each column, as `datasets` has a list of objects, is read by its rows.
    """
    if isinstance(value, dict) and value and all(isinstance(column, list) for column in value.values()):
        value = list(map(list, zip(*value.values(), strict=False)))
    parts: list[Any] = []
    rest = [value] if isinstance(value, list) else []  # no recursion: a list may be nested deeply
    while rest:
        part = rest.pop()
        if isinstance(part, list):
            rest += reversed(part)
        else:
            parts.append(part)
    texts = [part for part in parts if isinstance(part, str)]
    are_texts = len(texts) == len(parts) and 2 * sum(" " in text for text in texts) >= len(texts)
    return "\n".join(texts) if are_texts else ""


def _passage(record: Mapping[str, Any]) -> Any:
    """Return the passage of a record, where it is a list of texts as one text."""
    passage = _field(record, _PASSAGES)
    return joined_texts(passage) or passage


def _field(record: Mapping[str, Any], names: Sequence[str]) -> Any:
    """Return the value of the first of these fields that a record has, in any case; None where it has none."""
    lower = {str(name).lower(): value for name, value in record.items() if value is not None}
    return next((lower[name.lower()] for name in names if name.lower() in lower), None)


def _stated(record: Mapping[str, Any], passage: str) -> Any:
    """Return the field of the answers, or the words of the passage between two offsets where these are all."""
    answers, start, end = (_field(record, names) for names in (_ANSWERS, _STARTS, _ENDS))
    return passage[offset(start) : offset(end)] if answers is None and 0 <= offset(start) < offset(end) else answers


def read_squad(records: list[dict[str, Any]], info: FileInfo, options: ReadOptions, report: DropReport) -> RawQuestions:
    """Return all questions of the records, in order. Raises `InputError` where there are none, or too many."""
    raw = RawQuestions(info, "question")
    for number, (entry, passage, title) in enumerate(_entries(records), 1):
        question = _question(entry, passage, title, number, raw, options, report)
        if isinstance(question, str):
            report.drop(question, raw, number)
            continue
        raw.questions.append(question)
        options.check_count(len(raw.questions), raw.name)
    if not raw.questions:
        reason = f" ({report.dropped[0].reason})" if report.dropped else ""
        raise InputError(f"{quoted(raw.name)} holds no question with a passage{reason}; give data in SQuAD's format.")
    raw.info = replace(
        info, format="squad" if info.format in ("json", "jsonl") else info.format,
        columns=("question", "context", "answers"), text_a="question", text_b="context", label="answers",
    )  # fmt: skip
    return raw


def with_unique_ids(files: Sequence[RawQuestions], report: DropReport) -> list[Question]:
    """Return the questions of all files, in order; one with the id of another gets a new one, which is counted."""
    questions: list[Question] = []
    ids: set[str] = set()
    copies: Counter[str] = Counter()
    for file in files:
        for question in file.questions:
            unique = question.id
            while unique in ids:  # predictions are told apart by these ids
                copies[question.id] += 1
                unique = f"{question.id}#{copies[question.id] + 1}"
            if unique != question.id:
                report.repair(_RENAMED, file, question.row)
            ids.add(unique)
            questions.append(replace(question, id=unique, file=file.name))
    return questions


def _entries(records: list[dict[str, Any]]) -> Iterator[tuple[Mapping[str, Any], Any, str]]:
    """Yield each question as the file has it, with its passage and its title."""
    for record in records:
        title = str(record.get("title") or "")
        if _field(record, _QUESTIONS) is not None and not _listed(record):
            yield record, _field(record, _PASSAGES), title
            continue
        for paragraph in record["paragraphs"] if isinstance(record.get("paragraphs"), list) else [record]:
            for entry in _listed(paragraph):
                if isinstance(entry, dict):
                    yield entry, _field(paragraph, _PASSAGES), title


def _question(
    entry: Mapping[str, Any],
    passage: Any,
    title: str,
    number: int,
    raw: RawQuestions,
    options: ReadOptions,
    report: DropReport,
) -> Question | str:
    """Return the question, or the reason why it is dropped."""
    text = _field(entry, _QUESTIONS)
    if joined := joined_texts(passage):
        report.repair(_JOINED, raw, number)
        passage = joined
    if not isinstance(passage, str) or not passage.strip():
        return "its passage is empty"
    if not isinstance(text, str) or not text.strip():
        return "the question is empty"
    stated = _answers(_stated(entry, passage), _field(entry, _STARTS))
    if not options.labelled or "true" in (str(entry.get(name)).lower() for name in _NONE):
        stated = []
    elif stated is None:
        return "it has no answers in a known shape and does not say that there are none"
    answers = []
    for answer_text, start in stated:
        exact = in_characters(answer_text, start, passage)
        if exact != start:
            report.repair(_CONVERTED, raw, number)
        answer = _find_answer(answer_text, exact, passage)
        if answer is None:
            continue
        if start >= 0 and answer.start != exact + len(answer_text) - len(answer_text.lstrip()):
            report.repair(_MOVED, raw, number)
        elif start < 0:
            report.repair(_UNPLACED, raw, number)
        answers.append(answer)
    if stated and not answers:
        return "none of its answers is in the passage"
    name = _field(entry, ("id", "qid", "query_id", "question_id"))
    return Question(str(number if name is None else name), text, passage, tuple(answers), number, title)


def _answers(value: Any, start: Any = None) -> list[tuple[str, int]] | None:
    """Return texts and offsets (-1 for none) of answers in any nesting or side by side; None for other values."""
    if isinstance(value, str):
        return [(value, offset(start))] if value.strip() else []
    if isinstance(value, dict):
        texts, starts = _field(value, _TEXTS), _field(value, _STARTS)
        if texts is None and not value.keys() & {*_TEXTS, *_STARTS}:
            return None
        return _answers([] if texts is None else texts, starts)
    if not isinstance(value, list):
        return None
    if len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], (int, float)):
        return [(value[0], offset(value[1]))]
    starts = start if isinstance(start, list) and len(start) == len(value) else [start] * len(value)
    parts = [_answers(part, at) for part, at in zip(value, starts, strict=True)]
    return None if any(part is None for part in parts) else [answer for part in parts for answer in part or ()]


def offset(value: Any) -> int:
    """Return an offset that is a number, a number in text, or the first of a list; -1 where it is none."""
    while isinstance(value, list) and value:
        value = value[0]
    try:
        return int(float(value))
    except (TypeError, ValueError, OverflowError):
        return -1


def in_characters(text: str, start: int, passage: str) -> int:
    """Return the offset in characters of an answer whose offset may count UTF-16 units or bytes."""
    if start <= 0 or passage.isascii() or passage.startswith(text, start):
        return start
    for encoding, width in (("utf-16-le", 2), ("utf-8", 1)):
        before = passage.encode(encoding, "surrogatepass")[: start * width].decode(encoding, "ignore")
        if passage.startswith(text, len(before)) and passage.startswith(before):
            return len(before)
    return start


def _find_answer(text: str, start: int, passage: str) -> Answer | None:
    """Return the answer without white space around it, where it is nearest to `start`; None where none is near."""
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
