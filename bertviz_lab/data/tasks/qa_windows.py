"""A question and its passage as a model reads them: passages too long for it in windows that overlap.

A passage is tokenized once; its windows are pieces of that. Where windows overlap a token is seen several times, and
an answer is believed of the window that shows the token with most around it, Google's "max context" (Devlin et al.
2018; google-research/bert, run_squad.py).
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer as Backend

from bertviz_lab.data.tasks.examples import Question
from bertviz_lab.errors import InputError
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.tokenization.pipeline import replace_surrogates, trim_span

#: `[CLS] question [SEP] passage [SEP]`
_SPECIAL = 3
#: Each question about a long passage has windows of its own; training on SQuAD 2.0 takes about 132,000.
MAX_WINDOWS = 1_000_000
_SHORTEST = 8  # positions, with a word or two of each

Spans = tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False)
class Window:
    """`[CLS] question [SEP] part of the passage [SEP]`.

    Attributes:
        question: index into the questions that windows were made of.
        ids: (tokens,) token ids.
        passage_at: position of the passage's first token here; in BERT segment 1 begins there.
        spans: of every token of the whole passage, its (start, end) in characters. All windows of a passage share it.
        first: which token of the passage stands at `passage_at`.
        own: positions (first, after the last) of the tokens for which this is the window with most context.
        start: position of the answer's first token; 0, which is [CLS], where there is none or it is not whole in here.
        end: position of the answer's last token, or 0 likewise.
        question_cut: how many tokens of the question there was no room for.
    """

    question: int
    ids: NDArray[np.int32]
    passage_at: int
    spans: Spans
    first: int
    own: tuple[int, int]
    start: int = 0
    end: int = 0
    question_cut: int = 0

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def passage_end(self) -> int:
        """The position after the passage's last token here: that of the last [SEP]."""
        return len(self.ids) - 1

    @property
    def token_type_ids(self) -> tuple[int, ...]:
        """0 through the first [SEP], 1 after it."""
        return (0,) * self.passage_at + (1,) * (len(self.ids) - self.passage_at)

    @property
    def offsets(self) -> tuple[tuple[int, int] | None, ...]:
        """For each position its characters of the passage, (start, end); None where it is not of the passage."""
        shown = self.spans[self.first : self.first + self.passage_end - self.passage_at]
        return (None,) * self.passage_at + shown + (None,)

    @property
    def max_context(self) -> tuple[bool, ...]:
        """For each position whether it is of the passage and no other window shows more around it."""
        return tuple(self.own[0] <= position < self.own[1] for position in range(len(self.ids)))

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The characters of the passage from the token at one position to that at another, both of the passage."""
        shift = self.first - self.passage_at
        return self.spans[start + shift][0], self.spans[end + shift][1]


def make_windows(
    questions: Sequence[Question],
    tokenizer: Tokenizer,
    *,
    max_length: int = 384,
    overlap: int = 128,
    max_question_length: int = 64,
    training: bool = False,
) -> list[Window]:
    """The windows of each question in turn, at least one; the answer to find is the first that people marked.

    Windows are as long as fits until one reaches the passage's end. In training a question whose answer is in no
    window whole is left out: it would be taught as one without answer.

    Args:
        questions: What is asked, with the passages.
        tokenizer: The model's.
        max_length: Tokens of a window at most, special ones included.
        overlap: Tokens of the passage that a window shares with the next, as Hugging Face's `stride`; never more
            than half of what fits. Google's `doc_stride` is the step, that is the rest.
        max_question_length: Tokens of a question at most, and never more than half of the room; the rest is cut.
        training: Whether the windows are to learn from.

    Raises:
        InputError: `max_length` has no room for a question and a passage, or there would be more than `MAX_WINDOWS`.
    """
    if max_length < _SHORTEST:
        raise InputError(f"A length of {max_length} is too short for a question and a passage: choose at least 8.")
    max_question_length = min(max_question_length, (max_length - _SPECIAL) // 2)
    asked = tokenize_spans(tokenizer, [question.question for question in questions])
    distinct = list(dict.fromkeys(question.passage for question in questions))
    passages = dict(zip(distinct, tokenize_spans(tokenizer, distinct), strict=True))
    layouts: dict[tuple[int, int], list[Piece]] = {}
    windows = []
    for index, (question, (question_ids, _)) in enumerate(zip(questions, asked, strict=True)):
        passage_ids, spans = passages[question.passage]
        head = [tokenizer.cls_id, *question_ids[:max_question_length].tolist(), tokenizer.sep_id]
        room = max_length - len(head) - 1
        layout = layouts.get((len(spans), room))
        if layout is None:
            layout = layouts[len(spans), room] = lay_out(len(spans), room, min(overlap, room // 2))
        answer = _answer_tokens(question, spans)
        found = []
        for piece in layout:
            shift = len(head) - piece.first
            holds = answer is not None and piece.first <= answer[0] and answer[1] < piece.last
            ids = np.concatenate([head, passage_ids[piece.first : piece.last], [tokenizer.sep_id]]).astype(np.int32)
            found.append(
                Window(
                    question=index,
                    ids=ids,
                    passage_at=len(head),
                    spans=spans,
                    first=piece.first,
                    own=(piece.own[0] + shift, piece.own[1] + shift),
                    start=answer[0] + shift if answer and holds else 0,
                    end=answer[1] + shift if answer and holds else 0,
                    question_cut=max(0, len(question_ids) - max_question_length),
                )
            )
        if not (training and question.answers and not any(window.start for window in found)):
            windows += found
        if len(windows) > MAX_WINDOWS:
            raise InputError(
                f"The passages of {len(questions):,} questions need more than {MAX_WINDOWS:,} windows of {max_length} "
                "tokens; give shorter passages or fewer questions."
            )
    return windows


def tokenize_spans(tokenizer: Tokenizer, texts: Sequence[str]) -> list[tuple[NDArray[np.int32], Spans]]:
    """Many texts as their ids and each token's (start, end) in characters, nothing added, on all cores.

    Special tokens' names in a text are ordinary characters, as in `Tokenizer.ids`; offsets are as in
    `Tokenizer.encode`.
    """
    clean = [replace_surrogates(text) for text in texts]
    backend = tokenizer.backend
    if any(name in text for text in clean for name in tokenizer.special.all):
        backend = Backend.from_str(backend.to_str())
        backend.encode_special_tokens = True
    trims = tokenizer.algorithm == "bpe"  # its tokens carry the white space before them
    result = []
    for text, encoding in zip(texts, backend.encode_batch(clean, add_special_tokens=False), strict=True):
        spans = encoding.offsets
        if trims:
            spans = [trim_span(text, start, end) for start, end in spans]
        result.append((np.array(encoding.ids, dtype=np.int32), tuple(spans)))
    return result


@dataclass(frozen=True)
class Piece:
    """The tokens `first` to before `last` of a long text, which one window shows, and those that it shows best."""

    first: int
    last: int
    own: tuple[int, int]


def lay_out(count: int, room: int, overlap: int) -> list[Piece]:
    """Windows over `count` tokens, `room` at a time, each with `overlap` of the one before: at most half of `room`."""
    if not 0 <= overlap <= room // 2:
        raise ValueError(f"an overlap of {overlap} tokens in windows of {room}")
    firsts = [0]
    while firsts[-1] + room < count:
        firsts.append(firsts[-1] + room - overlap)
    lasts = [min(first + room, count) for first in firsts]
    if not count:
        return [Piece(0, 0, (0, 0))]
    # Google's score of a token in a window: the context on its shorter side, and a little for longer windows. A token
    # is in two windows at most, and the later one wins from some token of the overlap on.
    first, last = np.array(firsts)[:, None], np.array(lasts)[:, None]
    token = first[1:] + np.arange(overlap)
    before = np.minimum(token - first[:-1], last[:-1] - 1 - token) + 0.01 * (last - first)[:-1]
    after = np.minimum(token - first[1:], last[1:] - 1 - token) + 0.01 * (last - first)[1:]
    edges = [0, *(first[1:, 0] + (before >= after).sum(axis=1)).tolist(), count]
    return [Piece(*ends, own=(edges[i], edges[i + 1])) for i, ends in enumerate(zip(firsts, lasts, strict=True))]


def _answer_tokens(question: Question, spans: Spans) -> tuple[int, int] | None:
    """The first and the last token of the passage that have a character of the first answer; None without any."""
    if not question.answers:
        return None
    answer = question.answers[0]
    start, end = answer.start, answer.start + len(answer.text)
    first = bisect_right(spans, start, key=lambda span: span[1])
    last = bisect_left(spans, end, key=lambda span: span[0]) - 1
    return (first, last) if first <= last else None
