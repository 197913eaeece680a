"""What Training dynamics asks: runs that have snapshots, how a text begins on one, and what each snapshot says."""

import dataclasses
import math
from typing import Annotated, Any

from pydantic import Field

from bertviz_lab.config import PretrainConfig
from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import Payload, message_payload, to_json
from bertviz_lab.figures.training.dynamics import opening_payload, progress_body
from bertviz_lab.tokenization import token_name
from bertviz_lab.ui.lazy import interpret
from bertviz_lab.ui.server.visitors import Visitor
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.state.examples import GENERAL, examples_for, task_examples
from bertviz_lab.ui.state.snapshots import TrackedText
from bertviz_lab.ui.view import Index, Text, Word, questions

#: A text longer than this, or with more weights of attention in one frame, is refused: every frame is held at once.
_MOST_TOKENS, _MOST_CELLS = 192, 2**20
_MOST_WATCHED = 6

_NO_SNAPSHOTS = "No snapshots yet: pretrain a model in Train, and they appear here during training."


@dataclasses.dataclass(frozen=True)
class Tracked(TrackedText):
    """The same as a browser sends it back."""

    run: Word
    text_a: Text
    text_b: Text
    watched: Annotated[tuple[Index, ...], Field(max_length=8)] = ()
    mapped: Annotated[tuple[Index, ...], Field(max_length=60)] = ()


def runs(state: AppState, visitor: Visitor, run: Word) -> dict[str, Any]:
    """Return the runs with snapshots: `choices` [[run, label], ...], the `first` to show, and those in training.

    `run` is the chosen one, maybe by a link to another visitor's. It stays a choice where it is gone, so that `opening`
    can say so.
    """
    choices = state.snapshots.choices(visitor)
    if run and run not in [name for name, _ in choices]:
        choices.insert(0, (run, state.runs.name(run) if state.snapshots.has_snapshots(run) else run))
    live = [name for name, _ in choices if state.snapshots.is_live(name)]
    return {"choices": choices, "first": state.snapshots.default(visitor), "live": live}


def examples(state: AppState, visitor: Visitor, run: Word) -> list[tuple[str, str, str]]:
    """Return [text A, text B, words to track] for a run: of its own text or task where it is the visitor's."""
    own = state.models.owns(visitor, run)
    key = ("tracked examples", run, own, state.snapshots.reader(run).kind.__name__)
    return state.remembered(key, lambda: _examples(state, run, own))


def opening(state: AppState, run: Word, text_a: Text, text_b: Text, words: Text) -> Payload:
    """Return how the scrubber begins for a run and a text: what all its frames share, and the last frame."""
    if not run:
        raise InputError(_NO_SNAPSHOTS)
    snapshots = state.snapshots.reader(run)
    steps = snapshots.steps()
    if not steps:
        raise InputError(f"{snapshots.name} has no snapshots any more; choose another training run.")
    checkpoint = state.snapshots.open(run, steps[-1])
    _refuse_long(checkpoint, text_a, text_b)
    watched = token_ids(checkpoint, words)
    analysis = interpret.analyze_snapshot(checkpoint, text_a, text_b or None)
    likeliest = [candidate.id for masked in analysis.masked_tokens for candidate in masked.candidates]
    if not watched and analysis.masked_tokens:
        watched = likeliest[:3]
    mapped: tuple[int, ...] = ()
    if analysis.losses is not None:
        mapped = interpret.related_tokens(checkpoint, [*watched, *likeliest, *analysis.encoding.ids])
    tracked = Tracked(run, text_a, text_b, tuple(watched), mapped)
    return opening_payload(
        analysis,
        question=dataclasses.asdict(tracked),
        title=snapshots.name,
        steps=steps,
        tracked=[checkpoint.tokenizer.token(token) for token in watched],
        projected=[token_name(checkpoint.tokenizer, token) for token in mapped],
        plane=state.snapshots.plane(tracked, steps[-1]) if mapped else {},
        curve=state.snapshots.curve(run),
        labels=checkpoint.config.labels if analysis.labels else (),
        vocab_size=checkpoint.config.vocab_size,
        live=state.snapshots.is_live(run),
        first=state.snapshots.frame(tracked, steps[-1]),
    )


