"""What Tokens asks: the input of the model, how words are split, and the masking of MLM, its loss and statistics."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from bertviz_lab.config import family_notes
from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import Payload, figure
from bertviz_lab.figures.results import splits_body
from bertviz_lab.ui.lazy import Checkpoint, interpret
from bertviz_lab.ui.server.scheduler import report_progress
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.view import Input, questions

_MOST_EXPLAINED = 4000  # characters; more words than a person would read
_EPOCHS, _STATIC_SETS = 6, 3

Percent = Annotated[float, Field(ge=0, le=100)]
Draws = Literal["100", "1000", "10000", "100000"]


@dataclass(frozen=True)
class Masking:
    """How a text is masked: shares in percent, `mask` and `random` of the tokens that are selected."""

    rate: Percent
    mask: Percent
    random: Percent
    unit: Literal["tokens", "words", "spans"]
    seed: Annotated[int, Field(ge=0, lt=2**31)]


@dataclass(frozen=True)
class Asked(Input):
    """The input of Explore, and how it is masked."""

    settings: Masking

    def opened(self, state: AppState) -> tuple[Checkpoint, dict[str, Any]]:
        """Return the model, and what the functions of masking are called with. Raises `InputError`."""
        from bertviz_lab.data.pretraining.batches import masking_rule

        settings = self.settings
        if settings.mask + settings.random > 100:
            raise InputError(
                f"{settings.mask:.0f} percent [MASK] and {settings.random:.0f} percent random tokens exceed 100 "
                "percent: lower one of them."
            )
        checkpoint = self.checkpoint(state)
        rule = masking_rule(
            checkpoint.tokenizer,
            settings.rate / 100,
            settings.unit == "words",
            settings.unit == "spans",
            mask_share=settings.mask / 100,
            random_share=settings.random / 100,
        )
        given = {"tokenizer": checkpoint.tokenizer, "text_a": self.text_a, "text_b": self.text_b}
        return checkpoint, given | {"seed": settings.seed, "rule": rule, "max_length": checkpoint.max_length}


def tokens(state: AppState, asked: Input) -> Payload:
    """Return pieces, ids, segments, positions and attention mask."""
    checkpoint = asked.checkpoint(state)
    encoding = interpret.encode_inputs(checkpoint, *asked.texts).encoding
    return figure(
        "tokens",
        encoding=encoding,
        note=checkpoint.length_warning(len(encoding.ids)),
        segments_note=family_notes.segments_note(checkpoint.config),
        positions_note=family_notes.positions_note(checkpoint.config),
    )


def split(state: AppState, asked: Input) -> Payload:
    """Return how the tokenizer splits the words of both texts, step by step."""
    text = " ".join(text for text in asked.texts if text.strip())
    return figure("word_splits", **splits_body(asked.checkpoint(state).tokenizer, text[:_MOST_EXPLAINED]))


def masking(state: AppState, asked: Asked) -> Payload:
    """Return one draw: what the model is given, and what it has to predict."""
    _, given = asked.opened(state)
    rule = given["rule"]
    shares = {"mask_share": rule.mask_share, "random_share": rule.random_share}
    masked = interpret.mask_text(**given)
    return figure("masking", mask_probability=rule.probability, **shares, **vars(masked))


def loss(state: AppState, asked: Asked) -> Payload:
    """Return the MLM loss at each selected position."""
    checkpoint, given = asked.opened(state)
    masked = interpret.mask_text(**given)
    losses = interpret.masked_loss(checkpoint, masked)
    return figure("masked_loss", positions=losses.positions, **vars(masked))


def statistics(state: AppState, asked: Asked, draws: Draws) -> Payload:
    """Return the outcomes of masking the text many times, next to those that the rule predicts."""
    _, given = asked.opened(state)
    counts = interpret.masking_statistics(**given, draws=int(draws), on_progress=report_progress)
    return figure("masking_statistics", draws=counts.draws, chosen=counts.chosen, outcomes=counts.outcomes)


def epochs(state: AppState, asked: Asked, masks: Literal["dynamic", "static"]) -> Payload:
    """Return what is masked in the first epochs of a training."""
    static = masks == "static"
    _, given = asked.opened(state)
    masked_texts = interpret.mask_epochs(**given, epochs=_EPOCHS, repeat_after=_STATIC_SETS if static else None)
    tokens_of_text, outcomes = masked_texts[0].encoding.tokens, [masked.outcomes for masked in masked_texts]
    return figure("mask_epochs", tokens=tokens_of_text, epochs=outcomes, static=static)


QUESTIONS = questions(tokens, split, masking, loss, epochs, slow=[statistics])
