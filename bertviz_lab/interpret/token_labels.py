"""Predictions of fine-tuned models: word labels, entities, and answers to questions.

Texts of any length are processed in overlapping windows; each word is predicted in the window with most context.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from bertviz_lab.data.examples import Question
from bertviz_lab.data.tasks.question_answering import SpanAnswer, extract_answers, make_windows, window_ranges
from bertviz_lab.errors import InputError
from bertviz_lab.interpret.inputs import OnProgress, analysis, backbone, check_passes, nothing
from bertviz_lab.interpret.targets import head_logits, head_scores, require_head
from bertviz_lab.metrics.entities import entity_spans, marks_entities
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint

#: Window length, of google-research/bert's run_squad.py, and overlap, of transformers' run_qa.py, in tokens.
_WINDOW, _OVERLAP = 384, 128


@dataclass(frozen=True)
class WordLabel:
    """A word and the most probable label of its first token; `start` and `end` are offsets in the text."""

    text: str
    start: int
    end: int
    label: str
    probability: float


@dataclass(frozen=True)
class Entity:
    """Adjacent words that form an entity; `probability` is the mean over its words."""

    text: str
    type: str
    start: int  # offsets in the text
    end: int
    probability: float


@dataclass(frozen=True, eq=False)
class WordLabels:
    """The words of a text with their labels, and the entities that they form.

    `entities` are those of BIO labels such as B-PER, I-PER and O; other labels, such as parts of speech, form none.
    `probabilities` is (words, labels), in the order of `labels`.
    """

    text: str
    words: tuple[WordLabel, ...]
    entities: tuple[Entity, ...]
    labels: tuple[str, ...]
    probabilities: NDArray[np.float32]


@analysis
def label_words(checkpoint: Checkpoint, text: str | Sequence[str], *, on_progress: OnProgress = nothing) -> WordLabels:
    """Label every word of a text of any length.

    A string is split into words at white space and punctuation, as in `Encoding.words`, so that "U.S." is four words.
    Words can also be given as a sequence; the text is then the words joined by spaces. Every word is tokenized by
    itself, and labelled at its first token, as in fine-tuning.

    Raises `InputError` where there is no word or the model labels no words.
    """
    require_head(checkpoint, "word")
    tokenizer = checkpoint.tokenizer
    if isinstance(text, str):
        encoding = tokenizer.encode(text)
        spans = [span for span in map(encoding.span, encoding.words) if text[slice(*span)]]
    else:
        words = [word for word in text if word.strip()]
        text = " ".join(words)
        ends = np.cumsum([len(word) + 1 for word in words], dtype=np.int64) - 1
        spans = [(int(end) - len(word), int(end)) for word, end in zip(words, ends, strict=True)]
    if not spans:
        raise InputError("Type a sentence first.")
    pieces = tokenizer.ids_of_words([text[start:end] for start, end in spans], tokenizer.special.mask)
    firsts = np.cumsum([0, *map(len, pieces[:-1])])
    ids = np.concatenate(pieces)

    room = checkpoint.max_length - 2
    probabilities = np.empty((len(spans), checkpoint.config.num_labels), dtype=np.float32)
    windows = window_ranges(len(ids), room, room // 2)
    check_passes(checkpoint, min(len(ids), room) + 2, len(windows), "Labelling the words")
    for place, window in enumerate(windows):
        on_progress(place / len(windows))
        in_window = np.flatnonzero((firsts >= window.max_context[0]) & (firsts < window.max_context[1]))
        if not len(in_window):
            continue
        row = torch.tensor([[tokenizer.cls_id, *ids[window.first : window.end].tolist(), tokenizer.sep_id]])
        positions = torch.from_numpy(firsts[in_window] - window.first + 1)[None]
        hidden_WD = backbone(checkpoint)(input_ids=row, masked_positions=positions).last_hidden_state[0]
        probabilities[in_window] = head_scores(checkpoint, "word", hidden_WD).numpy()

    on_progress(1.0)
    labels = checkpoint.config.labels
    labelled = tuple(
        WordLabel(text[start:end], start, end, labels[best], float(row[best]))
        for (start, end), row, best in zip(spans, probabilities, probabilities.argmax(1).tolist(), strict=True)
    )
    entities = []
    for entity_type, first, last in entity_spans([w.label for w in labelled]) if marks_entities(labels) else ():
        start, end = labelled[first].start, labelled[last - 1].end
        probability = float(np.mean([word.probability for word in labelled[first:last]]))
        entities.append(Entity(text[start:end], entity_type, start, end, probability))
    return WordLabels(text, labelled, tuple(entities), labels, probabilities)


@dataclass(frozen=True)
class PassageAnswer:
    """The answer to a question about a passage.

    - `text`: the best answer; "" where no answer is predicted.
    - `best`: the most probable spans of the passage, best first; their probabilities and `no_answer_probability` are
      normalised over all valid spans and no answer.
    - `no_answer`: the log-ratio of no answer to the best span, in nats; infinite without a span. Above `threshold` no
      answer is predicted.
    - `windows`: the offsets of each window in the passage, (start, end).
    """

    question: str
    passage: str
    text: str
    best: tuple[SpanAnswer, ...]
    no_answer: float
    no_answer_probability: float
    threshold: float
    windows: tuple[tuple[int, int], ...]

    def window_of(self, start: int, end: int) -> tuple[int, int]:
        """Return the offsets of the window with most context around `passage[start:end]`, or of the whole passage."""
        windows = [window for window in self.windows if window[0] <= start and end <= window[1]]
        return max(windows, key=lambda w: min(start - w[0], w[1] - end), default=(0, len(self.passage)))


@analysis
def answer_question(
    checkpoint: Checkpoint,
    question: str,
    passage: str,
    *,
    n_best: int = 5,
    threshold: float | None = None,
    on_progress: OnProgress = nothing,
) -> PassageAnswer:
    """Find the answer to a question in a passage of any length.

    No answer is predicted where its log-ratio to the best span exceeds `threshold` nats; `math.inf` always predicts a
    span, and is the default for a model trained without unanswerable questions (for others it is the model's own).
    Raises `InputError` where a text is empty, or the model is not for question answering or has one segment only.
    """
    model = require_head(checkpoint, "start")
    if not question.strip() or not passage.strip():
        raise InputError("Type a question as text A and a passage as text B.")
    if not checkpoint.config.reads_pairs:
        raise InputError("This model was made for single texts, and cannot read a question with its passage.")
    if threshold is None:
        threshold = checkpoint.config.no_answer_threshold
    questions = [Question("", question, passage, (), row=1)]
    length = min(_WINDOW, checkpoint.max_length)
    windows = make_windows(questions, checkpoint.tokenizer, max_length=length, stride=_OVERLAP)
    check_passes(checkpoint, max(len(window.ids) for window in windows), len(windows), "Answering")
    starts, ends = [], []
    for place, window in enumerate(windows):
        on_progress(place / len(windows))
        ids = torch.from_numpy(window.ids).long()[None]
        types = (torch.arange(ids.shape[1]) >= window.passage_start).long()[None]
        hidden_LD = backbone(checkpoint)(input_ids=ids, token_type_ids=types).last_hidden_state[0]
        starts.append(head_logits(model, "start", hidden_LD).float().numpy())
        ends.append(head_logits(model, "end", hidden_LD).float().numpy())
    on_progress(1.0)
    (answer,) = extract_answers(questions, windows, starts, ends, n_best=n_best)
    return PassageAnswer(
        question,
        passage,
        answer.text(threshold),
        answer.best,
        answer.no_answer,
        answer.no_answer_probability,
        threshold,
        tuple(
            w.span(w.passage_start, w.passage_end - 1) if w.passage_end > w.passage_start else (0, 0) for w in windows
        ),
    )