def frame(state: AppState, asked: Tracked, step: Index) -> Payload:
    """Return what the snapshot of one step makes of the text."""
    _check_tracked(state, asked)
    return state.snapshots.frame(asked, step)


def news(state: AppState, asked: Tracked, last: Index) -> Payload:
    """Return what has happened to a run since its step `last`; {"message"} where it is gone."""
    try:
        _check_tracked(state, asked)
        steps = state.snapshots.reader(asked.run).steps()
        if not steps:
            raise InputError("This run has no snapshots any more; choose another training run.")
        body = progress_body(steps, state.snapshots.curve(asked.run), state.snapshots.is_live(asked.run))
        if steps[-1] != last and asked.mapped:
            body["plane"] = state.snapshots.plane(asked, steps[-1])
        return to_json(body)
    except InputError as error:  # nobody needs to ask again
        return message_payload(str(error))


def _examples(state: AppState, run: str, own: bool) -> list[tuple[str, str, str]]:
    snapshots, config = state.snapshots.reader(run), state.runs.config(run) if own else None
    tokenizer = snapshots.tokenizer
    if snapshots.kind.__name__ not in ("BertForPreTraining", "BertForMaskedLM"):
        texts = task_examples(snapshots.open(snapshots.steps()[-1]), snapshots.folder if own else None)
        return [(a, b, "") for a, b in texts or GENERAL.pairs]
    if isinstance(config, PretrainConfig) and not any(corpus.startswith("sample:") for corpus in config.corpus):
        found = state.files.corpus_examples(config.corpus, tokenizer, config.documents)
        if found is not None:
            return [*((text, "", "") for text in found.masked[:4]), *((a, b, "") for a, b in found.pairs[:1] if b)]

    def known(words: str) -> str:
        """Return the words that the vocabulary has as a whole."""
        names = words.split(", ")
        pieces = zip(names, tokenizer.ids_of_words(names), strict=True)
        return ", ".join(name for name, ids in pieces if len(ids) == 1 and ids[0] != tokenizer.unk_id)

    return [(a, b, known(words)) for a, b, words in examples_for(tokenizer).tracked]


def token_ids(checkpoint: Any, words: str) -> list[int]:
    """Return the ids of words that a person named. Raises `InputError` for one that is not one token, or too many."""
    from bertviz_lab.interpret.inputs import single_token

    names = [name for name in words.split(",") if name.strip()]
    if len(names) > _MOST_WATCHED:
        raise InputError(f"Track at most {_MOST_WATCHED} words at a time.")
    return list(dict.fromkeys(single_token(checkpoint, name) for name in names))


def _check_tracked(state: AppState, tracked: TrackedText) -> None:
    """Raise `InputError` for tokens that the model lacks."""
    size = state.snapshots.reader(tracked.run).config.vocab_size
    if any(token >= size for token in (*tracked.watched, *tracked.mapped)):
        raise InputError("The tracked words are not in this model's vocabulary; press Show again.")


def _refuse_long(checkpoint: Any, text_a: str, text_b: str) -> None:
    config = checkpoint.config
    heads = config.num_hidden_layers * config.num_attention_heads
    most = min(_MOST_TOKENS, checkpoint.max_length, math.isqrt(_MOST_CELLS // heads))
    length = len(checkpoint.tokenizer.encode(text_a, text_b or None))
    if length > most:
        raise InputError(
            f"This text has {length:,} tokens, and the page holds every snapshot at once: shorten it to {most} at most."
        )


QUESTIONS = questions(runs, examples, opening, news, slow=[frame])
